"""The way back from the last reading of a list of people, of which `grader.course.last_reading` has the notes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from glob import escape, glob
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook, MissingEntry

from grader.course.folder import READINGS
from grader.course.json_lines import lines_file, read_lines, write_lines
from grader.course.last_reading import LAST
from grader.course.roster import Person, Roster, save
from grader.errors import CourseError
from grader.plain import made


@dataclass(frozen=True)
class TakenBackReading:
    """What the taking back of a reading did, as ids, and why somebody's entry stays as it is."""

    removed: tuple[str, ...]
    back: tuple[str, ...]
    stays: Mapping[str, str]


def undo_reading(course: Path, layout: Any) -> TakenBackReading:
    """Take the last reading of a list back. Whoever was changed since, or has handed something in, stays. `CourseError`
    if there is none. `layout` is nbgrader's own `CourseDirectory`."""
    path = lines_file(course, READINGS, LAST)
    lines = [line for _number, line in read_lines(path)]
    if not lines:
        raise CourseError(f"{course}: there is no reading of a list to undo.")
    people, stays = dict(Roster.of(course).people), dict[str, str]()
    removed, back = list[str](), list[str]()
    with Gradebook(layout.db_url, layout.course_id) as book:
        for line in lines:
            who = str(line["student"])
            was, became = (made(Person, line[key], str(path)) if line[key] else None for key in ("was", "became"))
            if people.get(who) not in (was, became):
                stays[who] = "left as they are, since their entry has changed since then"
            elif was is None and _has_work(layout, book, who):
                stays[who] = "left on the roster, since something of theirs was handed in"
            else:
                _put_back(book, people, who, was, line["table"])
                (removed if was is None else back).append(who)
    save(course, people.values())
    write_lines(course, READINGS, LAST, [])
    return TakenBackReading(tuple(sorted(removed)), tuple(sorted(back)), stays)


def _put_back(
    book: Any, people: dict[str, Person], who: str, was: Person | None, table: Mapping[str, str | None] | None
) -> None:
    if was is None:
        people.pop(who, None)
    else:
        people[who] = was
    if table is not None:
        book.update_or_create_student(who, **table)
        return
    with suppress(MissingEntry):
        book.remove_student(who)


def _has_work(layout: Any, book: Any, who: str) -> bool:
    """Whether something of somebody's was handed in: it is graded, or lies in the course."""
    with suppress(MissingEntry):
        if book.find_student(who).submissions:
            return True
    return bool(glob(layout.format_path(escape(layout.submitted_directory), escape(who), "*")))
