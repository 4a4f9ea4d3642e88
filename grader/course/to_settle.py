"""Whose hand-ins wait to be settled: work of which it isn't known which of several people it is.

`.grader/to-settle/LESSON.jsonl` has a line for each such work, by the name that the platform gave it:

    {"format": 1, "label": "Ann Lee_505", "students": {"20260006": "Ann Lee", "20260007": "Ann Lee"}}
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from grader.course.folder import TO_SETTLE
from grader.course.json_lines import lines_file, read_lines, write_lines


def works_to_settle(course: Path, lesson: str) -> dict[str, dict[str, str]]:
    """By label, the people whose work it may be: their names by id. Empty if nothing waits; a line of another form is
    passed over."""
    works = {}
    for _number, line in read_lines(lines_file(course, TO_SETTLE, lesson)):
        with suppress(KeyError, AttributeError):
            works[str(line["label"])] = {str(who): str(name) for who, name in line["students"].items()}
    return works


def unsettled(course: Path, lesson: str) -> set[str]:
    """The ids of those whose work may be among what waits: until that is settled, nobody can say that they handed in
    nothing."""
    return {who for people in works_to_settle(course, lesson).values() for who in people}


def save_to_settle(course: Path, lesson: str, works: Mapping[str, Mapping[str, str]]) -> None:
    """Write the lesson's file anew: by label, the names by id of those whose work it may be. Without works it is
    removed."""
    lines = [{"label": label, "students": dict(people)} for label, people in sorted(works.items())]
    write_lines(course, TO_SETTLE, lesson, lines)
