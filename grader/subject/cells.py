"""Notebook cells outside Jupyter: magics, `display`, `get_ipython`, but no IPython shell that a cell could alter."""

from __future__ import annotations

import ast
import importlib
import linecache
import os
import re
import shlex
from pathlib import Path
from types import CodeType
from typing import Any

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
# Cell magics whose body is Python that defines names. The body of any other isn't run, but for the one of a file.
TRANSPARENT = frozenset({"time", "capture", "prun"})
_TRANSPARENT = re.compile(rf"%%({'|'.join(sorted(TRANSPARENT))})\b([^\n]*)")
FILES = ("writefile", "file")


class Shell:
    """What `get_ipython()` returns. It runs the code of timing magics, writes the files of `%%writefile`, knows the
    folder and the environment, and ignores everything else."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.user_ns = namespace

    def run_line_magic(self, name: str, line: str, *_rest: object) -> Any:
        run = {"time": self._time, "timeit": self._repeat, "run": self._file, "cd": self._folder, "pwd": self._folder}
        run |= {"env": _variable, "set_env": _variable}
        return run[name](line.strip()) if name in run else Silence()

    def run_cell_magic(self, name: str, line: str, cell: str) -> Any:
        if name in TRANSPARENT:
            self.run_cell(cell)
        if name in FILES:
            _write(line, cell)

    def run_cell(self, source: str, *_options: object) -> None:
        """Run Python as a cell that is no cell of the notebook."""
        exec(compile_cell(source, "<magic>"), self.user_ns)

    ex = run_cell

    def _time(self, line: str) -> Any:
        try:
            code = compile(line, "<magic>", "eval", dont_inherit=True)
        except SyntaxError:
            return self.run_cell(line)
        return eval(code, self.user_ns)

    def _repeat(self, line: str) -> Silence:
        """What is timed, once; what `-o` gives of its times tells nothing."""
        self.run_cell(re.sub(r"^(-\w+ *\d* +)+", "", line))
        return Silence()

    def _file(self, line: str) -> None:
        path = Path(next(word for word in shlex.split(line) if not word.startswith("-")))
        exec(compile(path.read_text(encoding="utf-8"), str(path.resolve()), "exec", dont_inherit=True), self.user_ns)

    def _folder(self, line: str) -> str:
        if line:
            os.chdir(os.path.expanduser(line.strip("'\"")))
        return os.getcwd()

    def __getattr__(self, _name: str) -> Any:
        return Silence()


def _variable(line: str) -> Any:
    """What `%env NAME=VALUE` sets, or `%env NAME` shows."""
    name, equals, value = (part.strip() for part in line.partition("="))
    if not equals and " " in name:  # %env NAME VALUE
        name, equals, value = name.partition(" ")
    if equals:
        os.environ[name] = value
    return os.environ.get(name, "")


def _write(line: str, text: str) -> None:
    """What `%%writefile` does: write a cell's text to a file, or with `-a` append it."""
    words = shlex.split(line)
    path = os.path.expanduser(next(word for word in words if not word.startswith("-")))
    with open(path, "a" if {"-a", "--append"} & set(words) else "w", encoding="utf-8") as file:
        file.write(text)
    importlib.invalidate_caches()  # the file may be imported at once


class Silence:
    """Accepts every call, attribute, item and loop, and does nothing."""

    def __call__(self, *_args: object, **_keywords: object) -> Silence:
        return self

    def __getattr__(self, name: str) -> Silence:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, _key: object) -> Silence:
        return self

    def __iter__(self) -> Any:
        return iter(())

    def __enter__(self) -> Silence:
        return self

    def __exit__(self, *_error: object) -> None:
        return None


def notebook_namespace(namespace: dict[str, Any]) -> dict[str, Any]:
    """Add to a namespace the names that every notebook has without an import. Returns it."""
    shell = Shell(namespace)
    namespace["get_ipython"] = lambda: shell
    namespace["display"] = lambda *_things, **_options: None
    return namespace


def compile_cell(source: str, name: str, definitions_only: bool = False) -> CodeType:
    """Compile a cell under the file name `name`; with `definitions_only` its functions, classes and imports alone.
    Its code is a coroutine's where it has an `await` of its own. SyntaxError if it isn't Python, magics aside."""
    return compiled(parse_cell(source, name, True), name) if definitions_only else compile_whole(source, name)[0]


def compile_whole(source: str, name: str) -> tuple[CodeType, bool]:
    """The code of a whole cell, and whether it is Python without magics. It makes no tree where there are none: of a
    cell of millions of characters that would take a gigabyte."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    try:
        return compiled(source, name), True
    except SyntaxError:
        return compiled(read_cell(source, name)[0], name), False


def parse_cell(source: str, name: str, definitions_only: bool = False) -> ast.Module:
    """The statements of a cell; the arguments are `compile_cell`'s."""
    tree = read_cell(source, name)[0]
    if definitions_only:
        tree.body = [node for node in tree.body if isinstance(node, DEFINITIONS)]
    return tree


def read_cell(source: str, name: str) -> tuple[ast.Module, bool]:
    """The statements of a cell, and whether it is Python without magics. What `%%time` and its like stand above is the
    cell itself, so that its names, its lines and its `await` are what they would be without. IPython's transformer is
    used only for what isn't Python then (magics, `!`, `?`)."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    try:
        return ast.parse(source, name), True
    except SyntaxError:
        untimed = _without_timing(source)
    try:
        return ast.parse(untimed, name), False
    except SyntaxError:
        return ast.parse(_without_magics(untimed), name), False


def compiled(tree: str | ast.Module | ast.Expression, name: str, flags: int = 0) -> CodeType:
    """The code of a tree or a text, without this file's `from __future__` but with these `flags`."""
    mode = "eval" if isinstance(tree, ast.Expression) else "exec"
    code: CodeType = compile(tree, name, mode, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | flags, dont_inherit=True)
    return code


def _without_timing(source: str) -> str:
    """A cell with the magics at its top that only time it or keep what it prints taken away, line by line.

    >>> _without_timing("%%capture out\\n%%time\\nx = 1")
    'out = get_ipython().captured()\\n\\nx = 1'
    """
    lines = source.split("\n")
    for number, line in enumerate(lines):
        if found := _TRANSPARENT.match(line):
            names = [word for word in found[2].split() if word.isidentifier()]
            keeps = found[1] == "capture" and bool(names)
            lines[number] = f"{names[-1]} = get_ipython().captured()" if keeps else ""
        elif line.strip():
            break
    return "\n".join(lines)


def _without_magics(source: str) -> str:
    try:
        from IPython.core.inputtransformer2 import TransformerManager
    except ImportError:
        return source
    return TransformerManager().transform_cell(source)
