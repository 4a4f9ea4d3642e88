"""Notebook cells outside Jupyter: how they are compiled, and the names that every notebook has without an import.

IPython's own shell (`grader.subject.shell`) carries out magics; it is made when a cell first needs it.
"""

from __future__ import annotations

import ast
import io
import linecache
import re
import tokenize
from collections.abc import Callable
from types import CodeType
from typing import Any

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
# What a machine may lack that another one has: packages and backends, files and the network, somebody at a keyboard.
MACHINE = (ImportError, OSError, EOFError)
# Cell magics whose body is the cell itself.
_TRANSPARENT = re.compile(r"%%(time|capture|prun)\b([^\n]*)")


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

    def get_ipython() -> Any:
        from grader.subject.shell import shell_of

        return shell_of(namespace)

    namespace["get_ipython"] = get_ipython
    namespace["display"] = _display
    History(namespace)
    return namespace


CAPTURES: list[Any] = []  # what keeps what the cell that runs prints and displays


def _display(*things: object, **options: Any) -> Any:
    """Nobody looks at what is displayed, unless the cell keeps it."""
    if CAPTURES:
        from IPython.display import display

        return display(*things, **options)
    return Silence() if options.get("display_id") else None


class History(dict[int, Any]):
    """What a kernel keeps of the cells that it ran: itself as `Out`, and `In`, `_`, `__`, `___`, `_3`, `_i`, `_i3`."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        super().__init__()
        self._names = namespace
        self._latest: list[Any] = ["", "", ""]
        self._sources = ["", "", ""]
        self._number = 0
        self.inputs: list[str] = [""]
        namespace |= {"In": self.inputs, "_ih": self.inputs, "Out": self, "_oh": self}
        namespace |= dict.fromkeys(("_", "__", "___", "_i", "_ii", "_iii"), "")

    def enter(self, number: int, source: str) -> None:
        """Cell `number` of the notebook runs now; 0 for a cell that isn't in it."""
        self._number = number
        if number:
            source = source.rstrip("\n")
            self.inputs.extend([""] * (number + 1 - len(self.inputs)))
            self.inputs[number] = re.sub(r"\A\s*\n", "", source)
            names = ("_i", "_ii", "_iii")
            self._names |= dict(zip(names, self._sources, strict=True)) | {f"_i{number}": source}
            self._sources = [source, *self._sources[:2]]

    def made_python(self, source: str) -> str:
        """`In` has what IPython made of the cell that runs. Returns it."""
        if self._number:
            self.inputs[self._number] = source.rstrip("\n")
        return source

    def show(self, value: object) -> None:
        """The cell ends with a value. As in IPython, `_` and its like stay a student's own once one of them is."""
        if value is None or isinstance(value, Silence) or value is self or not self._number:
            return
        names = ("_", "__", "___")
        theirs = any(self._names.get(name, old) is not old for name, old in zip(names, self._latest, strict=True))
        self._latest = [value, *self._latest[:2]]
        if not theirs:
            self._names |= dict(zip(names, self._latest, strict=True))
        self[self._number] = self._names[f"_{self._number}"] = value


def is_quiet(source: str) -> bool:
    """Whether a cell ends with a semicolon, which keeps its value from being shown.

    >>> is_quiet("x;  # no"), is_quiet("print('; # yes')")
    (True, False)
    """
    if ";" not in source:
        return False
    nothing = (tokenize.NEWLINE, tokenize.NL, tokenize.COMMENT, tokenize.ENDMARKER, tokenize.DEDENT)
    try:
        every = tokenize.generate_tokens(io.StringIO(source).readline)
        tokens = [token.string for token in every if token.type not in nothing]
    except (tokenize.TokenError, SyntaxError):
        return False
    return tokens[-1:] == [";"]


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


def parse_cell(
    source: str, name: str, definitions_only: bool = False, transform: Callable[[str], str] | None = None
) -> ast.Module:
    """The statements of a cell; the arguments are `compile_cell`'s, and `read_cell`'s."""
    tree = read_cell(source, name, transform)[0]
    if definitions_only:
        tree.body = [node for node in tree.body if isinstance(node, DEFINITIONS)]
    return tree


def read_cell(source: str, name: str, transform: Callable[[str], str] | None = None) -> tuple[ast.Module, bool]:
    """The statements of a cell, and whether it is Python without magics. What `%%time` and its like stand above is the
    cell itself, so that its names, its lines and its `await` are what they would be without. What isn't Python then
    (magics, `!`, `?`) is made Python by `transform`, a shell's, or by IPython's transformer."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    try:
        return ast.parse(source, name), True
    except SyntaxError:
        untimed = _without_timing(source)
    try:
        return ast.parse(untimed, name), False
    except SyntaxError:
        return ast.parse((transform or _without_magics)(untimed), name), False


def compiled(tree: str | ast.Module | ast.Expression, name: str, flags: int = 0) -> CodeType:
    """The code of a tree or a text, without this file's `from __future__` but with these `flags`."""
    mode = "eval" if isinstance(tree, ast.Expression) else "exec"
    code: CodeType = compile(tree, name, mode, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | flags, dont_inherit=True)
    return code


def _without_timing(source: str) -> str:
    """A cell with the magics at its top that only time it or keep what it prints taken away, line by line.

    >>> _without_timing("%%capture out\\n%%time\\nx = 1")
    "out = get_ipython().captured('out')\\n\\nx = 1"
    """
    lines = source.split("\n")
    for number, line in enumerate(lines):
        if found := _TRANSPARENT.match(line):
            options = found[2].strip()
            names = [f"{word} = " for word in options.split() if word.isidentifier()][-1:]
            captures = found[1] == "capture"
            lines[number] = f"{''.join(names)}get_ipython().captured({options!r})" if captures else ""
        elif line.strip():
            break
    return "\n".join(lines)


def _without_magics(source: str) -> str:
    try:
        from IPython.core.inputtransformer2 import TransformerManager
    except ImportError:
        return source
    return TransformerManager().transform_cell(source)
