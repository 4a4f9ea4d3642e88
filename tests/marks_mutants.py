"""`python -m tests.marks_mutants`: small changes to the code that decides a mark, each of which a test has to notice.

Names of files or functions choose among `FILES`. A mutant meets those of the file's own tests that call the changed
function, which are quick, in a fork of the process that has collected them. What no test can notice stands in
`EQUIVALENT`, with the reason.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import multiprocessing
import os
import resource
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType, FunctionType
from typing import Any

import pytest

from grader.authoring import mutants, mutations

ROOT = Path(__file__).parents[1]
EQUIVALENT = Path(__file__).with_name("marks_equivalent.toml")
RECORD, MARKS, LOGS = (f"tests/book/test_{name}.py" for name in ("record", "marks", "logs"))
EARLIER, HAND_IN, COUNTING = (f"tests/handed_in/test_{name}.py" for name in ("earlier", "hand_in", "counting"))
LATENESS = "tests/course/test_lateness.py"
AUTHORS, OF_PLATFORMS = "tests/platforms/test_authors.py", "tests/platforms/test_platforms.py"
COLLECT, WHOSE = "tests/handed_in/test_collect.py", "tests/handed_in/test_whose.py"
SLOW = ("test_a_virtual_environment_handed_in_costs_its_owner", "test_a_zip_bomb_costs_its_owner")
PLATFORMS = ("canvas", "exchange", "folder", "github", "gradescope", "moodle", "platform", "prairielearn", "registry")
# The files that make or choose a mark, and the tests that have to notice.
FILES = {
    "grader/book/gradebook.py": (RECORD,),
    "grader/book/regrade_book.py": ("tests/book/test_regrade_book.py",),
    "grader/book/rebuild.py": ("tests/book/test_rebuild.py",),
    "grader/book/results_log.py": (LOGS,),
    "grader/book/audit.py": (LOGS,),
    "grader/book/marks.py": (MARKS,),
    "grader/book/export.py": (MARKS,),
    "grader/course/lateness.py": (LATENESS, RECORD),
    "grader/handed_in/earlier.py": (EARLIER,),
    "grader/handed_in/hand_in.py": (HAND_IN,),
    "grader/handed_in/counting.py": (COUNTING,),
    "grader/handed_in/collect.py": (COUNTING, WHOSE, COLLECT, *(f"--deselect={COLLECT}::{name}" for name in SLOW)),
    **{f"grader/platforms/{name}.py": (AUTHORS, OF_PLATFORMS, MARKS, COUNTING) for name in PLATFORMS},
}
SECONDS = 30  # of the processor for a mutant's tests, which take a few
NOTICED, SURVIVED, ENDLESS, FAILED = "noticed", "survived", "endless", "its tests fail as it is"


@dataclass(frozen=True)
class Mutant:
    """A file with one change; `where` is the function around it and what changed, unique within the file. `source` is
    the statement of the module that holds the function, as changed."""

    file: str
    function: str
    where: str
    source: str

    def put_in(self) -> None:
        """Give the function its changed code, wherever it is known by now."""
        module = importlib.import_module(self.file.removesuffix(".py").replace("/", "."))
        changed = {**vars(module)}
        exec(self.source, changed)
        own, new = (_function(names, self.function) for names in (vars(module), changed))
        own.__code__, own.__defaults__, own.__kwdefaults__ = new.__code__, new.__defaults__, new.__kwdefaults__
        for name in [name for name in sys.modules if name.startswith("grader.")]:
            for value in list(vars(sys.modules[name]).values()):
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


def _function(names: Any, path: str) -> FunctionType:
    """The function itself, below what decorates it, of "function" or "Class.method"."""
    class_, _, name = path.rpartition(".")
    found = vars(names[class_])[name] if class_ else names[name]
    for kind, attribute in ((property, "fget"), (cached_property, "func"), (classmethod | staticmethod, "__func__")):
        found = getattr(found, attribute) if isinstance(found, kind) else found
    function = inspect.unwrap(found)
    assert isinstance(function, FunctionType)
    return function


def derive(file: str) -> list[Mutant]:
    """The mutants of a file: those of its functions and methods, one after the other. Texts are left as they are: they
    decide no mark."""
    tree = mutants._Tidy().visit(ast.parse((ROOT / file).read_text(encoding="utf-8")))
    found, changes = [], Counter[str]()
    for node in tree.body:
        original = ast.unparse(node)
        met = {original}
        for name, function in _functions(node):
            for text in _texts(node, function):
                if text not in met:
                    met.add(text)
                    where = f"{name}: {mutants._change(original, text)}"
                    changes[where] += 1
                    where += f" ({changes[where]})" if changes[where] > 1 else ""
                    found.append(Mutant(file, name, where, f"from __future__ import annotations\n{text}"))
    return found


def _functions(node: ast.stmt) -> Iterator[tuple[str, ast.FunctionDef]]:
    """The function that a statement is, or a class's, each by its name."""
    if isinstance(node, ast.FunctionDef):
        yield node.name, node
    elif isinstance(node, ast.ClassDef):
        inner = (one for one in node.body if isinstance(one, ast.FunctionDef))
        yield from ((f"{node.name}.{one.name}", one) for one in inner)


def _texts(node: ast.stmt, function: ast.FunctionDef) -> Iterator[str]:
    """A statement with each change of a function in it; what decorates the function stays, and so do annotations."""
    annotations = [inner.annotation for inner in ast.walk(function) if isinstance(inner, ast.AnnAssign)]
    around = {id(part) for top in (*function.decorator_list, *annotations) for part in ast.walk(top)}
    for place, inner, put in list(mutants._places(function, mutations.Scope({}, False))):
        for new in () if id(place) in around else _changes(place, inner):
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
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq | ast.NotEq) and not _is_number(node):
        yield ast.Compare(node.left, [TWIN_OF[type(node.ops[0])](), *node.ops[1:]], node.comparators)
        return
    yield from mutations.operators(node, scope)
    yield from mutations.constants(node, scope)
    yield from mutations.slices(node, scope)
    if isinstance(node, ast.stmt) and not isinstance(node, NO_STEPS):
        yield from mutations.statements(node, scope)
    if isinstance(node, ast.IfExp):
        yield from (node.body, node.orelse)
    elif isinstance(node, ast.Call) and ast.unparse(node.func) in TWINS:
        yield ast.Call(ast.Name(TWINS[ast.unparse(node.func)], ast.Load()), node.args, node.keywords)
    elif isinstance(node, ast.comprehension) and node.ifs:
        yield ast.comprehension(node.target, node.iter, node.ifs[1:], node.is_async)


NO_STEPS = (ast.FunctionDef, ast.Import, ast.ImportFrom, ast.Assert)  # an assertion tells mypy what is known


def _is_number(node: ast.Compare) -> bool:
    """Whether something is compared with a number: of texts and states none comes before another."""
    return any(isinstance(part, ast.Constant) and isinstance(part.value, int | float) for part in node.comparators)


TWIN_OF: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
TWINS = {"max": "min", "min": "max", "any": "all", "all": "any", "sum": "max", "sorted": "list", "round": "int"}


# --- running ----------------------------------------------------------------------------------------------------------


class _Trials:
    """A plug-in of pytest: runs the collected tests as they are, and then those that a mutant concerns, the quickest
    first, for each mutant in a process of its own. It sends the mutants' names and what became of them."""

    def __init__(self, mutants: Sequence[Mutant], told: Connection) -> None:
        self._mutants, self._told, self._known = mutants, told, equivalent()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """In place of pytest's own loop over the tests."""
        file = self._mutants[0].file
        calls = _in_a_process(partial(_watched, session, str(ROOT / file)), 20 * SECONDS)
        if not isinstance(calls, dict):
            self._told.send((f"{file}: {calls}", FAILED))
            return True
        for mutant in self._mutants:
            met = sorted((seconds, number) for number, (seconds, names) in calls.items() if mutant.function in names)
            tests = [session.items[number] for _seconds, number in met]
            name = f"{file}: {mutant.where}"
            verdict = "equivalent" if name in self._known else _in_a_process(partial(_tried, mutant, session, tests))
            self._told.send((name, verdict))
        return True


def _watched(session: pytest.Session, file: str) -> object:
    """By a test's number, how many seconds of the processor it takes, and which functions of a file it calls; or the
    first test that fails."""
    calls: dict[int, tuple[float, set[str]]] = {}
    for number, item in enumerate(session.items):
        names, start = set[str](), time.process_time()

        def note(frame: FrameType, event: str, _argument: object, names: set[str] = names) -> None:
            if event == "call" and frame.f_code.co_filename == file:
                names.add(frame.f_code.co_qualname.partition(".<locals>")[0])

        sys.setprofile(note)
        _run_test(item, None)
        sys.setprofile(None)
        calls[number] = time.process_time() - start, names
        if session.testsfailed:
            return item.nodeid
    return calls


def _tried(mutant: Mutant, session: pytest.Session, tests: Sequence[pytest.Item]) -> str:
    mutant.put_in()
    for test, following in zip(tests, [*tests[1:], None], strict=False):
        _run_test(test, following)
        if session.testsfailed:
            return NOTICED
    return SURVIVED


def _run_test(item: pytest.Item, following: pytest.Item | None) -> None:
    """Run one test; what it shares with the next stays."""
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)


def _in_a_process(function: Callable[[], object], seconds: int = SECONDS) -> object:
    """What a function returns in a fork of this process; `ENDLESS` if it takes more seconds of the processor."""
    mine, theirs = multiprocessing.Pipe(duplex=False)

    def child() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        theirs.send(function())

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    theirs.close()
    try:
        return mine.recv() if mine.poll(20 * seconds) else ENDLESS
    except EOFError:
        process.join(1)
        return ENDLESS if (process.exitcode or 0) < 0 else FAILED
    finally:
        process.kill()
        process.join()


def _run_file(tests: Sequence[str], chosen: Sequence[Mutant], told: Connection) -> None:
    """In a process of its own: all mutants of one file."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    os.environ["GRADER_PROGRESS"] = "off"
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", f"--basetemp=/tmp/marks-mutants-{os.getpid()}"]
    pytest.main([*options, "--tb=no", *tests], plugins=[_Trials(chosen, told)])


def run(chosen: Sequence[Mutant]) -> Iterator[tuple[str, str]]:
    """Of each mutant its name and the verdict; the mutants are of one file."""
    mine, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(
        target=_run_file, args=(FILES[chosen[0].file], chosen, theirs)
    )
    process.start()
    theirs.close()
    try:
        while True:
            yield mine.recv()
    except EOFError:
        process.join()


def _import_others() -> None:
    """Import what tests import and takes long."""
    from tests.nbgrader_commands import remember_schema

    remember_schema()
    for name in ("grader.cli.main", "grader.book.export", "grader.handed_in.collect", "grader.subject.local"):
        importlib.import_module(name)


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
    start, counts = time.monotonic(), Counter[str]()
    for file in dict.fromkeys(mutant.file for mutant in every):
        own, began = Counter[str](), time.monotonic()
        for name, found in run([mutant for mutant in every if mutant.file == file]):
            own[found] += 1
            if found in (SURVIVED, FAILED):
                print(f"{found}  {name}", flush=True)
        print(f"{file}: {_counted(own)}, {time.monotonic() - began:.0f} s", flush=True)
        counts += own
    print(f"{len(every)} mutants: {_counted(counts)}, {time.monotonic() - start:.0f} s")
    return int(_share(counts) < 0.95 or counts[FAILED] > 0)


def _share(counts: Counter[str]) -> float:
    """What is noticed of all that could be."""
    noticed = counts[NOTICED] + counts[ENDLESS]
    return noticed / max(noticed + counts[SURVIVED], 1)


def _counted(counts: Counter[str]) -> str:
    return f"{', '.join(f'{count} {found}' for found, count in counts.most_common())}; {_share(counts):.1%} noticed"


if __name__ == "__main__":
    sys.exit(main())
