"""Which names the code cells of a notebook use that nothing in it defines in time."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from functools import cache

from grader.source.notebook import Cell, is_code
from grader.subject.cells import compile_cell
from grader.subject.names import Names, names_of

ALWAYS = frozenset({*dir(builtins), "display", "get_ipython", "In", "Out", "exit", "quit", "__file__"})
ANYTHING = ("import *", "%run", "%pylab", "%load", "globals()")  # may define any name


def undefined(cells: Sequence[Cell]) -> Iterator[tuple[int, set[str]]]:
    """The index of each cell that uses names which nothing defines in time, and these names. A function may call what a
    later cell defines. A cell that isn't Python is passed over; behind one that may define any name nothing is known.
    """
    known = [(index, _names(cell["source"])) for index, cell in enumerate(cells) if is_code(cell)]
    anywhere = {name for _place, names in known if names is not None for name in names.binds}
    defined: set[str] = set(ALWAYS)
    for index, names in known:
        if any(word in cells[index]["source"] for word in ANYTHING):
            return
        if names is not None:
            defined |= names.binds
            if missing := {name for name in names.uses - defined if name in names.at_once or name not in anywhere}:
                yield index, missing


@cache
def _names(source: str) -> Names | None:
    """The names of a cell's code; None if it isn't Python."""
    try:
        return names_of(compile_cell(source, "<cell>"))
    except (SyntaxError, ValueError):
        return None
