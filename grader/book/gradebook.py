"""nbgrader's gradebook: where a mark enters it, and what it says of the released notebook.

`record` is the one place where marks and comments are set, for `nbgrader autograde` and for `grader autograde`. Marks,
extra credit and comments given by hand stay.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from nbgrader import api
from nbgrader.api import SubmittedAssignment, SubmittedNotebook
from sqlalchemy import Engine, inspect, or_, select, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import object_session

from grader.book.rebuild import OwnCell
from grader.book.shown import FeedbackMarks
from grader.course.lateness import Deadlines
from grader.course.release import CHECK, Release, exercise_of
from grader.errors import CommandFailed, CourseError, GradebookUnavailable, UnknownLesson
from grader.judge.result import SubmissionMark, SubmissionResult
from grader.judge.words import comment_on
from grader.nbgrader_settings import programs_on_path


def record(
    submitted: Any,
    result: SubmissionResult,
    own: Mapping[str, OwnCell],
    config: Any,
    kept: Container[str] | None = None,
) -> None:
    """Set the marks, comments and late penalty of one submission, an `api.SubmittedNotebook`. Commits nothing.

    A check's cell has the grade id `EXERCISE-check`, a solution's `EXERCISE`. `own` has the teacher's own cells; one
    that has no mark is waiting to be marked by hand. `kept` is given where the same work is graded again: these cells
    stay as they are, and all that have a mark by hand, which was given to this very work.
    """
    exercises = {exercise.name: exercise for exercise in result.exercises}
    stay = _staying(submitted, kept)
    for grade in submitted.grades:
        name = exercise_of(grade.name)
        if name in stay:
            continue
        if name in exercises:
            grade.auto_score = round(grade.cell.max_score * exercises[name].score, 2)
        elif result.unreadable:
            grade.auto_score = 0.0
        else:
            grade.auto_score = own[grade.name].score if grade.name in own else None
        # A mark given by hand is kept, but was given to something else: worth a look, as nbgrader has it.
        by_hand = grade.auto_score is None or grade.manual_score is not None
        grade.needs_manual_grade = by_hand or name in result.broken
    for comment in submitted.comments:
        if comment.name in stay:
            continue
        if comment.name in exercises:
            comment.auto_comment = comment_on(exercises[comment.name], result)
        elif comment.name in own:
            comment.auto_comment = "No response." if own[comment.name].unanswered else None
    session = object_session(submitted)
    assert session is not None
    session.flush()
    session.refresh(submitted, ["score"])  # the database adds the marks up
    submitted.late_submission_penalty = _penalty(submitted, Deadlines(config))


def _staying(submitted: Any, kept: Container[str] | None) -> set[str]:
    """The names of the cells that stay as they are: where the same work is graded again those in `kept`, and those with
    a mark by hand. Empty where `kept` is None."""
    if kept is None:
        return set()
    return {
        exercise_of(grade.name)
        for grade in submitted.grades
        if grade.manual_score is not None or (grade.auto_score is not None and exercise_of(grade.name) in kept)
    }


# What of the gradebook is looked up for every student: without an index the database reads the whole table each time,
# and a run would grow with the square of the class.
LOOKED_UP = (
    ("grade", "notebook_id"),
    ("comment", "notebook_id"),
    ("submitted_notebook", "assignment_id"),
    ("submitted_assignment", "student_id"),
)


def _add_indexes(engine: Engine) -> None:
    """Give the gradebook the indexes that nbgrader's tables lack. Where it can't be written now, it stays as it is."""
    with contextlib.suppress(SQLAlchemyError), engine.begin() as connection:
        there = inspect(connection)
        for table, column in LOOKED_UP:
            # PostgreSQL waits for whoever writes to the table before it sees that there is nothing to do.
            if all(one["column_names"] != [column] for one in there.get_indexes(table)):
                connection.execute(text(f"CREATE INDEX IF NOT EXISTS ix_{table}_{column} ON {table} ({column})"))


UNKNOWN = (
    "This student is not on the roster. Add them (`nbgrader db student add ID`), or everybody who is missing there "
    "with {}."
)


def _penalty(submitted: Any, deadlines: Deadlines) -> float | None:
    """The points that its lateness costs one submission, an `api.SubmittedNotebook`; None if it costs nothing by
    rule."""
    whole = submitted.assignment
    return deadlines.penalty(whole.student_id, submitted.score, deadlines.late(whole))


def release_of(notebook: Any) -> Release:
    """What the gradebook knows of a lesson's release, from its `api.Notebook`: cells, points, the kernel."""
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


@dataclass(frozen=True)
class GradebookEntry:
    """What is stored of one submission."""

    student: str
    result: SubmissionResult
    own: Mapping[str, OwnCell]  # the teacher's own cells, by grade_id
    timestamp: datetime | None = None  # when it was handed in; None if that isn't known
    kept: tuple[str, ...] | None = None  # as in `record`


class LessonGradebook:
    """The gradebook at `url`, for one lesson; a context manager. It stores a batch of results in one transaction.
    `CommandFailed` if it can't be opened, `UnknownLesson` if it doesn't know the lesson."""

    def __init__(self, url: str, course_id: str, lesson: str, config: Any) -> None:
        programs_on_path()
        self._lesson, self._config = lesson, config
        try:
            self._book = api.Gradebook(url, course_id)
            _add_indexes(self._book.engine)
            notebook = self._notebook()
            self.release = release_of(notebook)
            self._checks = {
                cell.id: exercise_of(cell.name) for cell in notebook.grade_cells if cell.name.endswith(CHECK)
            }
            self.has_own_cells = any(
                not cell.name.endswith(CHECK) for cell in (*notebook.grade_cells, *notebook.task_cells)
            )
            self._book.db.rollback()
        except SQLAlchemyError as error:
            raise CommandFailed(f"The gradebook can't be opened: {cause(error)}") from error

    def _notebook(self) -> Any:
        try:
            return self._book.find_notebook(self._lesson, self._lesson)
        except api.MissingEntry:
            raise UnknownLesson(
                f"The gradebook doesn't know {self._lesson} yet. First: nbgrader generate_assignment {self._lesson}"
            ) from None

    def require(self, exercises: Iterable[str]) -> None:
        """Raise `CourseError` if the gradebook lacks one of these exercises: the instructor's notebook has changed
        since it was released."""
        missing = [name for name in exercises if name not in self._checks.values()]
        if missing:
            raise CourseError(
                f"The gradebook doesn't know {', '.join(missing)}: source/{self._lesson} has changed since "
                f"`nbgrader generate_assignment {self._lesson}` was last run. Run it again with --force."
            )

    def store(self, entries: Sequence[GradebookEntry]) -> None:
        """Store a batch in one transaction; `GradebookUnavailable` if that can't be done now, `CommandFailed` if the
        disk is full."""
        with self._transaction():
            self._put(entries)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """Store what the block changes, all of it or nothing; errors as in `reached`."""
        try:
            with reached():
                yield
                self._book.db.commit()
        except BaseException:
            self._book.db.rollback()
            raise

    def _put(self, entries: Sequence[GradebookEntry]) -> None:
        """Set what the entries say; the caller commits, or takes it back."""
        notebook = self._notebook()
        rows = self._submitted(notebook, {entry.student for entry in entries})
        rows |= {entry.student: self._add(notebook, entry.student) for entry in entries if entry.student not in rows}
        self._book.db.flush()
        for entry in entries:
            submitted = rows[entry.student]
            submitted.assignment.timestamp = entry.timestamp or submitted.assignment.timestamp
            record(submitted, entry.result, entry.own, self._config, entry.kept)

    def roster(self) -> set[str]:
        """The ids of the students that the gradebook knows."""
        found = set(self._book.db.scalars(select(api.Student.id)))
        self._book.db.rollback()
        return found

    def unknown(self, handed_in: Iterable[str], add: bool) -> set[str]:
        """The students who have handed in and aren't on the roster. With `add`, and where the gradebook has no student
        at all and so no roster yet, all are put into it first, and nobody is unknown: a run that is killed leaves
        nobody out of the next."""
        roster, session = self.roster(), self._book.db
        missing = set(handed_in) - roster
        if roster and not add:
            return missing
        try:
            session.add_all(api.Student(id=student) for student in sorted(missing))
            session.commit()
        except SQLAlchemyError:  # locked, for example: they are added with their marks
            session.rollback()
        return set()

    def refresh_lateness(self, handed_in: Mapping[str, datetime | None]) -> None:
        """Take over when submissions were handed in, as far as that is known, and work out every late penalty anew: a
        due date, an extension or the course's rule may have changed since. `GradebookUnavailable` if that can't be
        written now."""
        with self._transaction():
            self._refresh(handed_in)

    def _refresh(self, handed_in: Mapping[str, datetime | None]) -> None:
        deadlines, mine = Deadlines(self._config), SubmittedNotebook.notebook_id == self._notebook().id
        query = select(SubmittedNotebook, SubmittedAssignment).join(
            SubmittedAssignment, SubmittedNotebook.assignment_id == SubmittedAssignment.id
        )
        rows = self._book.db.execute(query.where(mine)).all()
        for _submitted, whole in rows:
            whole.timestamp = handed_in.get(whole.student_id) or whole.timestamp
        if deadlines.rule.free_days:  # one that is used up here is missing in another lesson
            late = or_(
                SubmittedNotebook.late_submission_penalty.is_not(None),
                SubmittedAssignment.timestamp > api.Assignment.duedate,
            )
            others = query.join(api.Assignment, SubmittedAssignment.assignment_id == api.Assignment.id).where(
                ~mine, late
            )
            rows += self._book.db.execute(others).all()
        for submitted, _whole in rows:
            submitted.late_submission_penalty = _penalty(submitted, deadlines)

    def marks(self) -> dict[str, SubmissionMark]:
        """What everybody who has handed in earns, by student."""
        found = self._marks()
        self._book.db.rollback()
        return found

    def _marks(self) -> dict[str, SubmissionMark]:
        query = (
            select(SubmittedAssignment.student_id, SubmittedNotebook.late_submission_penalty, api.Grade)
            .join(SubmittedNotebook, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
            .join(api.Grade, api.Grade.notebook_id == SubmittedNotebook.id)
            .where(SubmittedNotebook.notebook_id == self._notebook().id)
        )
        grades: dict[str, list[Any]] = {}
        penalties: dict[str, float] = {}
        for student, penalty, grade in self._book.db.execute(query):
            grades.setdefault(student, []).append(grade)
            penalties[student] = penalty or 0.0
        return {student: _mark(every, penalties[student]) for student, every in grades.items()}

    def earns(self, student: str, result: SubmissionResult, handed_in: datetime | None) -> float:
        """The points that a hand-in of that time earns by the judge, less its late penalty, whether it is stored or
        not."""
        points = {name: cell["points"] for name, cell in self.release.cells.items() if cell["points"] is not None}
        score = result.mark_in({exercise_of(name): (0.0, float(most)) for name, most in points.items()})
        deadlines, session = Deadlines(self._config), self._book.db
        assignment, person = self._notebook().assignment, session.get(api.Student, student)
        works = [] if person is None else [*person.submissions]
        own = next((work for work in works if work.assignment is assignment), None)
        late = deadlines.late_if(assignment, student, handed_in, lambda: works, own)
        session.rollback()
        return round(score - (deadlines.penalty(student, score, late) or 0.0), 2)

    def shown(self) -> dict[str, dict[str, FeedbackMarks]]:
        """What feedback shows of the gradebook, by student and notebook."""
        session = self._book.db
        query = select(SubmittedAssignment, SubmittedNotebook).join(
            SubmittedAssignment, SubmittedNotebook.assignment_id == SubmittedAssignment.id
        )
        mine = SubmittedAssignment.assignment_id == self._notebook().assignment.id
        found: dict[str, dict[str, FeedbackMarks]] = {}
        by_id, deadlines = {}, Deadlines(self._config)
        for whole, submitted in session.execute(query.where(mine)):
            late = deadlines.late(whole).words(deadlines.rule)
            shown = FeedbackMarks({}, {}, submitted.late_submission_penalty or 0.0, late)
            by_id[submitted.id] = found.setdefault(whole.student_id, {})[submitted.notebook.name] = shown
        for kind in (api.Grade, api.Comment):
            rows = select(kind).join(SubmittedNotebook, kind.notebook_id == SubmittedNotebook.id)
            for row in session.scalars(
                rows.join(SubmittedAssignment, SubmittedNotebook.assignment_id == SubmittedAssignment.id).where(mine)
            ):
                by_id[row.notebook_id].take(row)
        session.rollback()
        return found

    def _submitted(self, notebook: Any, students: set[str]) -> dict[str, Any]:
        """The lesson's notebook of those who have handed in before, by student."""
        query = (
            select(SubmittedAssignment.student_id, SubmittedNotebook)
            .join(SubmittedAssignment, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
            .where(SubmittedNotebook.notebook_id == notebook.id, SubmittedAssignment.student_id.in_(students))
        )
        return {row.student_id: row[1] for row in self._book.db.execute(query)}

    def _add(self, notebook: Any, student: str) -> Any:
        """Add the rows of somebody's first submission, as nbgrader's `add_submission` makes them, but without a commit;
        returns the lesson's notebook among them."""
        session = self._book.db
        with session.no_autoflush:  # half of them at a time would not fit together
            person = session.get(api.Student, student) or api.Student(id=student)
            assignment = SubmittedAssignment(assignment=notebook.assignment, student=person)
            for every in notebook.assignment.notebooks:
                submitted = SubmittedNotebook(notebook=every, assignment=assignment)
                for cell in (*every.grade_cells, *every.task_cells):
                    api.Grade(cell_id=cell.id, notebook=submitted)
                for cell in (*every.solution_cells, *every.task_cells):
                    api.Comment(cell_id=cell.id, notebook=submitted)
            session.add(assignment)
            return next(submitted for submitted in assignment.notebooks if submitted.notebook is notebook)

    def complete(self) -> set[str]:
        """The students whom the judge has given a mark for every exercise."""
        left = select(api.Grade.id).where(
            api.Grade.notebook_id == SubmittedNotebook.id,
            api.Grade.cell_id.in_(self._checks),
            api.Grade.auto_score.is_(None),
        )
        query = (
            select(SubmittedAssignment.student_id)
            .join(SubmittedNotebook, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
            .where(SubmittedNotebook.notebook_id == self._notebook().id, ~left.exists())
        )
        students = set(self._book.db.scalars(query))
        self._book.db.rollback()
        return students

    def close(self) -> None:
        """Close the connection to the gradebook."""
        self._book.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()


def marks_in(layout: Any, lesson: str, config: Any) -> dict[str, SubmissionMark]:
    """The marks of a lesson in the gradebook of a course, by student; empty where there is no gradebook, or where it
    doesn't know the lesson. `layout` is nbgrader's own `CourseDirectory`."""
    file = str(layout.db_url).removeprefix("sqlite:///")
    if file != layout.db_url and not Path(file).is_file():
        return {}
    try:
        with LessonGradebook(layout.db_url, layout.course_id, lesson, config) as book:
            return book.marks()
    except UnknownLesson:
        return {}


def _mark(grades: Sequence[Any], penalty: float) -> SubmissionMark:
    cells = {exercise_of(grade.name): (grade.score, grade.max_score) for grade in grades}
    total = sum(score for score, _points in cells.values()) - penalty
    by_hand = tuple(sorted(exercise_of(grade.name) for grade in grades if grade.needs_manual_grade))
    points = sum(points for _score, points in cells.values())
    return SubmissionMark(round(max(total, 0.0), 2), points, cells, round(penalty, 2), by_hand)


@contextlib.contextmanager
def reached() -> Iterator[None]:
    """A block that writes to a gradebook: `GradebookUnavailable` where the database can't be used now, `CommandFailed`
    where its disk is full."""
    try:
        yield
    except SQLAlchemyError as error:
        if getattr(getattr(error, "orig", None), "sqlite_errorcode", 0) == sqlite3.SQLITE_FULL:
            raise CommandFailed(
                f"{cause(error)}. What was graded is kept. Make room and run the command again."
            ) from error
        raise GradebookUnavailable(cause(error)) from error


def cause(error: Exception) -> str:
    """What a database says went wrong, in one line."""
    return str(getattr(error, "orig", None) or error).strip().splitlines()[0]
