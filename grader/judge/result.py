"""What the judge says about one submission: plain data, ready for JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from grader.plain import as_plain, made
from grader.report.data import ExerciseResult, Stop

# A course's setting: what counts of the points that an exercise would earn if the earlier one that it calls were right.
CARRY_FORWARD = {"none": 0.0, "half": 0.5, "full": 1.0}
# What a submission's code was held by.
CONFINED, IN_BUBBLEWRAP, UNSAFE = "confined", "confined in bubblewrap", "unsafe"


@dataclass(frozen=True)
class TestResult:
    """A test cell of the teacher's own."""

    grade_id: str
    passed: bool
    value: float | None = None  # the number that it ends with, the points it then gives; None if it ends with none
    message: str = ""
    broken: bool = False  # it could not be run, by a fault of ours

    def mark(self, points: float) -> float:
        """The points earned, to two decimals, where the cell is worth `points`."""
        if not self.passed:
            return 0.0
        return round(points if self.value is None else min(max(self.value, 0.0), points), 2)


@dataclass(frozen=True)
class SubmissionMark:
    """What one submission earns in the gradebook, in points."""

    score: float  # the sum of all cells, before the late penalty is taken off
    points: float
    cells: Mapping[str, tuple[float, float]]  # earned and possible, by exercise or by a teacher's own cell
    penalty: float = 0.0  # for being late
    by_hand: tuple[str, ...] = ()  # the cells that wait for a teacher


@dataclass(frozen=True)
class SubmissionResult:
    """One submission."""

    exercises: tuple[ExerciseResult, ...]
    notes: tuple[str, ...] = ()  # sentences on what was odd about the notebook
    unreadable: str = ""  # why nothing could be graded; "" if it was
    confinement: str = CONFINED  # one of the words above
    timed_out: bool = False  # whether anything took too long; on a busy machine that may be a neighbour's doing
    seconds: float = 0.0  # that it took
    tests: tuple[TestResult, ...] = ()  # of a teacher's own

    @property
    def mark(self) -> float:
        return round(sum(exercise.mark for exercise in self.exercises), 2)

    @property
    def broken(self) -> tuple[str, ...]:
        """The names of the exercises and of the teacher's own tests whose check itself failed."""
        tests = (test.grade_id for test in self.tests if test.broken)
        return (*(exercise.name for exercise in self.exercises if exercise.broken), *tests)

    @property
    def points(self) -> float:
        return sum(exercise.points for exercise in self.exercises)

    def with_remarks(self, remarks: Sequence[str]) -> SubmissionResult:
        """This result with these sentences, on which notebook was graded, among its notes."""
        return replace(self, notes=(*remarks, *self.notes))

    def mark_in(self, cells: Mapping[str, tuple[float, float]]) -> float:
        """The points that the judge gives, without a teacher's own, in a course whose `cells` have (earned, possible)
        points by name."""
        given = [
            round(cells[exercise.name][1] * exercise.score, 2) for exercise in self.exercises if exercise.name in cells
        ]
        given += [test.mark(cells[test.grade_id][1]) for test in self.tests if test.grade_id in cells]
        return round(sum(given), 2)

    def by_judge(self) -> SubmissionMark:
        """The mark by the judge's own points, for a submission that no gradebook has."""
        return SubmissionMark(
            self.mark, self.points, {exercise.name: (exercise.mark, exercise.points) for exercise in self.exercises}
        )

    def worth(self, points: Mapping[str, float]) -> SubmissionResult:
        """This result where a course has given exercises other points, by their names."""
        exercises = tuple(
            replace(exercise, points=points.get(exercise.name, exercise.points)) for exercise in self.exercises
        )
        return replace(self, exercises=exercises)

    def __getitem__(self, name: str) -> ExerciseResult:
        return next(exercise for exercise in self.exercises if exercise.name == name)

    @property
    def stops(self) -> dict[Stop, tuple[str, ...]]:
        """The lines at which cells stopped and which cost points, each with the exercises that lack them."""
        found: dict[Stop, tuple[str, ...]] = {}
        for exercise in self.exercises:
            if exercise.stop is not None:
                found[exercise.stop] = (*found.get(exercise.stop, ()), exercise.name)
        return found

    def to_plain(self) -> dict[str, Any]:
        """The result as dicts, tuples, text and numbers, for the log and the pipe."""
        plain: dict[str, Any] = as_plain(self)
        return plain

    @classmethod
    def from_plain(cls, data: dict[str, Any]) -> SubmissionResult:
        """The inverse of `to_plain`, also after a trip through JSON; `ValueError` for anything else."""
        result: SubmissionResult = made(cls, data, "result")
        return result
