"""The one writer of nbgrader's gradebook: a transaction a batch, through nbgrader's own models.

Only `auto_score`, `auto_comment`, the penalty and the flag "needs a look" are set: marks, extra credit and comments
given by hand stay.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any

from sqlalchemy import insert, select, update
from sqlalchemy.exc import SQLAlchemyError

from grader.batch.finish import Release
from grader.batch.models import nbgrader
from grader.classroom.settings import programs_on_path
from grader.errors import CommandFailed, CourseError
from grader.judge.result import SubmissionResult

# Of a released cell.
TOLD = ("checksum", "locked", "source")
# Of a cell that no result is of: marked by hand.
NO_MARK = {"auto_score": None, "needs_manual_grade": True}


class Unavailable(RuntimeError):
    """The database can't be written now: locked, gone, or written by another. Nothing of the batch was stored."""


@dataclass(frozen=True)
class Entry:
    """What is stored of one submission. `comments` by exercise; `timestamp` is when it was handed in, if known."""

    student: str
    result: SubmissionResult
    comments: Mapping[str, str]
    timestamp: datetime | None = None


@dataclass(frozen=True)
class _Rows:
    """A submission in the gradebook: its id and its notebook's, when it was handed in, how much later it might be."""

    submission: str
    notebook: str
    timestamp: datetime | None
    extension: timedelta | None = None


class Gradebook:
    """The gradebook at `url`, for one lesson; a context manager. `release` is what it says of the released notebook."""

    def __init__(self, url: str, course_id: str, lesson: str, config: Any) -> None:
        programs_on_path()
        self._api, self._lesson, self._config = nbgrader("api"), lesson, config
        try:
            self._book = self._api.Gradebook(url, course_id)
            self._read_release()
        except SQLAlchemyError as error:
            raise CommandFailed(f"The gradebook can't be opened: {_cause(error)}") from error

    def _read_release(self) -> None:
        try:
            notebook = self._book.find_notebook(self._lesson, self._lesson)
        except self._api.MissingEntry:
            raise CourseError(
                f"The gradebook doesn't know {self._lesson} yet: nbgrader generate_assignment {self._lesson}"
            ) from None
        self._assignment, self._notebook = notebook.assignment.id, notebook.id
        self._due: datetime | None = notebook.assignment.duedate
        # By notebook of the assignment: of which cells a submission has a grade, and of which it has a comment (as in
        # nbgrader's add_submission).
        self._cells = {
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
            rows = self._rows_of(entries)
            if rows:
                self._update([(entry, rows[entry.student]) for entry in entries if entry.student in rows])
            rows |= self._insert([entry for entry in entries if entry.student not in rows])
            self._penalties(rows)
            db.commit()
        except SQLAlchemyError as error:
            db.rollback()
            if getattr(getattr(error, "orig", None), "sqlite_errorcode", 0) == sqlite3.SQLITE_FULL:
                raise CommandFailed(f"{_cause(error)}. What was graded is kept: make room and run it again.") from error
            raise Unavailable(_cause(error)) from error
        except BaseException:
            db.rollback()
            raise

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
        self._add(model, [{"id": name} for name in sorted(names - there)])

    def _rows_of(self, entries: Sequence[Entry]) -> dict[str, _Rows]:
        """What the gradebook has of those who have handed in before, by student."""
        one, notebook = self._api.SubmittedAssignment, self._api.SubmittedNotebook
        handed_in = {entry.student: entry.timestamp for entry in entries}
        query = (
            select(one.student_id, one.id, notebook.id, one.timestamp, one.extension)
            .join(notebook, notebook.assignment_id == one.id)
            .where(one.assignment_id == self._assignment, notebook.notebook_id == self._notebook)
            .where(one.student_id.in_(handed_in))
        )
        found = {}
        for student, submission, own, timestamp, extension in self._book.db.execute(query):
            found[student] = _Rows(submission, own, handed_in[student] or timestamp, extension)
        return found

    def _insert(self, entries: Sequence[Entry]) -> dict[str, _Rows]:
        """All rows of submissions that are new."""
        api, made = self._api, {}
        submissions, notebooks, grades, comments = [], [], [], []
        for entry in entries:
            submission = api.new_uuid()
            submissions.append(
                {
                    "id": submission,
                    "assignment_id": self._assignment,
                    "student_id": entry.student,
                    "timestamp": entry.timestamp,
                }
            )
            for notebook, (graded, commented) in self._cells.items():
                own = api.new_uuid()
                notebooks.append({"id": own, "notebook_id": notebook, "assignment_id": submission})
                mine = notebook == self._notebook
                marks = self._marks(entry) if mine else {}
                grades += [{"cell_id": cell, "notebook_id": own, **marks.get(cell, NO_MARK)} for cell in graded]
                told = self._comments(entry) if mine else {}
                comments += [
                    {"cell_id": cell, "notebook_id": own, "auto_comment": told.get(cell)} for cell in commented
                ]
                if mine:
                    made[entry.student] = _Rows(submission, own, entry.timestamp)
        self._add(api.SubmittedAssignment, submissions)
        self._add(api.SubmittedNotebook, notebooks)
        self._add(api.Grade, grades)
        self._add(api.Comment, comments)
        return made

    def _update(self, known: Sequence[tuple[Entry, _Rows]]) -> None:
        """The marks and comments of those who have handed in before."""
        grade, comment, db = self._api.Grade, self._api.Comment, self._book.db
        by_notebook = {rows.notebook: entry for entry, rows in known}
        marks = {notebook: self._marks(entry) for notebook, entry in by_notebook.items()}
        comments = {notebook: self._comments(entry) for notebook, entry in by_notebook.items()}
        changed = []
        there = select(grade.id, grade.notebook_id, grade.cell_id, grade.manual_score)
        for row, notebook, cell, by_hand in db.execute(there.where(grade.notebook_id.in_(by_notebook))):
            if cell in marks[notebook]:
                mark = marks[notebook][cell]
                # A mark given by hand is kept, but was given to something else: worth a look, as nbgrader has it.
                look = mark["needs_manual_grade"] or by_hand is not None
                changed.append({"id": row, **mark, "needs_manual_grade": look})
        told = [
            {"id": row, "auto_comment": comments[notebook][cell]}
            for row, notebook, cell in db.execute(
                select(comment.id, comment.notebook_id, comment.cell_id).where(comment.notebook_id.in_(by_notebook))
            )
            if cell in comments[notebook]
        ]
        self._change(
            self._api.SubmittedAssignment, [{"id": rows.submission, "timestamp": rows.timestamp} for _, rows in known]
        )
        self._change(grade, changed)
        self._change(comment, told)

    def _marks(self, entry: Entry) -> dict[str, dict[str, Any]]:
        """By cell of the notebook what a grade's row says."""
        found = {exercise.name: exercise for exercise in entry.result.exercises}
        return {
            cell: {
                "auto_score": round(self._points[cell] * found[name].score, 2),
                "needs_manual_grade": found[name].broken,
            }
            for cell, name in self._checks.items()
            if name in found
        }

    def _comments(self, entry: Entry) -> dict[str, str]:
        """By cell of the notebook what is said of it."""
        return {cell: entry.comments[name] for cell, name in self._solutions.items() if name in entry.comments}

    def _add(self, model: Any, rows: Sequence[Mapping[str, Any]]) -> None:
        if rows:
            self._book.db.execute(insert(model), rows)

    def _change(self, model: Any, rows: Sequence[Mapping[str, Any]]) -> None:
        if rows:
            self._book.db.execute(update(model), rows)

    def _penalties(self, rows: Mapping[str, _Rows]) -> None:
        """For what was handed in late; by nbgrader's own plug-in or the course's."""
        changed = []
        for student, one in rows.items():
            late = self._seconds_late(one)
            penalty = self._penalty(student, one.notebook, late) if late > 0 else None
            changed.append({"id": one.notebook, "late_submission_penalty": penalty})
        self._change(self._api.SubmittedNotebook, changed)

    def _seconds_late(self, rows: _Rows) -> float:
        if rows.timestamp is None or self._due is None:
            return 0.0
        return (rows.timestamp - self._due - (rows.extension or timedelta())).total_seconds()

    def _penalty(self, student: str, notebook: str, late: float) -> float | None:
        model = self._api.SubmittedNotebook
        score = self._book.db.scalar(select(model.score).where(model.id == notebook))
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
