"""The gradebook as `grader regrade` and `grader override` use it: what results would change, and the way back."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from grader.book.gradebook import GradebookEntry, LessonGradebook, reached
from grader.course.release import exercise_of
from grader.judge.result import SubmissionMark

# By "grade" or "comment" and by the cell's name what the judge said, what a teacher said, and whether a teacher is to
# look at it: the rows of one student, as the audit log has them.
Rows = dict[str, dict[str, list[Any]]]
JUDGE, TEACHER, TO_LOOK_AT = range(3)


@dataclass(frozen=True)
class GradebookDiff:
    """The gradebook before and after a change: the marks of everybody by student, and the rows of those concerned."""

    before: Mapping[str, SubmissionMark]
    after: Mapping[str, SubmissionMark]
    rows_before: Mapping[str, Rows]
    rows_after: Mapping[str, Rows]


class RegradeBook(LessonGradebook):
    """A lesson's gradebook that says what results would change, and sets and takes back what a regrade or an override
    changes."""

    def trial(self, entries: Sequence[GradebookEntry], handed_in: Mapping[str, datetime | None]) -> GradebookDiff:
        """What the gradebook would say with these results; nothing of it is stored. Both sides have the late penalty as
        it is worked out now: what only lateness changes is no regrade's doing. `GradebookUnavailable` if the database
        can't be used now."""
        students = [entry.student for entry in entries]
        try:
            with reached():
                self._refresh(handed_in)
                before, rows = self._now(students)
                self._put(entries)
                after, rows_after = self._now(students)
                return GradebookDiff(before, after, rows, rows_after)
        finally:
            self._book.db.rollback()

    def _now(self, students: Iterable[str]) -> tuple[dict[str, SubmissionMark], dict[str, Rows]]:
        """All marks, and these students' rows, as the open transaction has them."""
        self._book.db.flush()
        self._book.db.expire_all()  # the database adds up
        rows = self._submitted(self._notebook(), set(students))
        return self._marks(), {who: _rows_of(submitted) for who, submitted in rows.items()}

    def rows(self, students: Iterable[str]) -> dict[str, Rows]:
        """By student, the rows of grades and comments that the gradebook has; those who have handed in nothing are left
        out."""
        _marks, found = self._now(students)
        self._book.db.rollback()
        return found

    def points(self) -> dict[str, float]:
        """The points that each exercise, and each of a teacher's own cells, is worth in this course."""
        notebook = self._notebook()
        cells = (*notebook.grade_cells, *notebook.task_cells)
        found = {exercise_of(cell.name): float(cell.max_score) for cell in cells}
        self._book.db.rollback()
        return found

    @contextlib.contextmanager
    def override(self, student: str, points: Mapping[str, float], why: str) -> Iterator[GradebookDiff]:
        """Give somebody so many points by hand, by cell, with the sentence `why` in the comment of the first of them
        that has one, which the feedback shows; a context manager. Where nothing was handed in, the other cells have 0
        points. Yields what that changes, and stores it when the block ends. `GradebookUnavailable` if it can't be
        written now."""
        with self._transaction():
            self._refresh({})
            before, rows = self._now([student])
            notebook = self._notebook()
            submitted = self._submitted(notebook, {student}).get(student)
            if submitted is None:
                submitted = self._add(notebook, student)
                self._book.db.flush()
                for grade in submitted.grades:
                    grade.auto_score, grade.needs_manual_grade = 0.0, False
            for grade in submitted.grades:
                if (name := exercise_of(grade.name)) in points:
                    grade.manual_score, grade.needs_manual_grade = points[name], False
            comments = {comment.name: comment for comment in submitted.comments}
            if told := next((comments[name] for name in points if name in comments), None):
                told.manual_comment = "\n\n".join(said for said in (told.manual_comment, why) if said)
            self._refresh_score(submitted)
            after, rows_after = self._now([student])
            yield GradebookDiff(before, after, rows, rows_after)

    def _refresh_score(self, submitted: Any) -> None:
        """Read the score anew, which the database adds up, and work out late penalties, which may depend on it."""
        self._book.db.flush()
        self._book.db.refresh(submitted, ["score"])
        self._refresh({})

    def restore(self, before: Mapping[str, Rows], after: Mapping[str, Rows]) -> dict[str, list[str]]:
        """Set back what was changed from `before` to `after` and what nobody has changed since; returns by student the
        cells in which something newer stays. `GradebookUnavailable` if it can't be written now."""
        newer: dict[str, list[str]] = {}
        with self._transaction():
            for student, submitted in self._submitted(self._notebook(), set(before)).items():
                now = _rows_of(submitted)
                for kind, row in (
                    *(("grade", grade) for grade in submitted.grades),
                    *(("comment", comment) for comment in submitted.comments),
                ):
                    was, became = (rows[student].get(kind, {}).get(row.name) for rows in (before, after))
                    if was is None or became is None:
                        continue
                    kept = [
                        now[kind][row.name][i] if now[kind][row.name][i] != became[i] else value
                        for i, value in enumerate(was)
                    ]
                    if kept != was:
                        newer.setdefault(student, []).append(exercise_of(row.name))
                    _set_row(row, kept)
                self._refresh_score(submitted)
        return newer

    def times(self, students: Iterable[str]) -> dict[str, datetime | None]:
        """By student when they handed in (UTC, None if not known), of those who have something in the gradebook."""
        rows = self._submitted(self._notebook(), set(students))
        found = {who: submitted.assignment.timestamp for who, submitted in rows.items()}
        self._book.db.rollback()
        return found

    def set_times(self, times: Mapping[str, datetime | None]) -> None:
        """Set when students handed in (UTC, None for not known), and work out what that costs. `GradebookUnavailable`
        if it can't be written now."""
        with self._transaction():
            for who, submitted in self._submitted(self._notebook(), set(times)).items():
                submitted.assignment.timestamp = times[who]
            self._refresh({})

    def withdraw(self, student: str) -> None:
        """Remove what somebody has handed in of this lesson, and its marks. `GradebookUnavailable` if that can't be
        written now."""
        session, whole = self._book.db, self._book.find_submission(self._lesson, student)
        with self._transaction():  # nbgrader's own way commits each notebook, and hides what the database said
            for submitted in whole.notebooks:
                for row in (*submitted.grades, *submitted.comments, submitted):
                    session.delete(row)
            session.delete(whole)


def _rows_of(submitted: Any) -> Rows:
    return {
        "grade": {
            grade.name: [grade.auto_score, grade.manual_score, bool(grade.needs_manual_grade)]
            for grade in submitted.grades
        },
        "comment": {comment.name: [comment.auto_comment, comment.manual_comment] for comment in submitted.comments},
    }


def _set_row(row: Any, values: Sequence[Any]) -> None:
    if len(values) == 2:
        row.auto_comment, row.manual_comment = values
    else:
        row.auto_score, row.manual_score, row.needs_manual_grade = values
