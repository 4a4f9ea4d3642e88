"""Which worked examples a submission needs: most print something and are used by nobody.

A worked example runs only if it makes or changes a name that the student's own cells use, or that another needed
example uses. It errs on the side of running: an attribute of the same name counts, and code that looks names up by
itself (`globals`, `eval`, ...) needs everything.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from grader.subject.cells import DEFINITIONS

BY_ITSELF = frozenset(
    {"globals", "locals", "vars", "eval", "exec", "getattr", "__import__", "__main__", "import_module"}
)
# Called for what they show.
SHOWS = frozenset({"print", "display", "check", "set_printoptions", "show"})


@dataclass(frozen=True)
class Names:
    """The names that a cell uses, and those that it makes or changes."""

    used: frozenset[str]
    made: frozenset[str]


@cache
def names_of(source: str, definitions: bool = False) -> Names | None:
    """Of an instructor's cell (of its functions, classes and imports only); None if it can't be told."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return None
    if definitions:
        tree.body = [node for node in tree.body if isinstance(node, DEFINITIONS)]
    used: set[str] = set()
    made: set[str] = set()
    # Found by their class's name only: `forward` of one module is no use of another's.
    methods = {member for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for member in node.body}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else made).add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if node not in methods:
                made.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            made.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
        elif isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            made.update(_roots(node))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            made.update(_changed(node.value))
    return Names(frozenset(used), frozenset(made))


def _changed(call: ast.Call) -> set[str]:
    """What a call that stands alone may change: whatever it is called on and given."""
    if (
        isinstance(call.func, ast.Name | ast.Attribute)
        and getattr(call.func, "id", getattr(call.func, "attr", "")) in SHOWS
    ):
        return set()
    return _roots(call)


def _roots(node: ast.AST) -> set[str]:
    return {found.id for found in ast.walk(node) if isinstance(found, ast.Name)}


def needed(words: set[str], examples: Mapping[int, tuple[str, bool]]) -> set[int]:
    """Which of the worked examples have to run, if a student's own cells use the names `words`. `examples` has by place
    the source, and whether only its definitions run."""
    words = set(words)
    if words & BY_ITSELF:
        return set(examples)
    wanted: set[int] = set()
    grown = True
    while grown:
        grown = False
        for i in examples.keys() - wanted:
            names = names_of(*examples[i])
            if names is None:
                return set(examples)
            if names.made & words:
                wanted.add(i)
                words |= names.used
                grown = True
    return wanted
