"""More time for one student, and what that does to their marks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook, MissingEntry

from grader.book.gradebook import LessonGradebook, reached
from grader.book.marks import score_of
from grader.book.override import require_words
from grader.course.class_directory import ClassDirectory
from grader.course.lateness import note_extension
from grader.course.lock import locked
from grader.course.moments import Moment, in_words, moment
from grader.course.roster import Roster, did_you_mean, full_names
from grader.errors import CourseError, UnknownLesson
from grader.nbgrader_settings import programs_on_path


@dataclass
class Extended:
    """What an extension changed."""

    lesson: str
    until: datetime  # when they may hand in now, UTC
    moved: timedelta  # by how much the due date is another one
    zone: tzinfo | None = None  # in which it was written; None if in none
    handed_in: bool = False  # whether something of theirs is in the gradebook
    marks: dict[str, tuple[float, float]] = field(default_factory=dict)  # by lesson before and after, where they differ


def extend(root: Path, lesson: str, student: str, days: float | None, until: str, why: str = "") -> Extended:
    """Move the due date of a lesson for one student: by so many days, or else until a time as people write it
    (`grader.course.moments`; with a day alone, the hour stays). `why` goes into the file of extensions. `CourseError`
    where there is no such student, due date or day, or the work is due later already; `CommandFailed` if the gradebook
    can't be written."""
    if why:
        require_words(why)
    course = ClassDirectory(root, lesson)
    course.share()
    layout = course.layout
    with locked(course.root), reached(), Gradebook(layout.db_url, layout.course_id) as book:
        _require_known(course.root, book, student)
        due = _due(book, course.lesson)
        then = Moment(due + timedelta(days=days)) if days is not None else moment(until, "--until", due)
        moved = then.utc - due
        if moved < timedelta():
            raise CourseError(
                f"--until {until}: {course.lesson} is due later than that already, on {in_words(due, then.zone)}."
            )
        outcome = Extended(course.lesson, then.utc, moved, then.zone)
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


@dataclass(frozen=True)
class DueDate:
    """When a lesson is `due` now, and by student the marks before and after, where they differ."""

    lesson: str
    due: Moment
    marks: dict[str, tuple[float, float]]


def set_due(root: Path, lesson: str, time: str) -> DueDate:
    """Set when a lesson is due for everybody; `time` is a time as people write it (`grader.course.moments`).
    `CourseError` if it is none, `CommandFailed` if the gradebook can't be written."""
    course = ClassDirectory(root, lesson)
    course.share()
    layout, then = course.layout, moment(time, "TIME")
    programs_on_path()
    with locked(course.root), reached():
        with Gradebook(layout.db_url, layout.course_id) as book:
            book.update_or_create_assignment(course.lesson, duedate=then.utc)
        try:
            with LessonGradebook(layout.db_url, layout.course_id, course.lesson, course.config) as lesson_book:
                before = lesson_book.marks()
                lesson_book.refresh_lateness({})
                after = lesson_book.marks()
        except UnknownLesson:  # it was never handed out
            return DueDate(course.lesson, then, {})
    pairs = {who: (mark.score, after[who].score) for who, mark in before.items()}
    return DueDate(course.lesson, then, {who: pair for who, pair in pairs.items() if pair[0] != pair[1]})


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
            f'grader course due DIR {lesson} "2026-11-22 22:00 UTC"'
        )
    return due


def _scores(book: Any, student: str) -> Iterator[tuple[str, float]]:
    """By lesson, the student's mark in the gradebook, in points; nothing if it doesn't know the student."""
    try:
        for submission in book.find_student(student).submissions:
            yield submission.assignment.name, round(score_of(submission), 2)
    except MissingEntry:
        return
