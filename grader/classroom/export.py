"""The table of `nbgrader export`, with a column that says which marks still wait for a teacher."""

from __future__ import annotations

import csv
from typing import Any

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.plugins import ExportPlugin

COLUMNS = (
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


class ExportMarks(ExportPlugin):
    """nbgrader's own columns and one more, quoted where a name needs it."""

    def export(self, gradebook: Gradebook) -> None:
        """Write one row for each student and assignment."""
        to = self.to or "grades.csv"
        self.log.info("Exporting grades to %s", to)
        students = [
            student for student in gradebook.students if not self.student or student.id in map(str, self.student)
        ]
        with open(to, "w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, COLUMNS)
            table.writeheader()
            for assignment in gradebook.assignments:
                if not self.assignment or assignment.name in map(str, self.assignment):
                    table.writerows(_row(gradebook, assignment, student) for student in students)


def _row(gradebook: Gradebook, assignment: Any, student: Any) -> dict[str, Any]:
    row = {name: getattr(student, name) for name in ("last_name", "first_name", "email")}
    row |= {"assignment": assignment.name, "duedate": assignment.duedate, "max_score": assignment.max_score}
    row |= {"student_id": student.id, "raw_score": 0.0, "late_submission_penalty": 0.0, "score": 0.0}
    try:
        one = gradebook.find_submission(assignment.name, student.id)
    except MissingEntry:
        return row
    penalty = one.late_submission_penalty or 0.0
    row |= {"timestamp": one.timestamp, "raw_score": one.score, "late_submission_penalty": penalty}
    waits = "yes" if one.needs_manual_grade else "no"
    return row | {"score": max(0.0, one.score - penalty), "needs_manual_grade": waits}
