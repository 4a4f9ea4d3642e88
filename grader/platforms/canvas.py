"""Canvas: "Download submissions", its gradebook as CSV, "Re-upload submissions".

A file is called "lastfirst[_LATE]_USER_NUMBER_THEIR NAME". USER is Canvas's own number of the person, which the
roster has where its list came from Canvas; NUMBER is the file's. Canvas takes feedback by the first two numbers, and
then shows our file under the name of theirs, whatever we call it (canvas-lms issue 2406), so what goes there is a
notebook.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from grader.errors import CourseError
from grader.lesson_names import choose
from grader.platforms.platform import Author, ClassMarks, MarksFile, Platform, Row, Source, number

NAME = re.compile(r"(?P<name>[^_]+)_(?P<late>(?i:LATE)_)?(?P<user>\d+)_(?P<number>\d+)_(?P<file>.+)", re.DOTALL)
COLUMNS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
KEYS = {"ID": "canvas_id", "SIS Login ID": "sis_login_id", "SIS User ID": "sis_user_id"}
ASSIGNMENT = re.compile(r"(?P<title>.*) \((?P<number>\d+)\)")
POINTS_POSSIBLE = "Points Possible"


class Canvas(Platform):
    """Canvas."""

    key, title, rank = "canvas", "Canvas", 30
    headings: ClassVar[Mapping[str, str]] = {
        "student": "name",
        "id": "canvas_id",
        "sis user id": "sis_user_id",
        "sis login id": "sis_login_id",
    }
    ids = ("sis login id", "sis user id", "id")
    is_headed = frozenset({"student", "id"})
    list_has = "`Student` and `ID`"
    pattern, has_times = NAME, True
    takes_marks, wants_export, takes_feedback = True, True, "notebook"
    names_in_words = "`lastfirst_LATE_12345_67890_01_self_attention-1.ipynb`"
    students_write = "the name before the first number, and the file's own name at the end; not the numbers"
    times_in_words = "the zip's; `LATE` is Canvas's own word"
    marks_in_words = "the gradebook that Canvas exported (`--from`), with our marks"
    feedback_in_words = "a notebook for each hand-in, under the same name (*Re-upload submissions*)"

    def is_nobody(self, person: Mapping[str, str]) -> bool:
        """Posting policies (without a name or a number), points, Canvas's test student."""
        name, own = person.get("name", ""), person.get("canvas_id", "")
        return not (name or own) or name.casefold() == "points possible" or self.is_test(person)

    def is_test(self, person: Mapping[str, str]) -> bool:
        """Canvas's test student."""
        return person.get("name", "").casefold() in ("student, test", "test student")

    def authors(self, source: Source) -> dict[str, Author]:
        """By the number in a file's name; the name counts where the roster has no number of Canvas's."""
        found = {}
        for top, is_folder in source.tops.items():
            match = None if is_folder else NAME.fullmatch(top)
            if match:
                label, key = self.key_of(top)
                numbers = (("canvas_id", key),)
                found[top] = Author(
                    self.key, top, label, key, numbers, names=(match["name"],), late=bool(match["late"])
                )
        return found

    def key_of(self, given: str) -> tuple[str, str]:
        """The person's name and number in Canvas, and the number."""
        match = NAME.fullmatch(given)
        return (f"{match['name']}_{match['user']}", match["user"]) if match else ("", "")

    def own_name(self, given: str) -> str:
        """Without the number that Canvas puts behind the name of what is handed in once more.

        >>> PLATFORM.own_name("leeann_501_9001_helper-1.py")
        'helper.py'
        """
        return re.sub(r"-\d+(?=\.\w+$)", "", super().own_name(given))

    def marks(self, marks: ClassMarks, exported: Sequence[Row], where: str) -> MarksFile:
        """The rows and the columns of a gradebook that was exported there, with our marks. `CourseError` if that has no
        column of a lesson or two of the same, or nobody of the roster.

        Canvas's columns of assignments have a number in brackets, which only Canvas knows: "Self-attention (1234)". A
        lesson's column is the one whose title is the lesson's name, or begins with its number.
        """
        heads = [head.strip() for head in exported[0]] if exported else []
        if "Student" not in heads or "ID" not in heads:
            raise CourseError(
                f"{where}: expected the columns Student and ID, got {', '.join(heads) or 'nothing'}. Export the "
                "gradebook in Canvas (Grades, Export), and name that file with --from."
            )
        columns_at = {head: heads.index(head) for head in COLUMNS if head in heads}
        columns = _lessons(where, heads, list(marks.possible))
        by_key: dict[tuple[str, str], str] = {}
        for who, person in marks.people.items():
            told = {
                "ID": person["canvas_id"],
                "SIS Login ID": person["sis_login_id"],
                "SIS User ID": person["sis_user_id"],
            }
            by_key.update({(head, key): who for head, key in told.items() if key})
        for who in marks.people:  # an id is one of the three: which, the roster doesn't tell
            for head in ("ID", "SIS Login ID", "SIS User ID"):
                by_key.setdefault((head, who), who)
        made: list[Sequence[object]] = [[*columns_at, *(heads[at] for at in columns.values())]]
        possible = [number(marks.possible[lesson]) for lesson in columns]
        made.append([POINTS_POSSIBLE, *[""] * (len(columns_at) - 1), *possible])
        left_out: list[str] = []
        for row in exported[1:]:
            fields = {head: row[at].strip() if at < len(row) else "" for head, at in columns_at.items()}
            if self.is_nobody({"name": fields["Student"], "canvas_id": fields["ID"]}):
                continue
            theirs = [by_key[head, key] for head, key in fields.items() if (head, key) in by_key]
            if not theirs:
                left_out.append(fields["Student"])
                continue
            own = marks.points[theirs[0]]
            made.append([*fields.values(), *(number(own[lesson]) for lesson in columns)])
        if len(made) == 2:
            raise CourseError(
                f"{where}: none of the people in it are on the roster. First: grader roster COURSE {where}"
            )
        return MarksFile(made, left_out=tuple(left_out))

    def feedback_name(self, given: str, lesson: str) -> str:
        """Canvas takes the first two numbers between underscores in a file's name: the student and their file.

        >>> PLATFORM.feedback_name("leeann_LATE_501_9001_work-1.ipynb", "01")
        'leeann_LATE_501_9001_work-1.ipynb'
        """
        return given if NAME.fullmatch(given) else ""


def _lessons(where: str, heads: Sequence[str], lessons: Sequence[str]) -> dict[str, int]:
    columns: dict[str, int] = {}
    for at, head in enumerate(heads):
        match = ASSIGNMENT.fullmatch(head)
        title = re.sub(r"\W+", "_", match["title"].strip().casefold()) if match else ""
        begins = re.match(r"(\d+)(_|$)", title)
        lesson = choose(title, lessons) or (choose(begins[1], lessons) if begins else None)
        if lesson is None:
            lesson = next((lesson for lesson in lessons if title and lesson.partition("_")[2] == title), None)
        if lesson is None:
            continue
        if lesson in columns:
            raise CourseError(
                f"{where}: two columns belong to {lesson}: {heads[columns[lesson]]!r} and {head!r}. Rename one."
            )
        columns[lesson] = at
    if not columns:
        raise CourseError(
            f"{where}: no column belongs to a lesson. A column's heading must be the lesson's name or begin with "
            "its number, for example "
            f"'{lessons[0] if lessons else '01_self_attention'} (1234)'."
        )
    return columns


PLATFORM = Canvas()
