"""The files that marks leave a course in: for learning platforms, as CSV and JSON, and nbgrader's own table."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.plugins import ExportPlugin

from grader.book.marks import Marks, score_of, waits
from grader.course.roster import Roster
from grader.course.tables import as_csv, rows_of
from grader.course.to_settle import unsettled
from grader.platforms.platform import ClassMarks, MarksFile, Platform, number
from grader.printable import json_text

POINTS_POSSIBLE = "Points Possible"
NBGRADER_COLUMNS = (
    "assignment",
    "duedate",
    "timestamp",
    "student_id",
    "last_name",
    "first_name",
    "email",
    "raw_score",
    "late_submission_penalty",
    "score",
    "max_score",
    "needs_manual_grade",
)


def as_table(marks: Marks) -> str:
    """The marks as CSV, a row a student: names, a column a lesson in points, the total in per cent, and in words why
    marks are blank."""
    rows: list[list[str]] = [["id", "last_name", "first_name", "email", *marks.possible, "total_percent", "notes"]]
    rows.append([POINTS_POSSIBLE, "", "", "", *map(number, marks.possible.values()), "100", ""])
    for who, person in marks.people.items():
        own = marks.marks[who]
        notes = "; ".join(f"{lesson}: {mark.note}" for lesson, mark in own.items() if mark.note)
        names = (who, person.last_name, person.first_name, person.email)
        rows.append([*names, *(number(mark.points) for mark in own.values()), number(marks.totals[who]), notes])
    return as_csv(rows)


def as_json(marks: Marks) -> str:
    """The marks as JSON, in points, with the state of every mark and the totals in per cent."""
    students = [
        {
            **{key: value for key, value in asdict(person).items() if value},
            "marks": {lesson: asdict(mark) for lesson, mark in marks.marks[who].items()},
            "total_percent": marks.totals[who],
        }
        for who, person in marks.people.items()
    ]
    return json_text({"possible": marks.possible, "students": students}, ascii=False) + "\n"


def for_platform(platform: Platform, marks: Marks, exported: Path | None = None) -> tuple[str, MarksFile]:
    """A file for a platform's import, as text and as what is in it; `exported` is one that the platform wants.
    `CourseError` if that can't be read, or fits no lesson or nobody."""
    rows = rows_of(exported) if exported else []
    people = {who: vars(person) for who, person in marks.people.items()}
    points = {who: {lesson: mark.points for lesson, mark in own.items()} for who, own in marks.marks.items()}
    made = platform.marks(ClassMarks(people, points, marks.possible), rows, str(exported))
    return as_csv(made.rows), made


class ExportMarks(ExportPlugin):
    """The table of `nbgrader export`: nbgrader's own columns, and one more that says which marks still wait for a
    teacher."""

    def export(self, gradebook: Gradebook) -> None:
        """Write one row for each student and assignment, in points, to the file that nbgrader's `--to` names."""
        to = self.to or "grades.csv"
        self.log.info("Exporting grades to %s", to)
        course = Path(str(self.config.CourseDirectory.get("root", ".")))
        left = Roster.of(course).withdrawn
        students = [
            student
            for student in gradebook.students
            if (student.id in map(str, self.student) if self.student else student.id not in left)
        ]
        assignments = [
            assignment
            for assignment in gradebook.assignments
            if not self.assignment or assignment.name in map(str, self.assignment)
        ]
        rows = [_row(course, gradebook, assignment, student) for assignment in assignments for student in students]
        cells = [[row.get(column) for column in NBGRADER_COLUMNS] for row in rows]
        Path(to).write_text(as_csv([NBGRADER_COLUMNS, *cells]), encoding="utf-8")


def _row(course: Path, gradebook: Gradebook, assignment: Any, student: Any) -> dict[str, Any]:
    row = {name: getattr(student, name) for name in ("last_name", "first_name", "email")}
    row |= {"assignment": assignment.name, "duedate": assignment.duedate, "max_score": assignment.max_score}
    row |= {"student_id": student.id, "raw_score": 0.0, "late_submission_penalty": 0.0, "score": 0.0}
    try:
        submission = gradebook.find_submission(assignment.name, student.id)
    except MissingEntry:
        waiting = student.id in unsettled(course, assignment.name)
        return row | (dict.fromkeys(("raw_score", "late_submission_penalty", "score")) if waiting else {})
    penalty = submission.late_submission_penalty or 0.0
    row |= {"timestamp": submission.timestamp, "raw_score": submission.score, "late_submission_penalty": penalty}
    return row | {"score": score_of(submission), "needs_manual_grade": "yes" if waits(submission) else "no"}
