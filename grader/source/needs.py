"""Which names the code cells of a notebook use that nothing in it defines in time."""

from __future__ import annotations

import builtins
import dis
import inspect
from collections.abc import Iterator, Sequence
from functools import cache
from types import CodeType

from grader.source.notebook import Cell, is_code
from grader.subject.cells import compile_cell
from grader.subject.names import LOADS, Names, names_of

ALWAYS = frozenset({*dir(builtins), "display", "get_ipython", "In", "Out", "exit", "quit", "__file__"})
ANYTHING = ("import *", "%run", "%pylab", "%load", "globals()")  # may define any name


def undefined(cells: Sequence[Cell]) -> Iterator[tuple[int, set[str]]]:
    """The index of each cell that uses names which nothing defines in time, and these names. A function may call what a
    later cell defines. A cell that isn't Python is passed over; behind one that may define any name nothing is known.
    """
    known = [(index, names_in(cell["source"])) for index, cell in enumerate(cells) if is_code(cell)]
    anywhere = {name for _place, found in known if found is not None for name in found[0].binds}
    defined: set[str] = set(ALWAYS)
    for index, found in known:
        if any(word in cells[index]["source"] for word in ANYTHING):
            return
        if found is not None:
            names, at_once = found
            defined |= names.binds
            if missing := {name for name in names.uses - defined if name in at_once or name not in anywhere}:
                yield index, missing


@cache
def names_in(source: str) -> tuple[Names, frozenset[str]] | None:
    """The names that a cell's code binds and uses, and those that it uses as soon as it runs; None if it isn't
    Python."""
    try:
        code = compile_cell(source, "<cell>")
    except (SyntaxError, ValueError):
        return None
    return names_of(code), frozenset(_at_once(code))


def _at_once(code: CodeType) -> set[str]:
    """The names that code uses outside of functions and classes."""
    found = {instruction.argval for instruction in dis.get_instructions(code) if instruction.opname in LOADS}
    for inner in code.co_consts:
        if inspect.iscode(inner) and inner.co_name in ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"):
            found |= _at_once(inner)
    return found
