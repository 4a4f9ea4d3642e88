"""The files that marks leave a course in: for learning platforms, as CSV and JSON, and nbgrader's own table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.plugins import ExportPlugin

from grader.book.marks import Marks, score_of, waits
from grader.course.roster import Person, is_no_person
from grader.course.tables import as_csv, rows_of
from grader.course.to_settle import unsettled
from grader.errors import CourseError
from grader.lesson_names import choose
from grader.printable import json_text

CANVAS_COLUMNS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
CANVAS_ASSIGNMENT = re.compile(r"(?P<title>.*) \((?P<number>\d+)\)")
POINTS_POSSIBLE = "Points Possible"
# What Moodle can tell people by, the best first.
MOODLE_KEYS = {"moodle": "ID number", "email": "Email address", "id": "Username"}
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
    rows.append([POINTS_POSSIBLE, "", "", "", *map(_number, marks.possible.values()), "100", ""])
    for who, person in marks.people.items():
        own = marks.marks[who]
        notes = "; ".join(f"{lesson}: {mark.note}" for lesson, mark in own.items() if mark.note)
        names = (who, person.last_name, person.first_name, person.email)
        rows.append([*names, *(_number(mark.points) for mark in own.values()), _number(marks.totals[who]), notes])
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


def as_moodle(marks: Marks) -> tuple[str, str, list[str]]:
    """A file for Moodle's import of grades: the key that most people on the roster have, and a column a lesson. A blank
    changes nothing there. It has no feedback, which Moodle takes without a grade as a grade of nothing. Returned beside
    the file: the heading of the key, and the ids of those who have none and are left out."""
    keys = {key: {who for who, person in marks.people.items() if _moodle_key(person, key)} for key in MOODLE_KEYS}
    key = max(keys, key=lambda name: len(keys[name]))  # of equal ones the first, which is the surest
    rows = [[MOODLE_KEYS[key], *marks.possible]]
    for who, person in marks.people.items():
        if who in keys[key]:
            points = (_number(mark.points) for mark in marks.marks[who].values())
            rows.append([_moodle_key(person, key), *points])
    return as_csv(rows), MOODLE_KEYS[key], sorted(marks.people.keys() - keys[key])


def _moodle_key(person: Person, key: str) -> str:
    """What a person is called by in Moodle, of the kind `key`; "" if that isn't known. An id that is a number or an
    address is no user name."""
    others = (person.moodle, person.email, person.canvas_id, person.sis_user_id)
    return "" if key == "id" and person.id in others else str(getattr(person, key))


def as_canvas(marks: Marks, exported: Path) -> tuple[str, list[str]]:
    """A file for Canvas's import: the rows and the columns of a gradebook that was exported there, with our marks.
    Returned beside it: who is in Canvas and not on the roster. `CourseError` if that gradebook can't be read, has no
    column of a lesson or two of the same, or nobody of the roster.

    Canvas's columns of assignments have a number in brackets, which only Canvas knows: "Self-attention (1234)". A
    lesson's column is the one whose title is the lesson's name, or begins with its number.
    """
    rows = _canvas_rows(exported)
    heads = [head.strip() for head in rows[0]]
    columns_at = {head: heads.index(head) for head in CANVAS_COLUMNS if head in heads}
    columns = _canvas_lessons(exported, heads, list(marks.possible))
    by_key: dict[str, str] = {}
    for who, person in marks.people.items():
        keys = (who, person.sis_login_id, person.sis_user_id, person.canvas_id)
        by_key.update({key: who for key in keys if key})
    made = [[*columns_at, *(heads[at] for at in columns.values())]]
    made.append(
        [POINTS_POSSIBLE, *[""] * (len(columns_at) - 1), *(_number(marks.possible[lesson]) for lesson in columns)]
    )
    left_out: list[str] = []
    for row in rows[1:]:
        fields = {head: row[at].strip() if at < len(row) else "" for head, at in columns_at.items()}
        if is_no_person(fields["Student"], fields["ID"]):
            continue
        theirs = [fields[head] for head in ("ID", "SIS Login ID", "SIS User ID") if fields.get(head) in by_key]
        if not theirs:
            left_out.append(fields["Student"])
            continue
        own = marks.marks[by_key[theirs[0]]]
        made.append([*fields.values(), *(_number(own[lesson].points) for lesson in columns)])
    if len(made) == 2:
        raise CourseError(
            f"{exported}: none of the people in it are on the roster. First: grader roster COURSE {exported}"
        )
    return as_csv(made), left_out


def _canvas_rows(exported: Path) -> list[list[str]]:
    rows = rows_of(exported)
    heads = [head.strip() for head in rows[0]] if rows else []
    if "Student" not in heads or "ID" not in heads:
        raise CourseError(
            f"{exported}: expected the columns Student and ID, got {', '.join(heads) or 'nothing'}. Export the "
            "gradebook in Canvas (Grades, Export), and name that file with --from."
        )
    return rows


def _canvas_lessons(exported: Path, heads: Sequence[str], lessons: Sequence[str]) -> dict[str, int]:
    columns: dict[str, int] = {}
    for at, head in enumerate(heads):
        match = CANVAS_ASSIGNMENT.fullmatch(head)
        title = re.sub(r"\W+", "_", match["title"].strip().casefold()) if match else ""
        number = re.match(r"(\d+)(_|$)", title)
        lesson = choose(title, lessons) or (choose(number[1], lessons) if number else None)
        if lesson is None:
            lesson = next((lesson for lesson in lessons if title and lesson.partition("_")[2] == title), None)
        if lesson is None:
            continue
        if lesson in columns:
            raise CourseError(
                f"{exported}: two columns belong to {lesson}: {heads[columns[lesson]]!r} and {head!r}. Rename one."
            )
        columns[lesson] = at
    if not columns:
        raise CourseError(
            f"{exported}: no column belongs to a lesson. A column's heading must be the lesson's name or begin with "
            "its number, for example "
            f"'{lessons[0] if lessons else '01_self_attention'} (1234)'."
        )
    return columns


def _number(points: float | None) -> str:
    return "" if points is None else f"{points:.2f}".rstrip("0").rstrip(".")


class ExportMarks(ExportPlugin):
    """The table of `nbgrader export`: nbgrader's own columns, and one more that says which marks still wait for a
    teacher."""

    def export(self, gradebook: Gradebook) -> None:
        """Write one row for each student and assignment, in points, to the file that nbgrader's `--to` names."""
        to = self.to or "grades.csv"
        self.log.info("Exporting grades to %s", to)
        students = [
            student for student in gradebook.students if not self.student or student.id in map(str, self.student)
        ]
        assignments = [
            assignment
            for assignment in gradebook.assignments
            if not self.assignment or assignment.name in map(str, self.assignment)
        ]
        course = Path(str(self.config.CourseDirectory.get("root", ".")))
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
