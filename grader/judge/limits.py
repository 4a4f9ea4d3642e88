"""What a submission may use. Every limit is a setting."""

from __future__ import annotations

from dataclasses import dataclass, replace

MIB = 2**20


@dataclass(frozen=True)
class Limits:
    """Seconds are those of the processor, since others may keep the machine busy; by the clock, which also counts where
    code sleeps, it may take `patience` times as long. `memory` is in bytes, beyond what torch itself takes;
    `output_bytes` is what is kept of the text that one exercise prints."""

    check_seconds: float = 10.0
    cell_seconds: float = 20.0
    submission_seconds: float = 120.0
    patience: float = 3.0
    memory: int = 1024 * MIB
    threads: int = 64
    file_bytes: int = 32 * MIB
    scratch_bytes: int = 64 * MIB
    output_bytes: int = 10_000
    notebook_bytes: int = 100 * MIB
    cells: int = 2000

    def __post_init__(self) -> None:
        object.__setattr__(self, "patience", max(self.patience, 1.0))

    @property
    def longest(self) -> float:
        """Seconds by the clock that a submission may take."""
        return self.submission_seconds * self.patience

    @property
    def quick(self) -> Limits:
        """With half the time for a check or a cell, and a sixth for it all, by the clock. What ends within these limits
        has the same result as within the whole ones; what doesn't has to be graded again."""
        check, cell, submission = self.check_seconds / 2, self.cell_seconds / 2, self.submission_seconds / 6
        return replace(self, check_seconds=check, cell_seconds=cell, submission_seconds=submission, patience=1.0)
