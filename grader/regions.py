"""Regions of nbgrader's cells: what lies between `### BEGIN SOLUTION` and `### END SOLUTION`, or other such marks, and
what a student finds in the place of a solution (nbgrader's ClearSolutions)."""

from __future__ import annotations

import re
from collections.abc import Sequence

SOLUTION = "SOLUTION"
BEGIN = f"BEGIN {SOLUTION}"
# What takes a solution's place; in a quiz, a cell that raises would keep the blanks above from a check.
STUB = ("# YOUR CODE HERE", "raise NotImplementedError()")
ANSWERS_STUB = ("# Replace each ... above with your answer.",)


def region_errors(source: str, name: str = SOLUTION) -> list[tuple[int, str]]:
    """What is wrong with the marks of the regions of this name in a source: for each error its line, counted from 0,
    and a message."""
    errors: list[tuple[int, str]] = []
    opened: int | None = None
    for number, line in enumerate(source.splitlines()):
        if f"BEGIN {name}" in line:
            if opened is not None:
                above = number - opened
                message = f"BEGIN {name} is inside another region, which begins {above} line{'s' * (above > 1)} above"
                errors.append((number, message))
            opened = number
        elif f"END {name}" in line:
            if opened is None:
                errors.append((number, f"END {name} without BEGIN {name}"))
            opened = None
    if opened is not None:
        errors.append((opened, f"BEGIN {name} is never closed"))
    return errors


def is_mark(line: str) -> bool:
    """Whether a line opens or closes a solution's region."""
    return BEGIN in line or f"END {SOLUTION}" in line


def has_region(source: str) -> bool:
    """Whether a solution's region begins in this source."""
    return BEGIN in source


def without_marks(source: str) -> str:
    """The source of a solution cell without the marks around the solution."""
    return "\n".join(line for line in source.split("\n") if not is_mark(line))


def cut(source: str, stub: Sequence[str] = STUB) -> str:
    """The source with the lines of `stub` in the place of every solution, as a student gets it.

    >>> print(cut("def f():\\n    ### BEGIN SOLUTION\\n    return 1\\n    ### END SOLUTION"))
    def f():
        # YOUR CODE HERE
        raise NotImplementedError()
    """
    kept: list[str] = []
    inside = False
    for line in source.split("\n"):
        if BEGIN in line:
            inside = True
            indent = re.match(r"\s*", line)[0]  # type: ignore[index]
            kept += [indent + instead for instead in stub]
        elif is_mark(line):
            inside = False
        elif not inside:
            kept.append(line)
    return "\n".join(kept)
