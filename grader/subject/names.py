"""The names that a piece of Python uses, binds and changes, read from its compiled code and its tree.

The build uses it to see whether a worked example needs a student's code, the judge to see which worked examples a
submission needs, a check to see which earlier functions a function calls, a notebook to see what waits for a cell that
was interrupted.
"""

from __future__ import annotations

import ast
import dis
import inspect
import re
import unicodedata
from collections.abc import Container
from dataclasses import dataclass
from types import CodeType

from grader.subject.cells import compiled, parse_cell

LOADS = frozenset({"LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"})
LOAD_GLOBAL = dis.opmap["LOAD_GLOBAL"]
GLOBAL = frozenset(
    number
    for name, number in dis.opmap.items()
    if name in LOADS or name in ("STORE_NAME", "STORE_GLOBAL", "DELETE_NAME", "DELETE_GLOBAL")
)
COMPREHENSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})


@dataclass(frozen=True)
class Names:
    """What a piece of code does with names."""

    uses: frozenset[str]  # global names that are read, also inside functions and classes
    binds: frozenset[str]  # defined once the code has run
    at_once: frozenset[str]  # read as soon as the code runs, before it binds them
    attributes: frozenset[str]  # assigned behind a dot, as in `self.num_heads = 2`
    loops: bool  # whether it has a `for`
    numbers: frozenset[int | float]  # constants that may be a size or part of one: no axis, no power, none tiny or huge

    @property
    def takes(self) -> frozenset[str]:
        """The names that it takes from what ran before it."""
        return self.at_once | (self.uses - self.binds)


def names_of(code: CodeType) -> Names:
    """The names of a module's, cell's or function's code.

    >>> names = names_of(compile("y = x.total", "cell", "exec"))
    >>> sorted(names.uses), sorted(names.binds)
    (['x'], ['y'])
    """
    uses: set[str] = set()
    binds: set[str] = set()
    attributes: set[str] = set()
    numbers: set[int | float] = set()
    loops = False
    for inner in _all_codes(code):
        instructions = list(dis.get_instructions(inner))
        read = {i.argval for i in instructions if i.opname in LOADS}
        stored = {i.argval for i in instructions if i.opname == "STORE_NAME"}
        binds |= {i.argval for i in instructions if i.opname == "STORE_GLOBAL"}
        if inner is code:
            binds |= stored
        else:
            read -= stored  # a class's own names
        uses |= read
        attributes |= {i.argval for i in instructions if i.opname == "STORE_ATTR"}
        loops = loops or any(i.opname == "FOR_ITER" for i in instructions)
        numbers |= {constant for constant in inner.co_consts if _may_be_a_size(constant)}
    at_once = frozenset(_at_once(code))
    return Names(frozenset(uses), frozenset(binds), at_once, frozenset(attributes), loops, frozenset(numbers))


def _at_once(code: CodeType) -> set[str]:
    """The names that code reads outside of functions and classes, less those that it has bound by then."""
    found: set[str] = set()
    bound: set[str] = set()
    for instruction in dis.get_instructions(code):
        if instruction.opname == "STORE_NAME":
            bound.add(instruction.argval)
        elif instruction.opname in LOADS:
            found |= {instruction.argval} - bound
        elif inspect.iscode(instruction.argval) and instruction.argval.co_name in COMPREHENSIONS:
            found |= _at_once(instruction.argval) - bound
    return found


def _may_be_a_size(constant: object) -> bool:
    if type(constant) is int:
        return 4 <= constant < 1000
    return type(constant) is float and 0.1 < constant < 1000 and constant not in (0.5, 1.0, 1.5, 2.0)


def does_nothing(code: CodeType) -> bool:
    """Whether a function's body is `...`, `pass` or a docstring alone.

    >>> does_nothing((lambda x: None).__code__), does_nothing((lambda x: x).__code__)
    (True, False)
    """
    if code.co_names:
        return False
    idle, answer = ("RESUME", "NOP"), ("LOAD_CONST", "RETURN_CONST", "RETURN_VALUE")
    return all(i.opname in idle or (i.opname in answer and i.argval is None) for i in dis.get_instructions(code))


def words_of(code: CodeType) -> set[str]:
    """Every name in a piece of code: as it is where it may be a global one, and otherwise, as an attribute or a module
    that is imported, with a dot before it. These are more than the names it uses, but found a hundred times faster.

    >>> sorted(words_of(compile("y = x.total", "cell", "exec")))
    ['.total', 'x', 'y']
    """
    found: set[str] = set()
    for inner in _all_codes(code):
        own = _global_in(inner)
        found |= own
        found.update(f".{name}" for name in inner.co_names if name not in own)
    return found


def _global_in(code: CodeType) -> set[str]:
    """The names that code, without what is defined inside it, reads or binds as global ones, or as a class's own."""
    found: set[str] = set()
    high = 0
    for operation, low in zip(code.co_code[::2], code.co_code[1::2], strict=True):
        place = high | low
        high = place << 8 if operation == dis.EXTENDED_ARG else 0
        if operation in GLOBAL:
            found.add(code.co_names[place >> (operation == LOAD_GLOBAL)])  # its last bit says what it is read for
    return found


def words_in(text: str) -> set[str]:
    """Every word of a text that can be a name, as Python reads it."""
    return set(re.findall(r"[^\W\d]\w*", unicodedata.normalize("NFKC", text)))


def _all_codes(code: CodeType) -> list[CodeType]:
    """A piece of code and all code defined inside it."""
    codes = [code]
    for outer in codes:
        codes += [constant for constant in outer.co_consts if inspect.iscode(constant)]
    return codes


@dataclass(frozen=True)
class Statement:
    """One top-level statement of a cell."""

    node: ast.stmt
    uses: frozenset[str]  # names it takes from the statements before it
    binds: frozenset[str]  # names it leaves behind

    def line_of(self, name: str) -> int:
        """The line in which it uses a name, counted from 1 within the cell."""
        lines = [node.lineno for node in ast.walk(self.node) if isinstance(node, ast.Name) and node.id == name]
        return min(lines, default=self.node.lineno)


def statements(source: str) -> list[Statement]:
    """The top-level statements of a cell; SyntaxError if it isn't Python, magics aside.

    >>> [(sorted(s.uses), sorted(s.binds)) for s in statements("y = f(x)\\nfor i in y:\\n    print(i)")]
    [(['f', 'x'], ['y']), (['print', 'y'], ['i'])]
    """
    every = [(node, names_of(compiled(ast.Module([node], []), "<cell>"))) for node in parse_cell(source, "<cell>").body]
    return [Statement(node, names.takes, names.binds) for node, names in every]


def bound(source: str) -> set[str]:
    """All names that a cell binds at its top level."""
    return {name for statement in statements(source) for name in statement.binds}


def changed(node: ast.AST, shows: Container[str] = ()) -> set[str]:
    """The names that may be changed in place: objects with an attribute or an item assigned, and whatever a call that
    stands alone is made on or given, unless it is called for what it `shows`. The function itself is called, not
    changed. What a function calls by its own names, its parameters above all, is nobody else's by that name."""
    found: set[str] = set()
    for inner in ast.iter_child_nodes(node):
        found |= changed(inner, shows)
    if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
        found |= names_in(node)
    elif isinstance(node, ast.Expr) and isinstance(call := node.value, ast.Call) and _name_of(call) not in shows:
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        called_on = [] if isinstance(call.func, ast.Name) else [call.func]
        found.update(*map(names_in, [*called_on, *given]))
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        found -= _own_names(node)
    return found


def names_in(node: ast.AST) -> set[str]:
    """Every name in a piece of a tree."""
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


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


def _name_of(call: ast.Call) -> str:
    return getattr(call.func, "id", getattr(call.func, "attr", ""))
