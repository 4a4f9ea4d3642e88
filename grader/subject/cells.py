"""Notebook cells outside Jupyter: magics, `display`, `get_ipython`, but no IPython shell that a cell could alter."""

from __future__ import annotations

import ast
import linecache
from types import CodeType
from typing import Any

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
# Cell magics whose body is Python that defines names; the body of any other is not run.
TRANSPARENT = frozenset({"time", "capture", "prun"})


class Shell:
    """What `get_ipython()` returns. It runs the code of timing magics and ignores everything else."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self._namespace = namespace

    def run_line_magic(self, name: str, line: str, *_rest: object) -> Any:
        if name in ("time", "timeit"):
            code = line.split(" ", 2)[-1] if line.startswith("-") else line
            exec(compile_cell(code, "<magic>"), self._namespace)
        return None

    def run_cell_magic(self, name: str, line: str, cell: str) -> Any:
        if name in TRANSPARENT:
            exec(compile_cell(cell, "<magic>"), self._namespace)
        return None

    def __getattr__(self, _name: str) -> Any:
        return Silence()


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
    IPython's transformer is used only if it isn't plain Python (magics, `!`, `?`). SyntaxError if that doesn't help."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    try:
        return _code(source, name, definitions_only)
    except SyntaxError:
        transformed = _without_magics(source)
        if transformed == source:
            raise
        return _code(transformed, name, definitions_only)


def _code(source: str, name: str, definitions_only: bool) -> CodeType:
    """Compile without inheriting this file's `from __future__`; with `definitions_only` functions, classes and imports
    alone."""
    if not definitions_only:
        return compile(source, name, "exec", dont_inherit=True)
    tree = ast.parse(source, name)
    tree.body = [node for node in tree.body if isinstance(node, DEFINITIONS)]
    return compile(tree, name, "exec", dont_inherit=True)


def _without_magics(source: str) -> str:
    try:
        from IPython.core.inputtransformer2 import TransformerManager
    except ImportError:
        return source
    return TransformerManager().transform_cell(source)
