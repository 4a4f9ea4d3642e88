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

from grader.subject.cells import compile_cell
from grader.subject.names import names_of

# Code with one of these may look up any name.
LOOKS_UP = frozenset(
    {"globals", "locals", "vars", "eval", "exec", "getattr", "__import__", "__main__", "import_module", "get_ipython"}
)
# Called for what they show.
SHOWS = frozenset({"print", "display", "check", "predict", "compare_guess", "set_printoptions", "show"})


@dataclass(frozen=True)
class ExampleNames:
    """The names that an example uses, and those that it makes or changes."""

    uses: frozenset[str]
    makes: frozenset[str]


@cache
def names_of_example(source: str, definitions: bool = False) -> ExampleNames:
    """The names of an instructor's cell; with `definitions`, of its functions, classes and imports only. SyntaxError if
    it isn't Python alone."""
    names = names_of(compile_cell(source, "<example>", definitions))
    return ExampleNames(names.uses, names.binds if definitions else names.binds | _changed(ast.parse(source)))


def _changed(node: ast.AST) -> set[str]:
    """The names that may be changed in place: objects with an attribute or an item assigned, and whatever a call that
    stands alone is made on or given. The function itself is called, not changed. What a function calls by its own
    names, its parameters above all, is nobody else's by that name."""
    changed: set[str] = set()
    for inner in ast.iter_child_nodes(node):
        changed |= _changed(inner)
    if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
        changed |= _names_in(node)
    elif isinstance(node, ast.Expr) and isinstance(call := node.value, ast.Call) and not _shows(call):
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        called_on = [] if isinstance(call.func, ast.Name) else [call.func]
        changed.update(*map(_names_in, [*called_on, *given]))
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        changed -= _own_names(node)
    return changed


def _own_names(function: ast.AST) -> set[str]:
    """The parameters of a function and what it binds, unless it says that they are somebody else's."""
    own, others = set[str](), set[str]()
    for inner in ast.walk(function):
        if isinstance(inner, ast.arg):
            own.add(inner.arg)
        elif isinstance(inner, ast.Name) and not isinstance(inner.ctx, ast.Load):
            own.add(inner.id)
        elif isinstance(inner, ast.Global | ast.Nonlocal):
            others.update(inner.names)
    return own - others


def _names_in(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _shows(call: ast.Call) -> bool:
    return getattr(call.func, "id", getattr(call.func, "attr", "")) in SHOWS


def needed(words: set[str], examples: Mapping[int, tuple[str, bool]]) -> set[int]:
    """The places of the worked examples that have to run, if a student's own cells use the names `words`. `examples`
    gives, by place, the source and whether only its definitions run."""
    words = set(words)
    try:
        names = {i: names_of_example(*example) for i, example in examples.items()}
    except SyntaxError:
        return set(examples)
    if words & LOOKS_UP:
        return set(examples)
    wanted: set[int] = set()
    while more := {i for i in examples.keys() - wanted if names[i].makes & words}:
        wanted |= more
        words |= {name for i in more for name in names[i].uses}
    return wanted
