"""Solution regions: what lies between `### BEGIN SOLUTION` and `### END SOLUTION` (nbgrader's ClearSolutions)."""

from __future__ import annotations

import re

BEGIN = "BEGIN SOLUTION"
END = "END SOLUTION"
STUB = "raise NotImplementedError()"


def region_errors(source: str) -> list[tuple[int, str]]:
    """What is wrong with the marks of solution regions in a source: for each error its line, counted from 0, and a
    message."""
    errors: list[tuple[int, str]] = []
    opened: int | None = None
    for number, line in enumerate(source.splitlines()):
        if BEGIN in line:
            if opened is not None:
                above = number - opened
                message = f"{BEGIN} is inside another region, which begins {above} line{'s' * (above > 1)} above"
                errors.append((number, message))
            opened = number
        elif END in line:
            if opened is None:
                errors.append((number, f"{END} without {BEGIN}"))
            opened = None
    if opened is not None:
        errors.append((opened, f"{BEGIN} is never closed"))
    return errors


def is_mark(line: str) -> bool:
    """Whether a line opens or closes a region."""
    return BEGIN in line or END in line


def has_region(source: str) -> bool:
    """Whether a solution region begins in this source."""
    return BEGIN in source


def cut(source: str, stub: str = STUB) -> str:
    """The source with every region replaced by `stub`, as a student gets it.

    >>> cut("def f():\\n    ### BEGIN SOLUTION\\n    return 1\\n    ### END SOLUTION")
    'def f():\\n    raise NotImplementedError()'
    """
    kept: list[str] = []
    inside = False
    for line in source.split("\n"):
        if BEGIN in line:
            inside = True
            kept.append(re.match(r"\s*", line)[0] + stub)  # type: ignore[index]
        elif END in line:
            inside = False
        elif not inside:
            kept.append(line)
    return "\n".join(kept)
