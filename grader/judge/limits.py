"""What a submission may use. Every limit is a setting."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

MIB = 2**20


@dataclass(frozen=True)
class Limits:
    """What a submission may use. Seconds are the processor's, since others may keep the machine busy."""

    check_seconds: float = 10.0  # of one check
    cell_seconds: float = 20.0  # of one cell
    submission_seconds: float = 120.0  # of all
    patience: float = 3.0  # how many times as long each may be by the clock, which also counts where code sleeps
    memory: int = 1024 * MIB  # bytes, beyond torch's own
    threads: int = 64  # the most that there may be
    file_bytes: int = 32 * MIB  # of one file
    scratch_bytes: int = 64 * MIB  # of all files together
    output_bytes: int = 10_000  # of the text kept of what one exercise prints
    notebook_bytes: int = 100 * MIB  # the most that there may be
    cells: int = 2000  # the most that there may be

    def __post_init__(self) -> None:
        object.__setattr__(self, "patience", max(self.patience, 1.0))

    @property
    def longest(self) -> float:
        """Seconds by the clock that a submission may take."""
        return self.submission_seconds * self.patience

    @property
    def quick(self) -> Limits:
        """These limits with half the time for a check or a cell, and a sixth for a submission, by the clock. What ends
        within them has the same result as within the whole ones; anything else has to be graded again."""
        check, cell, submission = self.check_seconds / 2, self.cell_seconds / 2, self.submission_seconds / 6
        return replace(self, check_seconds=check, cell_seconds=cell, submission_seconds=submission, patience=1.0)


def limits_from(settings: object) -> Limits:
    """The limits that a course sets, by their names; `ValueError` says which setting is none, what it got and what was
    expected.

    >>> limits_from({"check_seconds": "20"})
    Traceback (most recent call last):
    ...
    ValueError: check_seconds: got '20', expected a number above 0
    """
    names = {field.name: type(field.default) for field in fields(Limits)}
    if not isinstance(settings, Mapping):
        raise ValueError(f"got {settings!r:.80}, expected a dict of limits and their numbers")
    for name, number in settings.items():
        if name not in names:
            raise ValueError(f"got {name!r:.80}, expected one of {', '.join(names)}")
        whole = names[name] is int
        fits = isinstance(number, int if whole else int | float) and not isinstance(number, bool)
        if not fits or not 0 < number < math.inf:
            expected = "a whole number above 0" if whole else "a number above 0"
            raise ValueError(f"{name}: got {number!r:.80}, expected {expected}")
    return Limits(**settings)
