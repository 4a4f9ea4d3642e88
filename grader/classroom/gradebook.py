"""nbgrader's gradebook: where a mark enters it, and what it says of the released notebook.

`record` is the one place where marks and comments are set, for `nbgrader autograde` and for `grader autograde`. Marks,
extra credit and comments given by hand stay.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Any

from nbgrader import api
from nbgrader.preprocessors import AssignLatePenalties
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import object_session

from grader.classroom.feedback import comment_on
from grader.classroom.rebuild import Release
from grader.classroom.settings import programs_on_path
from grader.errors import CommandFailed, CourseError
from grader.judge.result import SubmissionResult


def record(submitted: Any, result: SubmissionResult, config: Any) -> None:
    """Set the marks, comments and late penalty of one submission, an `api.SubmittedNotebook`. Commits nothing.

    A check's cell has the grade id `EXERCISE-check`, a solution's `EXERCISE`. A grade that no exercise belongs to and
    that has no mark yet waits for a mark by hand.
    """
    exercises = {exercise.name: exercise for exercise in result.exercises}
    for grade in submitted.grades:
        exercise = exercises.get(grade.name.removesuffix("-check"))
        if exercise is not None:
            grade.auto_score = round(grade.cell.max_score * exercise.score, 2)
            # A mark given by hand is kept, but was given to something else: worth a look, as nbgrader has it.
            grade.needs_manual_grade = exercise.broken or grade.manual_score is not None
        elif grade.auto_score is None and grade.manual_score is None:
            grade.needs_manual_grade = True
    for comment in submitted.comments:
        if comment.name in exercises:
            comment.auto_comment = comment_on(exercises[comment.name], result)
    submitted.late_submission_penalty = _late_penalty(submitted, config)


def _late_penalty(submitted: Any, config: Any) -> float | None:
    """By nbgrader's own plug-in or the course's."""
    late = submitted.assignment.total_seconds_late
    if late <= 0:
        return None
    session = object_session(submitted)
    assert session is not None
    session.flush()
    session.refresh(submitted, ["score"])  # the database adds the marks up
    assign = AssignLatePenalties(config=config)
    assign.init_plugin()
    penalty = assign.plugin_inst.late_submission_penalty(submitted.student.id, submitted.score, late)
    return None if penalty is None else min(max(penalty, 0), submitted.score)


def release_of(notebook: Any) -> Release:
    """Of an `api.Notebook`."""
    points = {cell.name: cell.max_score for cell in (*notebook.grade_cells, *notebook.task_cells)}
    cells = {
        cell.name: {
            "checksum": cell.checksum,
            "locked": cell.locked,
            "source": cell.source,
            "points": points.get(cell.name),
        }
        for cell in notebook.source_cells
    }
    return Release(json.loads(notebook.kernelspec or "{}"), cells)


class Unavailable(RuntimeError):
    """The database can't be written now: locked, gone, or written by another. Nothing of the batch was stored."""


@dataclass(frozen=True)
class Entry:
    """What is stored of one submission. `timestamp` is when it was handed in, if known."""

    student: str
    result: SubmissionResult
    timestamp: datetime | None = None


class LessonGradebook:
    """The gradebook at `url`, for one lesson; a context manager. It stores a batch of results in one transaction."""

    def __init__(self, url: str, course_id: str, lesson: str, config: Any) -> None:
        programs_on_path()
        self._lesson, self._config = lesson, config
        try:
            self._book = api.Gradebook(url, course_id)
            notebook = self._notebook()
            self.release = release_of(notebook)
            self._checks = {
                cell.id: cell.name.removesuffix("-check")
                for cell in notebook.grade_cells
                if cell.name.endswith("-check")
            }
            self._book.db.rollback()
        except SQLAlchemyError as error:
            raise CommandFailed(f"The gradebook can't be opened: {_cause(error)}") from error

    def _notebook(self) -> Any:
        try:
            return self._book.find_notebook(self._lesson, self._lesson)
        except api.MissingEntry:
            raise CourseError(
                f"The gradebook doesn't know {self._lesson} yet: nbgrader generate_assignment {self._lesson}"
            ) from None

    def require(self, exercises: Iterable[str]) -> None:
        """Refuse where the instructor's notebook has changed since it was released."""
        missing = [name for name in exercises if name not in self._checks.values()]
        if missing:
            raise CourseError(
                f"The gradebook doesn't know {', '.join(missing)}: source/{self._lesson} has changed since "
                f"`nbgrader generate_assignment {self._lesson}`."
            )

    def store(self, entries: Sequence[Entry]) -> None:
        """Store a batch in one transaction; `Unavailable` if that can't be done now."""
        session = self._book.db
        try:
            notebook = self._notebook()
            rows = self._submitted(notebook, {entry.student for entry in entries})
            rows |= {one.student: self._add(notebook, one.student) for one in entries if one.student not in rows}
            session.flush()
            for entry in entries:
                submitted = rows[entry.student]
                submitted.assignment.timestamp = entry.timestamp or submitted.assignment.timestamp
                record(submitted, entry.result, self._config)
            session.commit()
        except SQLAlchemyError as error:
            session.rollback()
            if getattr(getattr(error, "orig", None), "sqlite_errorcode", 0) == sqlite3.SQLITE_FULL:
                raise CommandFailed(f"{_cause(error)}. What was graded is kept: make room and run it again.") from error
            raise Unavailable(_cause(error)) from error
        except BaseException:
            session.rollback()
            raise

    def _submitted(self, notebook: Any, students: set[str]) -> dict[str, Any]:
        """The lesson's notebook of those who have handed in before, by student."""
        one, assignment = api.SubmittedNotebook, api.SubmittedAssignment
        query = (
            select(assignment.student_id, one)
            .join(assignment, one.assignment_id == assignment.id)
            .where(one.notebook_id == notebook.id, assignment.student_id.in_(students))
        )
        return {row.student_id: row[1] for row in self._book.db.execute(query)}

    def _add(self, notebook: Any, student: str) -> Any:
        """The rows of somebody's first submission, as nbgrader's `add_submission` makes them, but without a commit."""
        session = self._book.db
        with session.no_autoflush:  # half of them at a time would not fit together
            person = session.get(api.Student, student) or api.Student(id=student)
            assignment = api.SubmittedAssignment(assignment=notebook.assignment, student=person)
            for every in notebook.assignment.notebooks:
                submitted = api.SubmittedNotebook(notebook=every, assignment=assignment)
                for cell in (*every.grade_cells, *every.task_cells):
                    api.Grade(cell_id=cell.id, notebook=submitted)
                for cell in (*every.solution_cells, *every.task_cells):
                    api.Comment(cell_id=cell.id, notebook=submitted)
            session.add(assignment)
            return next(submitted for submitted in assignment.notebooks if submitted.notebook is notebook)

    def complete(self) -> set[str]:
        """The students who have a mark for every exercise."""
        left = select(api.Grade.id).where(
            api.Grade.notebook_id == api.SubmittedNotebook.id,
            api.Grade.cell_id.in_(self._checks),
            api.Grade.auto_score.is_(None),
        )
        query = (
            select(api.SubmittedAssignment.student_id)
            .join(api.SubmittedNotebook, api.SubmittedNotebook.assignment_id == api.SubmittedAssignment.id)
            .where(api.SubmittedNotebook.notebook_id == self._notebook().id, ~left.exists())
        )
        students = set(self._book.db.scalars(query))
        self._book.db.rollback()
        return students

    def close(self) -> None:
        """Close the connection."""
        self._book.close()

    def __enter__(self) -> LessonGradebook:
        return self

    def __exit__(self, *_error: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()


def _cause(error: SQLAlchemyError) -> str:
    return str(getattr(error, "orig", None) or error).strip().splitlines()[0]
