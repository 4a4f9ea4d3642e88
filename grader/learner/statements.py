"""Which names the statements of a cell use and bind, statement by statement."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from IPython.core.inputtransformer2 import TransformerManager

from grader.subject.names import names_of

SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Assert, ast.Delete, ast.Raise)


@dataclass(frozen=True)
class Statement:
    """One top-level statement. `uses`: names it takes from the cells before it; `binds`: names it leaves behind."""

    node: ast.stmt
    uses: frozenset[str]
    binds: frozenset[str]

    def line_of(self, name: str) -> int:
        """The line in which it uses a name, counted from 1 within the cell."""
        lines = [node.lineno for node in ast.walk(self.node) if isinstance(node, ast.Name) and node.id == name]
        return min(lines, default=self.node.lineno)


def parse(source: str) -> ast.Module:
    """Parse a cell; magics and shell lines are allowed, as in a notebook. SyntaxError if it can't be parsed."""
    try:
        return ast.parse(source)
    except SyntaxError:
        return ast.parse(TransformerManager().transform_cell(source))


def statements(source: str) -> list[Statement]:
    """The top-level statements of a cell.

    >>> [(sorted(s.uses), sorted(s.binds)) for s in statements("y = f(x)\\nfor i in y:\\n    print(i)")]
    [(['f', 'x'], ['y']), (['print', 'y'], ['i'])]
    """
    return [_statement(node) for node in parse(source).body]


def _statement(node: ast.stmt) -> Statement:
    code = compile(ast.Module([node], []), "cell", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    names = names_of(code)
    uses = names.uses
    if not isinstance(node, SIMPLE):
        uses -= names.binds  # a loop's variable, a function that calls itself
    return Statement(node, uses, names.binds)


def bound(source: str) -> set[str]:
    """All names that a cell binds at its top level."""
    return {name for statement in statements(source) for name in statement.binds}


def raises_when_defined(source: str) -> bool:
    """Whether a `raise` stands outside all functions, in a class's body for example, where it runs at once.

    >>> raises_when_defined("class A:\\n    raise NotImplementedError()")
    True
    >>> raises_when_defined("class A:\\n    def f(self):\\n        raise NotImplementedError()")
    False
    """
    waiting: list[ast.AST] = [parse(source)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Raise):
            return True
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)
    return False
