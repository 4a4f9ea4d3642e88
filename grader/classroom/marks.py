"""The marks of a course as the gradebook has them, and the files that learning platforms import.

A mark is the gradebook's score less its late penalty. There is none where nothing was handed in, where the student is
excused, and where something still waits for a mark by hand: the three are told apart.
"""

from __future__ import annotations

import csv
import hashlib
import hmac
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook

from grader.classroom.roster import Person, Roster
from grader.errors import CourseError
from grader.lesson_names import choose

MARKED, MISSING, EXCUSED, OPEN = "marked", "not handed in", "excused", "waits for a mark by hand"
# A spreadsheet takes a text that begins so for a formula, and runs it.
FORMULA = ("=", "+", "-", "@", "\t", "\r")
CANVAS_COLUMNS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
CANVAS_ASSIGNMENT = re.compile(r"(?P<title>.*) \((?P<number>\d+)\)")
POINTS_POSSIBLE = "Points Possible"
# What Moodle can tell people by, the best first.
MOODLE_KEYS = {"moodle": "ID number", "email": "Email address", "id": "Username"}


@dataclass(frozen=True)
class Mark:
    """One student's mark of one lesson. `points` is None unless `state` is "marked"."""

    state: str
    points: float | None = None


@dataclass
class Marks:
    """`possible` has the points of each lesson, `marks` the marks by student and lesson, `totals` per cents of all."""

    possible: dict[str, float] = field(default_factory=dict)
    people: dict[str, Person] = field(default_factory=dict)
    marks: dict[str, dict[str, Mark]] = field(default_factory=dict)
    totals: dict[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Rules:
    """How the marks of the lessons make a total, from the course's settings.

    weights: lesson -> what it counts; 1 where nothing is said, 0 for not at all. best_of: how many lessons count, those
    with the largest share of their points; 0 for all. excused: student -> lessons that don't count for them.
    """

    weights: Mapping[str, float] = field(default_factory=dict)
    best_of: int = 0
    excused: Mapping[str, Sequence[str]] = field(default_factory=dict)


def rules_of(config: Any, lessons: Sequence[str]) -> Rules:
    """The rules in `c.CourseMarks` of nbgrader_config.py, with the lessons' full names."""
    told = config.CourseMarks
    unknown = sorted(set(told) - {"weights", "best_of", "excused"})
    if unknown:
        raise CourseError(f"c.CourseMarks.{unknown[0]}: there is no such rule; there are: weights, best_of, excused.")

    def lesson(name: object) -> str:
        found = choose(str(name), lessons)
        if found is None:
            raise CourseError(f"c.CourseMarks: {name!r} is none of the lessons: {', '.join(lessons)}.")
        return found

    try:
        weights = {lesson(name): float(weight) for name, weight in dict(told.get("weights", {})).items()}
        best_of = int(told.get("best_of", 0))
        excused = {str(who): [lesson(one) for one in names] for who, names in dict(told.get("excused", {})).items()}
    except (TypeError, ValueError) as error:
        raise CourseError(f"c.CourseMarks: expected numbers and lists of lessons: {error}") from None
    if best_of < 0 or any(weight < 0 for weight in weights.values()):
        raise CourseError("c.CourseMarks: weights and best_of can't be less than 0.")
    return Rules(weights, best_of, excused)


def marks_of(course: Path, layout: Any, config: Any) -> Marks:
    """Everybody's marks: of those in the roster and those in the gradebook."""
    found = Marks()
    with Gradebook(layout.db_url, layout.course_id) as book:
        assignments = sorted(book.assignments, key=lambda one: str(one.name))
        found.possible = {one.name: float(one.max_score) for one in assignments}
        rules = rules_of(config, list(found.possible))
        people = {
            one.id: Person(one.id, one.first_name or "", one.last_name or "", one.email or "") for one in book.students
        }
        found.people = dict(sorted({**people, **Roster.of(course).people}.items()))
        for who in found.people:
            found.marks[who] = {one: Mark(MISSING) for one in found.possible}
        for assignment in assignments:
            for submission in assignment.submissions:
                found.marks[submission.student_id][assignment.name] = _mark(submission)
        for who, lessons in rules.excused.items():
            if who not in found.marks:
                raise CourseError(f"c.CourseMarks.excused: there is no student {who!r} in the roster or the gradebook.")
            found.marks[who] |= {lesson: Mark(EXCUSED) for lesson in lessons}
    found.totals = {who: total(marks, found.possible, rules) for who, marks in found.marks.items()}
    return found


def _mark(submission: Any) -> Mark:
    grades = [grade for notebook in submission.notebooks for grade in notebook.grades]
    if submission.needs_manual_grade or any(
        grade.auto_score is None and grade.manual_score is None for grade in grades
    ):
        return Mark(OPEN)
    return Mark(MARKED, round(max(0.0, submission.score - (submission.late_submission_penalty or 0.0)), 2))


def total(marks: Mapping[str, Mark], possible: Mapping[str, float], rules: Rules) -> float | None:
    """Per cent of the lessons that count; what wasn't handed in has 0 of them. None while something that could count
    waits for a mark by hand, and where nothing counts.

    >>> marks = {"01": Mark(MARKED, 5.0), "02": Mark(MARKED, 10.0), "03": Mark(MISSING), "04": Mark(EXCUSED)}
    >>> possible = dict.fromkeys(marks, 10.0)
    >>> total(marks, possible, Rules()), total(marks, possible, Rules({"02": 2.0}, best_of=2))
    (50.0, 83.33)
    """
    counting = {name: mark for name, mark in marks.items() if mark.state != EXCUSED and rules.weights.get(name, 1) > 0}
    if any(mark.state == OPEN for mark in counting.values()):
        return None
    shares = [
        ((mark.points or 0.0) / possible[name] if possible[name] else 0.0, float(rules.weights.get(name, 1)))
        for name, mark in counting.items()
    ]
    shares.sort(key=lambda share: -share[0])
    best = shares[: rules.best_of or None]
    weight = sum(weight for _share, weight in best)
    return round(100 * sum(share * weight for share, weight in best) / weight, 2) if weight else None


def pseudonymous(marks: Marks, secret: bytes) -> Marks:
    """The same marks without names: an id that only who has the secret can work out stands for each person."""
    names = {who: hmac.new(secret, who.encode(), hashlib.sha256).hexdigest()[:16] for who in marks.people}
    ordered = sorted(names, key=lambda who: names[who])
    return Marks(
        marks.possible,
        {names[who]: Person(names[who]) for who in ordered},
        {names[who]: marks.marks[who] for who in ordered},
        {names[who]: marks.totals[who] for who in ordered},
    )


# --- files ------------------------------------------------------------------------------------------------------------


def as_csv(marks: Marks) -> str:
    """A row a student: names, a column a lesson, the total, and in words why marks are blank."""
    rows: list[list[str]] = [["id", "last_name", "first_name", "email", *marks.possible, "total_percent", "notes"]]
    rows.append([POINTS_POSSIBLE, "", "", "", *map(_number, marks.possible.values()), "100", ""])
    for who, person in marks.people.items():
        own = marks.marks[who]
        notes = "; ".join(f"{lesson}: {mark.state}" for lesson, mark in own.items() if mark.points is None)
        names = [harmless(text) for text in (who, person.last_name, person.first_name, person.email)]
        rows.append([*names, *(_number(mark.points) for mark in own.values()), _number(marks.totals[who]), notes])
    return _csv(rows)


def as_json(marks: Marks) -> str:
    """All of it, with the state of every mark."""
    students = [
        {
            **{key: value for key, value in asdict(person).items() if value},
            "marks": {lesson: asdict(mark) for lesson, mark in marks.marks[who].items()},
            "total_percent": marks.totals[who],
        }
        for who, person in marks.people.items()
    ]
    return json.dumps({"possible": marks.possible, "students": students}, indent=1, ensure_ascii=False) + "\n"


def as_moodle(marks: Marks) -> str:
    """For Moodle's import of grades: the key that everybody in the roster has, and a column a lesson. A blank changes
    nothing there. No feedback: Moodle takes it without a grade as a grade of nothing."""
    key = next((key for key in MOODLE_KEYS if all(getattr(one, key) for one in marks.people.values())), "id")
    rows = [[MOODLE_KEYS[key], *marks.possible]]
    for who, person in marks.people.items():
        rows.append([harmless(getattr(person, key)), *(_number(mark.points) for mark in marks.marks[who].values())])
    return _csv(rows)


def as_canvas(marks: Marks, exported: Path) -> tuple[str, list[str]]:
    """For Canvas's import: the rows and the columns of a gradebook that was exported there, with our marks.

    Its columns of assignments have a number in brackets, which only Canvas knows: "Self-attention (1234)". A lesson's
    column is the one whose title is the lesson's name, or begins with its number. Returned beside the file: who is in
    Canvas and not in the roster.
    """
    rows = _canvas_rows(exported)
    heads = [head.strip() for head in rows[0]]
    place = {head: heads.index(head) for head in CANVAS_COLUMNS if head in heads}
    columns = _canvas_lessons(exported, heads, list(marks.possible))
    by_key: dict[str, str] = {}
    for who, person in marks.people.items():
        keys = (who, person.sis_login_id, person.sis_user_id, person.canvas_id)
        by_key.update({key: who for key in keys if key})
    made = [[*place, *(heads[at] for at in columns.values())]]
    made.append([POINTS_POSSIBLE, *[""] * (len(place) - 1), *(_number(marks.possible[one]) for one in columns)])
    left_out: list[str] = []
    for row in rows[1:]:
        told = {head: row[at].strip() if at < len(row) else "" for head, at in place.items()}
        if not told["ID"]:
            continue  # its row of points, and others that are no people
        theirs = [told[head] for head in ("ID", "SIS Login ID", "SIS User ID") if told.get(head) in by_key]
        if not theirs:
            left_out.append(told["Student"])
            continue
        own = marks.marks[by_key[theirs[0]]]
        made.append([*(harmless(text) for text in told.values()), *(_number(own[lesson].points) for lesson in columns)])
    if len(made) == 2:
        raise CourseError(f"{exported}: nobody in it is in the roster. First: grader roster COURSE {exported}")
    return _csv(made), left_out


def _canvas_rows(exported: Path) -> list[list[str]]:
    try:
        rows = list(csv.reader(io.StringIO(exported.read_text("utf-8-sig"), newline=""), strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CourseError(f"{exported} can't be read as a gradebook that Canvas exported: {error}") from None
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
            lesson = next((one for one in lessons if title and one.partition("_")[2] == title), None)
        if lesson is None:
            continue
        if lesson in columns:
            raise CourseError(
                f"{exported}: two columns are {lesson}'s: {heads[columns[lesson]]!r} and {head!r}. Rename one."
            )
        columns[lesson] = at
    if not columns:
        raise CourseError(
            f"{exported}: no column is a lesson's. A title is the lesson's name or begins with its number, for example "
            f"'{lessons[0] if lessons else '01_self_attention'} (1234)'."
        )
    return columns


def harmless(text: str) -> str:
    """A text that a spreadsheet doesn't take for a formula.

    >>> harmless("=1+1"), harmless("Ann")
    ("'=1+1", 'Ann')
    """
    return f"'{text}" if text.startswith(FORMULA) else text


def _number(points: float | None) -> str:
    return "" if points is None else f"{points:.2f}".rstrip("0").rstrip(".")


def _csv(rows: Sequence[Sequence[str]]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
