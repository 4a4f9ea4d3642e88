"""`python -m tests.marks_mutants`: small changes to the code that decides a mark, each of which a test has to notice.

Names of files or functions choose among `FILES`. Each mutant runs the file's own tests, which are quick, in a process
that has torch and nbgrader imported. What no test can notice stands in `EQUIVALENT`, with the reason.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib.abc
import importlib.util
import io
import multiprocessing
import os
import resource
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from grader.authoring import mutants, mutations

ROOT = Path(__file__).parents[1]
EQUIVALENT = Path(__file__).with_name("marks_equivalent.toml")
RECORD, MARKS = "tests/book/test_record.py", "tests/book/test_marks.py"
LATENESS, EARLIER = "tests/course/test_lateness.py", "tests/handed_in/test_earlier.py"
# The files that decide a mark, and the tests that have to notice.
FILES = {
    "grader/book/gradebook.py": (RECORD,),
    "grader/course/lateness.py": (LATENESS, RECORD),
    "grader/handed_in/earlier.py": (EARLIER,),
    "grader/book/marks.py": (MARKS,),
}
SECONDS = 30  # of the processor for a mutant's tests, which take a few
NOTICED, SURVIVED, ENDLESS = "noticed", "survived", "endless"


@dataclass(frozen=True)
class Mutant:
    """A file with one change; `where` is the function or class around it and what changed, unique within the file."""

    file: str
    where: str
    source: str


def derive(file: str) -> list[Mutant]:
    """The mutants of a file: those of its functions and classes, one after the other. Texts are left as they are: they
    decide no mark."""
    tree = mutants._Tidy().visit(ast.parse((ROOT / file).read_text(encoding="utf-8")))
    texts = [ast.unparse(node) for node in tree.body]
    found, met, changes = [], set(texts), Counter[str]()
    for place, node in enumerate(tree.body):
        for name, function in _functions(node):
            for text in _texts(node, function):
                if text not in met:
                    met.add(text)
                    where = f"{name}: {mutants._change(texts[place], text)}"
                    changes[where] += 1
                    where += f" ({changes[where]})" if changes[where] > 1 else ""
                    found.append(Mutant(file, where, "\n".join([*texts[:place], text, *texts[place + 1 :]])))
    return found


def _functions(node: ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    """The function that a statement is, or a class's, each by its name."""
    if isinstance(node, ast.FunctionDef):
        yield node.name, node
    elif isinstance(node, ast.ClassDef):
        inner = (one for one in node.body if isinstance(one, ast.FunctionDef))
        yield from ((f"{node.name}.{one.name}", one) for one in inner)


def _texts(node: ast.stmt, function: ast.AST) -> Iterator[str]:
    """A statement with each change of a function in it."""
    for place, inner, put in list(mutants._places(function, mutations.Scope({}, False))):
        for new in _changes(place, inner):
            undo = put(new)
            try:
                text = ast.unparse(ast.fix_missing_locations(node))
                compile(text, "<mutant>", "exec")
            except (SyntaxError, ValueError):
                continue
            finally:
                undo()
            yield text


def _changes(node: ast.AST, scope: mutations.Scope) -> Iterator[Any]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return
    yield from mutations.operators(node, scope)
    yield from mutations.constants(node, scope)
    yield from mutations.slices(node, scope)
    if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef | ast.Import | ast.ImportFrom):
        yield from mutations.statements(node, scope)
    if isinstance(node, ast.IfExp):
        yield from (node.body, node.orelse)
    elif isinstance(node, ast.Call) and ast.unparse(node.func) in TWINS:
        yield ast.Call(ast.Name(TWINS[ast.unparse(node.func)], ast.Load()), node.args, node.keywords)
    elif isinstance(node, ast.comprehension) and node.ifs:
        yield ast.comprehension(node.target, node.iter, node.ifs[1:], node.is_async)


TWINS = {"max": "min", "min": "max", "any": "all", "all": "any", "sum": "max", "sorted": "list", "round": "int"}


# --- running ----------------------------------------------------------------------------------------------------------


class _Changed(importlib.abc.SourceLoader):
    """Loads a module from a mutant's source."""

    def __init__(self, path: str, source: str) -> None:
        self._path, self._source = path, source

    def get_filename(self, _name: str) -> str:
        return self._path

    def get_data(self, _path: str) -> bytes:
        return self._source.encode()


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, mutant: Mutant) -> None:
        self._name = mutant.file.removesuffix(".py").replace("/", ".")
        self._loader = _Changed(str(ROOT / mutant.file), mutant.source)

    def find_spec(self, name: str, _path: object = None, _target: ModuleType | None = None) -> Any:
        return importlib.util.spec_from_loader(name, self._loader) if name == self._name else None


def _import_others() -> None:
    """Import what the tests and this package import, and forget what is this package's or the tests': it is imported
    anew for each mutant."""
    import pytest  # noqa: F401

    from tests.nbgrader_commands import remember_schema

    remember_schema()
    for name in ("grader.cli.main", "grader.book.export", "grader.handed_in.earlier", "grader.subject.local"):
        importlib.import_module(name)
    for tests in FILES.values():
        for test in tests:
            importlib.import_module(test.removesuffix(".py").replace("/", "."))
    for name in [name for name in sys.modules if name.partition(".")[0] in ("grader", "tests")]:
        if name not in ("tests", __name__):
            del sys.modules[name]


def _run(mutant: Mutant, folder: str) -> int:
    """In a process of its own: pytest's exit code."""
    import pytest

    sys.meta_path.insert(0, _Finder(mutant))
    os.environ["GRADER_PROGRESS"] = "off"
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", f"--basetemp={folder}", "--tb=no"]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return int(pytest.main([*options, *FILES[mutant.file]]))


def _child(mutant: Mutant, number: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    os._exit(min(_run(mutant, f"/tmp/marks-mutants-{os.getppid()}-{number}"), 255))


def verdict(mutant: Mutant, number: int) -> str:
    """Whether a test notices a mutant."""
    process = multiprocessing.get_context("fork").Process(target=_child, args=(mutant, number))
    process.start()
    process.join(20 * SECONDS)
    if process.is_alive():  # one that waits
        process.kill()
        process.join()
    if (process.exitcode or 0) < 0:
        return ENDLESS
    return SURVIVED if process.exitcode == 0 else NOTICED


def equivalent() -> dict[str, str]:
    """The reasons why nobody can notice a mutant, by "FILE: WHERE"."""
    return tomllib.loads(EQUIVALENT.read_text(encoding="utf-8"))


def _is_chosen(mutant: Mutant, names: list[str]) -> bool:
    return not names or any(name in f"{mutant.file}: {mutant.where}" for name in names)


def main(arguments: list[str] | None = None) -> int:
    """Run all, or those whose file or function was named; 1 if fewer than 95 % are noticed."""
    parser = argparse.ArgumentParser(prog="python -m tests.marks_mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help="files or functions, such as lateness.py or Deadlines.penalty")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth mutant")
    parser.add_argument("--from", dest="first", type=int, default=0, metavar="N", help="leave out the first N")
    parser.add_argument("--list", action="store_true", help="print the mutants and run none")
    chosen = parser.parse_args(arguments)
    every = [mutant for file in FILES for mutant in derive(file) if _is_chosen(mutant, chosen.names)]
    every = every[chosen.first :: chosen.every]
    if chosen.list:
        print("\n".join(f"{mutant.file}: {mutant.where}" for mutant in every), f"{len(every)} mutants", sep="\n")
        return 0
    _import_others()
    start, known, counts, survivors = time.monotonic(), equivalent(), Counter[str](), []
    for number, mutant in enumerate(every):
        name = f"{mutant.file}: {mutant.where}"
        found = "equivalent" if name in known else verdict(mutant, number)
        counts[found] += 1
        if found == SURVIVED:
            survivors.append(name)
            print(f"survived  {name}", flush=True)
    noticed = counts[NOTICED] + counts[ENDLESS]
    share = noticed / max(noticed + counts[SURVIVED], 1)
    print(f"{len(every)} mutants, {dict(counts)}, {share:.1%} noticed, {time.monotonic() - start:.0f} s")
    return int(share < 0.95)


if __name__ == "__main__":
    sys.exit(main())
