"""Removes a person from a course: every file, every row, every line; and looks for what is left."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import datetime
from glob import escape, glob
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.exchange.default.exchange import Exchange
from nbgrader.utils import notebook_hash

from grader.atomic import write_atomically
from grader.course.class_directory import course_layout
from grader.course.files import SECRET_FILE, read_regular
from grader.course.folder import CAME_FROM, EARLIER, FOLDER, PREVIEW, REGRADES, RESULTS, mode_in
from grader.course.roster import FILE, Person, Roster, did_you_mean, save
from grader.course.to_settle import forget_unsettled
from grader.errors import CourseError, Unreadable

# Made from the gradebook and the log, and made again in a moment.
MADE_AGAIN = (
    "marks-*.csv",
    "marks-*.json",
    "feedback-*.zip",
    "insights.html",
    "regrade-*.html",
    "watch.html",
    f"{FOLDER}/feedback/*.json",
)
# The lessons' own: nobody's name gets there.
NOT_SEARCHED = (".git", "source", "release", "base")


@dataclass
class Forgotten:
    """What was removed, and the files in which the person is still mentioned."""

    removed: list[str] = field(default_factory=list)
    mentioned: list[str] = field(default_factory=list)


def forget(course: Path, student: str) -> Forgotten:
    """Remove a student from the course directory, gradebook and exchange; `CourseError` if nobody knows them."""
    layout = course_layout(course)
    person = Roster.of(course).people.get(student, Person(student))
    outcome = Forgotten()
    exchange = Path(Exchange(config=layout.config, coursedir=layout).root) / layout.course_id
    folders = [*_folders(course, layout, student), *_inbound(exchange, student)]
    released = [exchange / "feedback" / f"{name}.html" for name in _released_names(folders)]
    for path in (*folders, *released):
        if path.is_symlink() or path.is_file():
            path.unlink()
        elif path.is_dir():
            shutil.rmtree(path)
        else:
            continue
        outcome.removed.append(str(path))
        if path.parent.name == student:
            with suppress(OSError):  # submitted/ann/, if nothing else was in it
                path.parent.rmdir()
    outcome.removed += [str(path) for path in _without_lines(course, student)]
    outcome.removed += [str(path) for path in forget_unsettled(course, student)]
    person_in_book = _remove_from_gradebook(layout, student)
    outcome.removed += [layout.db_url] if person_in_book else []
    if student in Roster.of(course).people:
        save(course, [one for one in Roster.of(course).people.values() if one.id != student])
        outcome.removed.append(str(course / FILE))
    if not outcome.removed:
        meant = did_you_mean(student, {who: one.full_name for who, one in Roster.of(course).people.items()})
        said = f"{course}: nobody knows {student!r}: no files, no line in the gradebook or in the roster.{meant}"
        raise CourseError(said)
    for pattern in MADE_AGAIN:
        for path in course.glob(pattern):
            path.unlink()
            outcome.removed.append(str(path))
    names = {one for one in (person.id, person.email, person.full_name, person.name) if one}
    outcome.mentioned = sorted(map(str, mentions([course, exchange], names)))
    return outcome


def last_handed_in(course: Path) -> dict[str, datetime]:
    """When each student in the gradebook last handed something in (UTC)."""
    layout = course_layout(course)
    with Gradebook(layout.db_url, layout.course_id) as book:
        times = {one.id: [work.timestamp for work in one.submissions if work.timestamp] for one in book.students}
    return {student: max(found) for student, found in times.items() if found}


def _folders(course: Path, layout: Any, student: str) -> Iterator[Path]:
    """Everything in the course directory that is the student's alone."""
    steps = (layout.submitted_directory, layout.autograded_directory, layout.feedback_directory)
    for step in steps:
        pattern = layout.format_path(escape(step), escape(student), "*")
        yield from (Path(found) for found in sorted(glob(pattern)))
    for kept in (EARLIER, CAME_FROM):
        yield from sorted((course / FOLDER / kept).glob(f"*/{escape(student)}"))
    yield from sorted((course / FOLDER / REGRADES).glob(f"*/*/{escape(student)}.ipynb"))


def _inbound(exchange: Path, student: str) -> Iterator[Path]:
    yield from sorted((exchange / "inbound").glob(f"{escape(student)}+*"))


def _released_names(folders: Iterable[Path]) -> Iterator[str]:
    """By what names feedback was released: nbgrader makes them from the secret of the submission."""
    for folder in folders:
        if not folder.is_dir():
            continue
        with suppress(Unreadable, OSError, UnicodeDecodeError):
            secret = read_regular(folder / SECRET_FILE, 10_000).decode()
            for notebook in folder.glob("*"):
                if notebook.suffix in (".ipynb", ".html"):
                    yield notebook_hash(secret=secret, notebook_id=notebook.stem)


def _without_lines(course: Path, student: str) -> Iterator[Path]:
    """The logs that had lines of the student, or lines that named them among others, written anew without them."""
    logs = (path for kind in (RESULTS, PREVIEW, REGRADES) for path in (course / FOLDER / kind).glob("*.jsonl"))
    for path in sorted(logs):
        kept, changed = [], False
        for line in path.read_bytes().splitlines(keepends=True):
            try:
                data = json.loads(line)
            except ValueError:
                data = None
            if not isinstance(data, dict):
                changed = True  # a torn line may be anybody's
                continue
            if data.get("student") == student:
                changed = True
                continue
            for names in ("stored", "students"):
                if student in data.get(names, {}):
                    del data[names][student]
                    changed, line = True, json.dumps(data).encode() + b"\n"
            kept.append(line)
        if changed:
            write_atomically(path, b"".join(kept), mode_in(course))
            yield path


def _remove_from_gradebook(layout: Any, student: str) -> bool:
    with Gradebook(layout.db_url, layout.course_id) as book:
        try:
            book.remove_student(student)
        except MissingEntry:
            return False
    if layout.db_url.startswith("sqlite:///"):  # it keeps what was deleted in free pages
        with closing(sqlite3.connect(layout.db_url.removeprefix("sqlite:///"))) as database:
            database.execute("VACUUM")
    return True


def mentions(places: Iterable[Path], names: Iterable[str]) -> Iterator[Path]:
    """The files in which one of the names is, as a word of its own, in their path or in their bytes."""
    words = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    pattern = re.compile(rf"(?<!\w)(?:{words})(?!\w)".encode() if words else b"(?!)", re.IGNORECASE)
    for place in places:
        for folder, below, files in os.walk(place):
            below[:] = [name for name in below if name not in NOT_SEARCHED]
            for name in files:
                path = Path(folder, name)
                inside = os.fsencode(path.relative_to(place))
                try:
                    found = pattern.search(inside) or (path.is_file() and pattern.search(path.read_bytes()))
                except OSError:
                    found = None
                if found:
                    yield path
