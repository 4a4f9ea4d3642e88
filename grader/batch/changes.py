"""Whose marks a regrade changes, from what to what, and why: the new results beside those that count now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.book.regrade_book import JUDGE, TEACHER, GradebookDiff
from grader.course.release import CHECK
from grader.judge.result import SubmissionResult
from grader.report import ExerciseResult, PartResult
from grader.report.words import STATES


@dataclass(frozen=True)
class PartChange:
    """A part of an exercise that is in another state than before: "passed", "failed", "not judged yet", or "none" where
    there was, or is, no such part. `message` says why it fails now."""

    part: str
    before: str
    after: str
    message: str = ""


@dataclass(frozen=True)
class ExerciseChange:
    """The points of one exercise, or of a teacher's own cell, before and after a regrade."""

    exercise: str
    before: float
    after: float
    points: float  # that it is worth
    parts: tuple[PartChange, ...] = ()
    why: tuple[str, ...] = ()  # sentences
    kept: bool = False  # the points would go down, and stay unless that is asked for
    by_hand: bool = False  # a teacher gave others, which stay; only the judge's are told here

    @property
    def moves(self) -> bool:
        """Whether accepting the regrade changes this exercise's points."""
        return not (self.kept or self.by_hand)


@dataclass(frozen=True)
class StudentChange:
    """One student's mark of the lesson, in points."""

    student: str
    before: float  # the mark as it is
    after: float  # as it would be after an acceptance
    also_down: float  # after one with `--also-down`
    exercises: tuple[ExerciseChange, ...]  # those whose points differ

    @property
    def moves(self) -> bool:
        """Whether accepting the regrade changes the student's mark."""
        return any(exercise.moves for exercise in self.exercises)


def student_change(
    student: str,
    was: SubmissionResult,
    now: SubmissionResult,
    whole: GradebookDiff,
    offered: GradebookDiff,
    kept: tuple[str, ...],
) -> StudentChange:
    """What a regrade changes for one student, whose results are `was` and `now`: all new results together would give
    what `whole` says; an acceptance, where the cells in `kept` stay, gives what `offered` says."""
    before, after = whole.before[student], whole.after[student]
    rows = whole.rows_before[student]["grade"]
    exercises = []
    for name, (points, most) in after.cells.items():
        had = before.cells.get(name, (0.0, most))[0]
        teachers = rows.get(f"{name}{CHECK}", rows.get(name, [None, None]))
        by_hand = teachers[TEACHER] is not None
        if by_hand:  # the mark stays: what the judge says now is told beside it
            judged = _judged(now, name, most)
            if teachers[JUDGE] is None or judged is None:
                continue
            had, points = round(teachers[JUDGE], 2), judged
        if had == points:
            continue
        parts, why = _reasons(was, now, name, most)
        is_kept = name in kept and not by_hand
        exercises.append(ExerciseChange(name, had, points, most, parts, why, is_kept, by_hand))
    return StudentChange(student, before.score, offered.after[student].score, after.score, tuple(exercises))


def _judged(result: SubmissionResult, name: str, most: float) -> float | None:
    """The points that the judge alone gives for a cell that is worth `most`; None if it doesn't judge that cell."""
    given = [round(most * exercise.score, 2) for exercise in result.exercises if exercise.name == name]
    given += [test.mark(most) for test in result.tests if test.grade_id == name]
    return given[0] if given else None


def _reasons(
    was: SubmissionResult, now: SubmissionResult, name: str, most: float
) -> tuple[tuple[PartChange, ...], tuple[str, ...]]:
    """Why an exercise that is worth `most` has other points: the parts whose state has changed, and sentences."""
    why = []
    if was.unreadable != now.unreadable:
        why.append(now.unreadable or f"The notebook could not be read before: {was.unreadable}")
    old, new = (
        next((exercise for exercise in result.exercises if exercise.name == name), None) for result in (was, now)
    )
    if new is not None:
        parts = _part_changes(old, new)
        if old is not None and old.points != most:
            why.append(f"worth {old.points:g} → {most:g} points")
        return parts, (*why, *_sentences(old, new, parts, most))
    tests = {test.grade_id: test for test in was.tests}
    for test in now.tests:
        if test.grade_id == name and test != tests.get(name):
            why.append("the test now passes" if test.passed else f"the test does not pass: {test.message}".rstrip(": "))
    return (), tuple(why)


def _part_changes(old: ExerciseResult | None, new: ExerciseResult) -> tuple[PartChange, ...]:
    before = {part.name: part for part in old.parts} if old else {}
    after = {part.name: part for part in new.parts}
    pairs = [(name, before.get(name), after.get(name)) for name in dict.fromkeys((*before, *after))]
    return tuple(
        PartChange(name, _state(was), _state(now), now.message if now else "")
        for name, was, now in pairs
        if _state(was) != _state(now)
    )


def _state(part: PartResult | None) -> str:
    return "none" if part is None else STATES[part.state]


def _sentences(
    old: ExerciseResult | None, new: ExerciseResult, parts: Sequence[PartChange], most: float
) -> Iterator[str]:
    if old is None:
        yield "it wasn't checked before"
        return
    shares = [{part.name: part.weight for part in result.parts} for result in (old, new)]
    if any(shares[0].get(name, weight) != weight for name, weight in shares[1].items()):
        yield "the weights of its parts have changed"
    if old.diagnosis != new.diagnosis:
        yield f"named mistake: {old.diagnosis or 'none'} → {new.diagnosis or 'none'}"
    if old.carried != new.carried:
        points = (round(result.carried * most, 2) for result in (old, new))
        yield f"carried forward: {' → '.join(f'{value:g}' for value in points)} points"
    if not parts and new.output and new.score < old.score:
        yield new.output.strip().splitlines()[-1]
