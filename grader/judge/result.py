"""What the judge says about one submission: plain data, ready for JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from grader.plain import made
from grader.report.words import state_of

# What a submission's code was held by.
CONFINED, IN_BUBBLEWRAP, UNSAFE = "confined", "confined in bubblewrap", "unsafe"


@dataclass(frozen=True)
class PartResult:
    """One part of an exercise. `message` says why it failed, in words that hold nothing of the judge's inputs. `judged`
    is False where something else has to come first: it has neither passed nor failed, and earns nothing."""

    name: str
    passed: bool
    weight: float
    kind: str = ""
    message: str = ""
    judged: bool = True

    @property
    def state(self) -> str:
        """One of "passed", "failed", "not judged yet"."""
        return state_of(self.passed, self.judged)


@dataclass(frozen=True)
class ExerciseResult:
    """One exercise. `score` is 0 to 1. `diagnosis` is the named mistake or None; `output` what the student's own code
    printed; `broken` that the check itself failed, which needs a teacher's eye."""

    name: str
    points: float
    score: float
    parts: tuple[PartResult, ...] = ()
    diagnosis: str | None = None
    symptom: str = ""
    hints: tuple[str, ...] = ()
    first_fix: str = ""
    first_fix_why: str = ""
    output: str = ""
    broken: bool = False

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


@dataclass(frozen=True)
class SubmissionResult:
    """One submission. `notes` are sentences on what was odd about the notebook; `unreadable` why nothing could be
    graded; `confinement` is one of the words above; `timed_out` says whether anything took too long, which on a busy
    machine may be a neighbour's doing."""

    exercises: tuple[ExerciseResult, ...]
    notes: tuple[str, ...] = ()
    unreadable: str = ""
    confinement: str = CONFINED
    timed_out: bool = False
    seconds: float = 0.0

    @property
    def mark(self) -> float:
        return round(sum(exercise.mark for exercise in self.exercises), 2)

    @property
    def points(self) -> float:
        return sum(exercise.points for exercise in self.exercises)

    def __getitem__(self, name: str) -> ExerciseResult:
        return next(exercise for exercise in self.exercises if exercise.name == name)

    def to_plain(self) -> dict[str, Any]:
        """As dicts and tuples."""
        exercises = tuple({**vars(e), "parts": tuple(dict(vars(part)) for part in e.parts)} for e in self.exercises)
        return {**vars(self), "exercises": exercises}

    @classmethod
    def from_plain(cls, data: dict[str, Any]) -> SubmissionResult:
        """The inverse of `to_plain`, also after a trip through JSON; `ValueError` for anything else."""
        result: SubmissionResult = made(cls, data, "result")
        return result
