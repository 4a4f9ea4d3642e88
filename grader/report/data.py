"""What a check found, as plain data: of a part, and of an exercise. The judge's results are `PartResult` and
`ExerciseResult`, ready for JSON; a learner's own check has tensors and a traceback beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self, TypeVar

from grader.sentences import say

if TYPE_CHECKING:  # the teacher's commands read results without torch
    from torch import Tensor

# Kinds of findings that say that there is nothing to judge yet.
UNWRITTEN = frozenset({"not-written", "missing"})


class State(StrEnum):
    """What became of a part."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_JUDGED = "not-judged"  # something else has to come first


@dataclass(frozen=True)
class PartResult:
    """One part of an exercise."""

    name: str
    passed: bool
    weight: float  # its share of the points, beside the other parts' weights
    kind: str = ""  # the id of its finding; "" if it passed
    message: str = ""  # why it failed, or what comes first; a judge's holds nothing of its inputs
    judged: bool = True  # False where something else has to come first: neither passed nor failed, it earns nothing yet

    @property
    def state(self) -> State:
        """What became of it."""
        return State.PASSED if self.passed else State.FAILED if self.judged else State.NOT_JUDGED


P = TypeVar("P", bound=PartResult)


def first_failure(parts: Sequence[P]) -> P | None:
    """The first part that failed; where nothing has failed yet, the first that did not pass; None if all passed."""
    waiting = [part for part in parts if not part.passed]
    return next((part for part in waiting if part.judged), waiting[0] if waiting else None)


def unwritten(parts: Sequence[P]) -> P | None:
    """The part that says that the code is not written or not defined, if that is all that there is to say; else
    None."""
    first = first_failure(parts)
    if first is None or first.kind not in UNWRITTEN:
        return None
    return None if any(part.passed or (part.judged and part is not first) for part in parts) else first


@dataclass(frozen=True)
class Stop:
    """The error at which a cell of the student's stopped: in which line of the cell, counted from 1 (0: not known),
    what stands there, the error's class and its message."""

    line_number: int
    line: str
    error: str
    message: str

    @property
    def why(self) -> str:
        """What was wrong, in the error's own words where it has any."""
        return self.message or self.error


@dataclass(frozen=True)
class ExerciseResult:
    """One exercise."""

    name: str
    points: float
    score: float  # 0 to 1
    parts: tuple[PartResult, ...] = ()
    diagnosis: str | None = None  # the id of the mistake it looks like
    symptom: str = ""  # of that mistake, as are `hints`
    hints: tuple[str, ...] = ()
    first_fix: str = ""  # the earlier exercise that comes first
    first_fix_why: str = ""  # one of `FirstFix`
    output: str = ""  # what the student's code printed
    broken: bool = False  # the check itself failed, for a teacher to look at
    carried: float = 0.0  # the share of `score` that a second check gave
    carried_with: tuple[str, ...] = ()  # the course's own, in place of the student's
    stop: Stop | None = None  # where an earlier cell stopped that would have defined a missing name

    def __post_init__(self) -> None:
        if not 0 <= self.score <= 1:
            raise ValueError(f"{self.name}: got a score of {self.score!r}, expected 0 to 1")

    @property
    def mark(self) -> float:
        """Points earned, to two decimals."""
        return round(self.points * self.score, 2)

    @property
    def passed(self) -> bool:
        return self.score == 1.0

    @property
    def part_points(self) -> tuple[tuple[float, float], ...]:
        """For each part the points earned and possible, to two decimals. They add up to what the exercise earned by
        itself, without what was `carried`, and to the points that it is worth."""
        alone = round(self.points * (self.score - self.carried), 2)
        whole, own = round(100 * self.points), round(100 * alone)
        right = [part.weight * part.passed for part in self.parts]
        left = [part.weight * (not part.passed) for part in self.parts]
        if not math.isclose(sum(right) * self.points, (self.score - self.carried) * self.points * sum(right + left)):
            # The score isn't the sum of the parts, as where something was used that is excluded.
            return tuple((0.0, cents / 100) for cents in divided(whole, [part.weight for part in self.parts]))
        earned, missed = divided(own, right), divided(whole - own, left)
        return tuple((cents / 100, (cents + more) / 100) for cents, more in zip(earned, missed, strict=True))


def divided(cents: int, weights: Sequence[float]) -> list[int]:
    """Whole cents in the proportions of these weights, which add up to `cents`: those that lose most by rounding down
    get one more."""
    total = sum(weights)
    if not total:
        return [0] * len(weights)
    exact = [cents * weight / total for weight in weights]
    found = [math.floor(share) for share in exact]
    order = sorted(range(len(weights)), key=lambda index: found[index] - exact[index])
    for index in order[: cents - sum(found)]:
        found[index] += 1
    return found


@dataclass(frozen=True)
class PartReport(PartResult):
    """One part, with what only the learner's own kernel may see."""

    got: Tensor | None = None  # to show, as is `expected`
    expected: Tensor | None = None
    hints: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report(ExerciseResult):
    """The result of a check in a learner's own kernel."""

    parts: tuple[PartReport, ...] = ()
    forfeited: bool = False  # the code called an excluded function
    traceback: str = ""  # of a fault in the check itself
    remark: str = ""  # a sentence on a right answer, which costs nothing

    @classmethod
    def of(cls, name: str, points: float, parts: tuple[PartReport, ...], **more: Any) -> Self:
        """The report on an exercise, with the score that its parts earn; `more` are other fields."""
        score = 0.0 if more.get("forfeited") or more.get("traceback") else _score(parts)
        return cls(name, points, score, parts, broken=bool(more.get("traceback")), **more)

    def with_parts(self, parts: tuple[PartReport, ...]) -> Self:
        """This report with other parts, and the score that they earn."""
        return replace(self, parts=parts, score=0.0 if self.forfeited or self.broken else _score(parts))

    @property
    def passed(self) -> bool:
        """Whether every part passed."""
        return bool(self.parts) and not self.broken and all(part.passed for part in self.parts)

    @property
    def first_failure(self) -> PartReport | None:
        """The first part that failed; where nothing has failed yet, the first that did not pass; None if all passed."""
        return first_failure(self.parts)

    @property
    def unwritten(self) -> PartReport | None:
        """The part that says that the code is not written or not defined, if that is all that there is to say; else
        None."""
        return unwritten(self.parts)

    def hint(self, number: int = 1) -> str:
        """Hint `number`, from 1; each says more than the one before. A number without a hint gives a sentence on how
        many there are."""
        if 1 <= number <= len(self.hints):
            return self.hints[number - 1]
        return say("Hints for this report: {count}.", count=len(self.hints))


def _score(parts: Sequence[PartResult]) -> float:
    """The share of the points that the parts earn, 0 to 1."""
    total = sum(part.weight for part in parts)
    if not total:
        return 0.0
    passed = all(part.passed for part in parts)
    return 1.0 if passed else sum(part.weight for part in parts if part.passed) / total
