"""The one writer of nbgrader's gradebook: a transaction a batch, through nbgrader's own models.

Only `auto_score`, `auto_comment`, the penalty and the flag "needs a look" are set: marks, extra credit and comments
given by hand stay.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from grader.batch.finish import Release
from grader.batch.models import nbgrader
from grader.errors import CourseError, FoundWanting
from grader.judge.result import Result

# Of a released cell.
TOLD = ("checksum", "locked", "source")


class Unavailable(RuntimeError):
    """The database can't be written now: locked, gone, or written by another. Nothing of the batch was stored."""


@dataclass(frozen=True)
class Entry:
    """What is stored of one submission. `comments` by exercise; `timestamp` is when it was handed in, if known."""

    student: str
    result: Result
    comments: Mapping[str, str]
    timestamp: datetime | None = None


class Gradebook:
    """The gradebook at `url`, for one lesson; a context manager. `release` is what it says of the released notebook."""

    def __init__(self, url: str, course_id: str, lesson: str, config: Any) -> None:
        # nbgrader calls alembic by its name when it makes a gradebook.
        os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
        self._api, self._lesson, self._config = nbgrader("api"), lesson, config
        try:
            self._book = self._api.Gradebook(url, course_id)
            self._read_release()
        except SQLAlchemyError as error:
            raise FoundWanting(f"The gradebook can't be opened: {_cause(error)}") from error

    def _read_release(self) -> None:
        try:
            notebook = self._book.find_notebook(self._lesson, self._lesson)
        except self._api.MissingEntry:
            raise CourseError(
                f"The gradebook doesn't know {self._lesson} yet: nbgrader generate_assignment {self._lesson}"
            ) from None
        self._assignment, self._notebook = notebook.assignment.id, notebook.id
        self._due: datetime | None = notebook.assignment.duedate
        # By notebook of the assignment: which rows a submission has (as in nbgrader's add_submission).
        self._rows = {
            one.id: (
                [cell.id for cell in (*one.grade_cells, *one.task_cells)],
                [cell.id for cell in (*one.solution_cells, *one.task_cells)],
            )
            for one in notebook.assignment.notebooks
        }
        self._checks = {cell.id: cell.name.removesuffix("-check") for cell in notebook.grade_cells}
        self._points = {cell.id: cell.max_score for cell in notebook.grade_cells}
        self._solutions = {cell.id: cell.name for cell in notebook.solution_cells}
        points = {cell.name: cell.max_score for cell in (*notebook.grade_cells, *notebook.task_cells)}
        cells = {
            cell.name: {"points": points.get(cell.name)} | {key: getattr(cell, key) for key in TOLD}
            for cell in notebook.source_cells
        }
        self.release = Release(json.loads(notebook.kernelspec or "{}"), cells)
        self._book.db.rollback()

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
        db = self._book.db
        try:
            self._students({entry.student for entry in entries})
            submissions = self._submissions(entries)
            notebooks = self._notebooks(submissions.values())
            self._grades({notebooks[submissions[entry.student].id].id: entry for entry in entries})
            self._penalties(submissions.values(), notebooks)
            db.commit()
        except SQLAlchemyError as error:
            db.rollback()
            if getattr(getattr(error, "orig", None), "sqlite_errorcode", 0) == sqlite3.SQLITE_FULL:
                raise FoundWanting(f"{_cause(error)}. What was graded is kept: make room and run it again.") from error
            raise Unavailable(_cause(error)) from error
        except BaseException:
            db.rollback()
            raise
        finally:
            db.expunge_all()

    def complete(self) -> set[str]:
        """The students who have a mark for every exercise."""
        api = self._api
        left = select(api.Grade.id).where(
            api.Grade.notebook_id == api.SubmittedNotebook.id,
            api.Grade.cell_id.in_(self._checks),
            api.Grade.auto_score.is_(None),
        )
        query = (
            select(api.SubmittedAssignment.student_id)
            .join(api.SubmittedNotebook, api.SubmittedNotebook.assignment_id == api.SubmittedAssignment.id)
            .where(api.SubmittedNotebook.notebook_id == self._notebook, ~left.exists())
        )
        found = set(self._book.db.scalars(query))
        self._book.db.rollback()
        return found

    def _students(self, names: set[str]) -> None:
        model = self._api.Student
        there = set(self._book.db.scalars(select(model.id).where(model.id.in_(names))))
        self._book.db.add_all(model(id=name) for name in sorted(names - there))
        self._book.db.flush()

    def _submissions(self, entries: Sequence[Entry]) -> dict[str, Any]:
        """What each student has handed in, by name; made, with all its rows, where there is none."""
        model, db = self._api.SubmittedAssignment, self._book.db
        names = [entry.student for entry in entries]
        mine = select(model).where(model.assignment_id == self._assignment, model.student_id.in_(names))
        there = {one.student_id: one for one in db.scalars(mine)}
        for entry in entries:
            if entry.student not in there:
                there[entry.student] = self._new_submission(entry.student)
            if entry.timestamp is not None:
                there[entry.student].timestamp = entry.timestamp
        db.flush()
        return there

    def _notebooks(self, submissions: Iterable[Any]) -> dict[str, Any]:
        """The submitted notebooks, by submission."""
        model = self._api.SubmittedNotebook
        ids = [one.id for one in submissions]
        rows = select(model).where(model.notebook_id == self._notebook, model.assignment_id.in_(ids))
        return {row.assignment_id: row for row in self._book.db.scalars(rows)}

    def _new_submission(self, student: str) -> Any:
        api, db = self._api, self._book.db
        one = api.SubmittedAssignment(
            id=api.new_uuid(), assignment_id=self._assignment, student_id=student, timestamp=None, extension=None
        )
        db.add(one)
        for notebook, (grades, comments) in self._rows.items():
            row = api.SubmittedNotebook(id=api.new_uuid(), notebook_id=notebook, assignment_id=one.id)
            db.add(row)
            db.add_all(api.Grade(cell_id=cell, notebook_id=row.id) for cell in grades)
            db.add_all(api.Comment(cell_id=cell, notebook_id=row.id) for cell in comments)
        return one

    def _grades(self, entries: Mapping[str, Entry]) -> None:
        grade, comment, db = self._api.Grade, self._api.Comment, self._book.db
        for row in db.scalars(select(grade).where(grade.notebook_id.in_(entries))):
            result = entries[row.notebook_id].result
            name = self._checks.get(row.cell_id)
            for exercise in result.exercises:
                if exercise.name == name:
                    row.auto_score = round(self._points[row.cell_id] * exercise.score, 2)
                    # A mark given by hand is kept, but was given to something else: worth a look, as nbgrader has it.
                    row.needs_manual_grade = exercise.broken or row.manual_score is not None
        for row in db.scalars(select(comment).where(comment.notebook_id.in_(entries))):
            comments, name = entries[row.notebook_id].comments, self._solutions.get(row.cell_id, "")
            if name in comments:
                row.auto_comment = comments[name]
        db.flush()

    def _penalties(self, submissions: Iterable[Any], notebooks: Mapping[str, Any]) -> None:
        """For what was handed in late; by nbgrader's own plug-in or the course's."""
        for submission in submissions:
            notebook = notebooks[submission.id]
            late = self._seconds_late(submission)
            notebook.late_submission_penalty = (
                self._penalty(submission.student_id, notebook, late) if late > 0 else None
            )

    def _seconds_late(self, submission: Any) -> float:
        if submission.timestamp is None or self._due is None:
            return 0.0
        return (submission.timestamp - self._due - (submission.extension or timedelta())).total_seconds()

    def _penalty(self, student: str, notebook: Any, late: float) -> float | None:
        model = self._api.SubmittedNotebook
        score = self._book.db.scalar(select(model.score).where(model.id == notebook.id))
        assign = nbgrader("preprocessors").AssignLatePenalties(config=self._config)
        assign.init_plugin()
        penalty = assign.plugin_inst.late_submission_penalty(student, score, late)
        return None if penalty is None else min(max(penalty, 0), score)

    def close(self) -> None:
        """Close the connection."""
        self._book.close()

    def __enter__(self) -> Gradebook:
        return self

    def __exit__(self, *_error: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()


def _cause(error: SQLAlchemyError) -> str:
    return str(getattr(error, "orig", None) or error).strip().splitlines()[0]
