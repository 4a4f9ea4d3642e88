"""The results of a lesson, counted. Knows nothing of students' names, of files and of pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from grader.judge.result import SubmissionMark, SubmissionResult
from grader.report import ExerciseResult


@dataclass(frozen=True)
class PartRow:
    """One part of an exercise. `points` is what the part is worth, `passed` the share of the class, 0 to 1, that passes
    it."""

    name: str
    points: float
    passed: float


@dataclass(frozen=True)
class ExerciseRow:
    """One exercise."""

    name: str
    points: float  # that it is worth
    mean: float  # in points
    full: float  # share of the class with all points, 0 to 1
    none: float  # share with no points, 0 to 1
    parts: tuple[PartRow, ...]

    @property
    def success(self) -> float:
        """The share of the points that the class earned, 0 to 1."""
        return self.mean / self.points if self.points else 1.0


@dataclass(frozen=True)
class MistakeRow:
    """A named mistake in an exercise, its symptom in words, and in how many submissions it is."""

    exercise: str
    mistake: str
    symptom: str
    count: int


@dataclass(frozen=True)
class StopRow:
    """An error at which cells stopped, and which cost points: what stands in the line, what was wrong, the exercises
    that lack points because of it, and the submissions, each by the student's id."""

    line: str
    why: str
    exercises: tuple[str, ...]
    students: tuple[str, ...]


@dataclass(frozen=True)
class Summary:
    """The results of a lesson, counted."""

    graded: int  # all submissions
    unreadable: int  # those that can't be read
    full: int  # those with all points
    mean: float  # mark, in points
    points: float  # that the lesson is worth
    broken: int  # checks that failed by the course's own fault and want a teacher's eye
    exercises: tuple[ExerciseRow, ...]
    mistakes: tuple[MistakeRow, ...]


def summarise(results: Sequence[SubmissionResult], marks: Sequence[SubmissionMark] = ()) -> Summary:
    """Count the results of one lesson; exercises in the lesson's order, the most frequent mistakes first. `marks` are
    what a gradebook says of the same submissions, and points come from there; without any they are the judge's."""
    marks = marks or [result.by_judge() for result in results]
    names = dict.fromkeys(exercise.name for result in results for exercise in result.exercises)
    names |= dict.fromkeys(name for mark in marks for name in mark.cells)
    found = {
        name: [exercise for result in results for exercise in result.exercises if exercise.name == name]
        for name in names
    }
    earned = {name: [mark.cells[name] for mark in marks if name in mark.cells] for name in names}
    return Summary(
        graded=len(results),
        unreadable=sum(bool(result.unreadable) for result in results),
        full=sum(mark.score >= mark.points for mark in marks),
        mean=mean(mark.score for mark in marks) if marks else 0.0,
        points=max((mark.points for mark in marks), default=0.0),
        broken=sum(result.broken for every in found.values() for result in every),
        exercises=tuple(_row(name, found[name], earned[name]) for name in names if earned[name]),
        mistakes=_mistakes([result for every in found.values() for result in every]),
    )


def stops_of(results: Mapping[str, SubmissionResult]) -> tuple[StopRow, ...]:
    """The errors at which cells stopped and which cost points, by students' results; the most frequent first."""
    rows: dict[tuple[str, str], StopRow] = {}
    for student, result in results.items():
        for stop, exercises in result.stops.items():
            before = rows.get((stop.line, stop.why), StopRow(stop.line, stop.why, (), ()))
            every = tuple(dict.fromkeys((*before.exercises, *exercises)))
            students = tuple(dict.fromkeys((*before.students, student)))
            rows[stop.line, stop.why] = StopRow(stop.line, stop.why, every, students)
    return tuple(sorted(rows.values(), key=lambda row: -len(row.students)))


def _row(name: str, every: list[ExerciseResult], earned: list[tuple[float, float]]) -> ExerciseRow:
    worth = max(points for _score, points in earned)
    return ExerciseRow(
        name,
        worth,
        mean(score for score, _points in earned),
        mean(score >= points for score, points in earned),
        mean(score == 0 for score, _points in earned),
        _parts(every, worth),
    )


def _parts(every: list[ExerciseResult], worth: float) -> tuple[PartRow, ...]:
    """The parts that are worth points of an exercise that is worth `worth`, with the share of the whole class that
    passes each: a submission that could not be checked passes none."""
    parts = {part.name: part for result in every for part in result.parts if part.weight > 0}
    whole = sum(part.weight for part in parts.values())
    passed = Counter(part.name for result in every for part in result.parts if part.passed)
    return tuple(
        PartRow(name, round(worth * part.weight / whole, 2), passed[name] / len(every)) for name, part in parts.items()
    )


def _mistakes(every: list[ExerciseResult]) -> tuple[MistakeRow, ...]:
    # A mistake that an exercise has from an earlier one of the student's is counted there.
    named = [result for result in every if result.diagnosis and not result.first_fix]
    counts = Counter((result.name, result.diagnosis or "") for result in named)
    symptoms = {(result.name, result.diagnosis or ""): result.symptom for result in named}
    rows = [MistakeRow(*key, symptoms[key], count) for key, count in counts.items()]
    return tuple(sorted(rows, key=lambda row: -row.count))
