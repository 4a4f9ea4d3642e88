"""The last reading of a list of people, as it was before: `grader roster --undo` takes it back.

`.grader/reading/last.jsonl` has a line for each person whom it added or changed: what `roster.csv` and nbgrader's table
of students had of them before (null: nothing), and what they have since.

    {"format": 1, "student": "ann", "was": {"id": "ann", ...}, "became": {...}, "table": {"email": "ann@x.org", ...}}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from nbgrader.api import MissingEntry

from grader.course.folder import READINGS
from grader.course.json_lines import write_lines

LAST = "last"
IN_THE_TABLE = ("first_name", "last_name", "email", "lms_user_id")  # of what the roster knows of somebody


def note_reading(
    course: Path, book: Any, old: Mapping[str, Mapping[str, str]], new: Iterable[Mapping[str, str]]
) -> None:
    """Note what is there of the people of `new`, before it becomes what is said of them; `old` are the entries on the
    roster, by id; `book` is nbgrader's gradebook."""
    write_lines(
        course,
        READINGS,
        LAST,
        [
            {"student": who, "was": old.get(who), "became": entry, "table": _row(book, who)}
            for entry in new
            for who in (entry["id"],)
        ],
    )


def _row(book: Any, student: str) -> dict[str, str | None] | None:
    """What nbgrader's table of students has of somebody; None if nothing."""
    with suppress(MissingEntry):
        found = book.find_student(student)
        return {name: getattr(found, name) for name in IN_THE_TABLE}
    return None
