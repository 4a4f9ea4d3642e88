"""What a check found, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.report.words import State, first_failure, first_fix, state_of, unwritten
from grader.sentences import say

if TYPE_CHECKING:  # the teacher's commands read results without torch
    from torch import Tensor


@dataclass(frozen=True)
class PartReport:
    """The result of one part."""

    name: str
    passed: bool
    weight: float
    message: str = ""  # why it failed, or what comes first
    kind: str = ""  # the stable id of its finding, such as "wrong-shape"; "" if it passed
    got: Tensor | None = None  # to show, as is `expected`
    expected: Tensor | None = None
    hints: tuple[str, ...] = ()
    judged: bool = True  # False where something else has to come first: neither passed nor failed, it earns nothing yet

    @property
    def state(self) -> State:
        """What became of it."""
        return state_of(self.passed, self.judged)


@dataclass(frozen=True)
class Report:
    """The result of a check."""

    exercise: str
    points: float
    results: tuple[PartReport, ...]
    diagnosis: str | None = None  # the id of the mistake that the code looks like
    symptom: str = ""  # of that mistake, as are `hints`
    hints: tuple[str, ...] = ()
    first_fix: str = ""  # an earlier exercise that the code calls and that comes first
    first_fix_why: str = ""  # one of `FirstFix`
    forfeited: bool = False  # the code called an excluded function
    output: str = ""  # what the code printed
    broken: str = ""  # the traceback of a fault in the check itself
    remark: str = ""  # a sentence on a right answer, which costs nothing

    @property
    def passed(self) -> bool:
        """Whether every part passed."""
        return bool(self.results) and not self.broken and all(result.passed for result in self.results)

    @property
    def score(self) -> float:
        """The share of the points earned, 0 to 1."""
        total = sum(result.weight for result in self.results)
        if self.broken or self.forfeited or not total:
            return 0.0
        return 1.0 if self.passed else sum(r.weight for r in self.results if r.passed) / total

    @property
    def mark(self) -> float:
        """Points earned, to two decimals."""
        return round(self.points * self.score, 2)

    @property
    def first_failure(self) -> PartReport | None:
        """The first part that failed; where nothing has failed yet, the first that did not pass; None if all passed."""
        return first_failure(self.results)

    @property
    def unwritten(self) -> PartReport | None:
        """The part that says that the code is not written or not defined, if that is all that there is to say; else
        None."""
        return unwritten(self.results)

    @property
    def first_fix_sentence(self) -> str:
        """Which earlier exercise comes first, and why; empty if none does or if the first failure says it already."""
        said = first_fix(self.exercise, self.first_fix, self.first_fix_why) if self.first_fix else ""
        return "" if any(result.message == said for result in self.results) else said

    def hint(self, number: int = 1) -> str:
        """Hint `number`, from 1; each says more than the one before. A number without a hint gives a sentence on how
        many there are."""
        if 1 <= number <= len(self.hints):
            return self.hints[number - 1]
        return say("Hints for this report: {count}.", count=len(self.hints))
