"""One person's mark by hand, with the reason in the feedback and in the audit log."""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass
from pathlib import Path

from nbgrader.api import Gradebook

from grader.book import audit
from grader.book.regrade_book import RegradeBook
from grader.course.class_directory import ClassDirectory, course_layout
from grader.course.lock import locked
from grader.course.release import exercise_of
from grader.course.roster import did_you_mean
from grader.errors import CourseError
from grader.lesson_names import choose
from grader.printable import printable
from grader.report.data import divided

MOST_WORDS = 2000  # characters of a reason


@dataclass(frozen=True)
class Override:
    """What an override changed."""

    lesson: str
    before: float | None  # the points of the cell, or of the lesson, before; None for no mark
    points: float  # that the cell, or the lesson, is worth
    mark_before: float | None  # of the lesson, its late penalty taken off
    mark_after: float
    has_comment: bool  # a cell has a comment, in which the reason is


def require_words(why: str) -> None:
    """Raise `CourseError` where `why` is no reason that a student could read: empty, too long, or not printable."""
    if not why.strip() or len(why) > MOST_WORDS or not all(c.isprintable() or c == "\n" for c in why):
        raise CourseError(f"--why: expected a reason in words, at most {MOST_WORDS} characters.")


def override(root: Path, student: str, exercise: str, points: float, why: str, lesson: str = "") -> Override:
    """Give a student so many points by hand for an exercise, or for a whole lesson, whose name or number stands in
    place of `exercise`: its cells then share the points in proportion. They needn't have handed anything in. `lesson`
    says in which lesson the exercise is, where several have it. `CourseError` where there is no such student, exercise,
    reason or number of points, or work that isn't graded yet; `CommandFailed` if the gradebook can't be written."""
    require_words(why)
    name, whole = _lesson(root, student, exercise, lesson)
    course = ClassDirectory(root, name)
    course.share()
    layout = course.layout
    with (
        locked(course.root),
        RegradeBook(layout.db_url, layout.course_id, course.lesson, course.config) as book,
    ):
        if not book.rows([student]) and course.submission(student).folder.names():
            raise CourseError(
                f"{printable(student)} has handed something in for {course.lesson} that isn't graded yet. First: "
                f"grader autograde {root} {course.lesson}"
            )
        worth = {cell: most for cell, most in book.points().items() if whole or cell == exercise}
        most = sum(worth.values())
        if not (math.isfinite(points) and 0 <= points <= most):
            raise CourseError(f"{exercise}: got {points:g} points, expected 0 to {most:g}.")
        cents = divided(round(100 * points), [*worth.values()])
        given = {cell: share / 100 for cell, share in zip(worth, cents, strict=True)} if whole else {exercise: points}
        said = f"{points:g} of {most:g} points, given by hand: {why.strip()}"
        with book.override(student, given, said) as trial:
            before, after = trial.before.get(student), trial.after[student]
            was = before.cells if before else {}
            cells: audit.Cells = {cell: (was.get(cell, (0.0, 0.0))[0], after.cells[cell][0]) for cell in given}
            rows = (trial.rows_before.get(student, {}), trial.rows_after[student])
            noted = audit.Noted(before.score if before else 0.0, after.score, cells, why.strip(), rows=rows)
            audit.add(course.root, course.lesson, audit.OVERRIDE, {student: noted})
    has_comment = any(cell in trial.rows_after[student]["comment"] for cell in given)
    points_before = sum(pair[0] for pair in cells.values()) if before else None
    return Override(course.lesson, points_before, most, before.score if before else None, after.score, has_comment)


def _lesson(root: Path, student: str, exercise: str, wanted: str) -> tuple[str, bool]:
    """The lesson that has an exercise, or a teacher's own cell, of this name, among all or only in the one `wanted`;
    and whether the whole lesson is meant, since that is what `exercise` names. `CourseError` if there is no such
    student, lesson or exercise, or if several lessons have it."""
    layout = course_layout(root)
    with Gradebook(layout.db_url, layout.course_id) as book:
        people = {
            str(student.id): f"{student.first_name or ''} {student.last_name or ''}".strip()
            for student in book.students
        }
        if student not in people:
            raise CourseError(f"The gradebook has no student {student!r}.{did_you_mean(student, people)}")
        cells = {
            lesson.name: {
                exercise_of(cell.name)
                for notebook in lesson.notebooks
                for cell in (*notebook.grade_cells, *notebook.task_cells)
            }
            for lesson in book.assignments
        }
    name = choose(wanted, list(cells)) if wanted else None
    if wanted and name is None:
        raise CourseError(f"--lesson {wanted} isn't a lesson in the gradebook ({', '.join(cells) or 'none yet'}).")
    if exercise not in set().union(*cells.values()) and (lesson := choose(exercise, list(cells))):
        return lesson, True
    found = [lesson for lesson, names in cells.items() if exercise in names and lesson == (name or lesson)]
    if not found:
        close = difflib.get_close_matches(exercise, sorted(set().union(*cells.values())), n=1)
        meant = f" Did you mean {close[0]}?" if close else ""
        raise CourseError(f"{name or 'The gradebook'} has no exercise {exercise!r}.{meant}")
    if len(found) > 1:
        raise CourseError(f"{exercise!r} is in {', '.join(found)}; say which with --lesson.")
    return found[0], False
