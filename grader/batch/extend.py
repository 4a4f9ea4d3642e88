"""More time for one student, and what that does to their marks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.utils import parse_utc
from sqlalchemy.exc import SQLAlchemyError

from grader.batch.override import require_words
from grader.batch.run import locked
from grader.book.gradebook import LessonGradebook, cause
from grader.book.marks import score_of
from grader.course.class_directory import ClassDirectory
from grader.course.lateness import note_extension
from grader.course.roster import Roster, did_you_mean, full_names
from grader.errors import CommandFailed, CourseError, GradebookUnavailable

A_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass
class Extended:
    """Until when somebody may hand in now (UTC), by how much the due date is `moved`, and by lesson the marks before
    and after, where they differ. `handed_in`: whether something of theirs is in the gradebook."""

    lesson: str
    until: datetime
    moved: timedelta
    handed_in: bool = False
    marks: dict[str, tuple[float, float]] = field(default_factory=dict)


def extend(root: Path, lesson: str, student: str, days: float | None, until: str, why: str = "") -> Extended:
    """Move the due date of a lesson for one student: by so many days, or else until a day and hour (UTC if no zone
    is named; with a day alone, the hour stays). `why` goes into the file of extensions. `CourseError` where there is
    no such student, due date or day, or the work is due later already; `CommandFailed` if the gradebook can't be
    written."""
    if why:
        require_words(why)
    course = ClassDirectory(root, lesson)
    course.share()
    layout = course.layout
    with locked(course.root), _writing(), Gradebook(layout.db_url, layout.course_id) as book:
        _require_known(course.root, book, student)
        due = _due(book, course.lesson)
        moved = timedelta(days=days) if days is not None else _time(until, due) - due
        if moved < timedelta():
            raise CourseError(
                f"--until {until}: {course.lesson} is due later than that already, on {due:%Y-%m-%d %H:%M} UTC."
            )
        outcome = Extended(course.lesson, due + moved, moved)
        before = dict(_scores(book, student))
        note_extension(course.root, course.lesson, student, moved, why.strip())
        try:
            book.find_submission(course.lesson, student).extension = moved
        except MissingEntry:
            return outcome  # it is in the file, and counts as soon as something comes
        book.db.commit()
        outcome.handed_in = True
        with LessonGradebook(layout.db_url, layout.course_id, course.lesson, course.config) as lesson_book:
            lesson_book.refresh_lateness({})
        book.db.expire_all()
        after = dict(_scores(book, student))
    outcome.marks = {name: (before[name], mark) for name, mark in after.items() if before.get(name) != mark}
    return outcome


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except (SQLAlchemyError, GradebookUnavailable) as error:
        why = cause(error) if isinstance(error, SQLAlchemyError) else error
        raise CommandFailed(f"The gradebook can't be written to just now ({why}). Run the command again.") from error


def _require_known(course: Path, book: Any, student: str) -> None:
    people = {
        str(student.id): f"{student.first_name or ''} {student.last_name or ''}".strip() for student in book.students
    }
    people |= full_names(Roster.of(course).people)
    if student not in people:
        raise CourseError(f"Nobody in the course is called {student!r}.{did_you_mean(student, people)}")


def _due(book: Any, lesson: str) -> datetime:
    try:
        due: datetime | None = book.find_assignment(lesson).duedate
    except MissingEntry:
        due = None
    if due is None:
        raise CourseError(
            f"The gradebook has no due date for {lesson}, so there is nothing to move. Set one: "
            f'nbgrader db assignment add {lesson} --duedate "2026-11-22 22:00 UTC"'
        )
    return due


def _time(until: str, due: datetime) -> datetime:
    """A day and hour as UTC without a zone; a day alone has the hour of the due date. `CourseError` if it is
    neither."""
    try:
        if A_DAY.fullmatch(until.strip()):
            return datetime.combine(datetime.fromisoformat(until.strip()), due.time())
        return datetime.combine((time := parse_utc(until)).date(), time.time())
    except (ValueError, OverflowError, TypeError):
        example = f"{datetime.now(UTC):%Y-%m-%d} 22:00 UTC"
        raise CourseError(f'--until {until!r}: expected a day, or a day and a time, for example "{example}".') from None


def _scores(book: Any, student: str) -> Iterator[tuple[str, float]]:
    """By lesson, the student's mark in the gradebook, in points; nothing if it doesn't know the student."""
    try:
        for submission in book.find_student(student).submissions:
            yield submission.assignment.name, round(score_of(submission), 2)
    except MissingEntry:
        return
