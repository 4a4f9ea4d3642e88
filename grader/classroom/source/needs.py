"""Which names the code cells of a notebook use that no cell before them defines."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from functools import cache

from grader.classroom.source.notebook import Cell, is_code
from grader.subject.cells import compile_cell
from grader.subject.names import Names, names_of

ALWAYS = frozenset({*dir(builtins), "display", "get_ipython", "In", "Out", "exit", "quit", "__file__"})
ANYTHING = ("import *", "%run", "%pylab", "%load", "globals()")  # may define any name


def undefined(cells: Sequence[Cell]) -> Iterator[tuple[int, set[str]]]:
    """The places of cells that use such names, and the names. A cell that isn't Python is passed over; behind one that
    may define any name nothing is known."""
    defined: set[str] = set(ALWAYS)
    for place, cell in enumerate(cells):
        if not is_code(cell):
            continue
        names = names_in(cell["source"])
        if names is None:
            continue
        if any(word in cell["source"] for word in ANYTHING):
            return
        defined |= names.binds
        if missing := names.uses - defined:
            yield place, set(missing)


@cache
def names_in(source: str) -> Names | None:
    """The names of a cell's code; None if it isn't Python."""
    try:
        return names_of(compile_cell(source, "<cell>"))
    except (SyntaxError, ValueError):
        return None
