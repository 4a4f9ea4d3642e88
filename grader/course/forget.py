"""Removes a person from a course: every file, every row, every line; and looks for what is left."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from glob import escape, glob
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.exchange.default.exchange import Exchange
from nbgrader.utils import notebook_hash

from grader.atomic import write_atomically
from grader.course.class_directory import course_layout
from grader.course.files import SECRET_FILE, UntrustedFolder, read_regular
from grader.course.folder import (
    CAME_FROM,
    COLLECTED,
    EARLIER,
    EXTENSIONS,
    FOLDER,
    GROUPS,
    PREVIEW,
    READINGS,
    REGRADES,
    RESULTS,
    TIMES,
    TO_SETTLE,
    mode_in,
)
from grader.course.lateness import timestamp
from grader.course.roster import FILE, Person, Roster, did_you_mean, full_names, save
from grader.errors import CourseError, Unreadable

# Made from the gradebook and the log, and made again in a moment.
MADE_AGAIN = (
    "marks-*.csv",
    "marks-*.json",
    "feedback-*.zip",
    "insights.html",
    "regrade-*.html",
    "watch.html",
)
# What follows an id in the name of a hand-in in the exchange: the lesson, the time and, mostly, some letters.
HANDED_IN = re.compile(r"\+[^+]+\+\d{4}-\d\d-\d\d [^+]+(?:\+[^+]*)?")
# The lessons' own: nobody's name gets there.
NOT_SEARCHED = (".git", "source", "release", "base")


@dataclass
class Forgotten:
    """What was removed, in words, and the files in which the person is still mentioned."""

    removed: list[str] = field(default_factory=list)
    mentioned: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Removal:
    """Something that is removed: what it is, in words `before` and `after`, and how. `made_again`: it has others' data
    in it too, and a command can make it again without the person's."""

    before: str
    after: str
    do: Callable[[], object]
    made_again: bool = False


def steps_to_forget(course: Path, student: str) -> list[Removal]:
    """All that is to be removed of a student: in the course directory, the gradebook and the exchange. `CourseError` if
    nobody knows them."""
    layout = course_layout(course)
    exchange = _exchange(layout)
    folders = [*_folders(course, layout, student), *_inbound(exchange, student)]
    released = [exchange / "feedback" / f"{name}.html" for name in _released_names(folders)]
    steps = [
        _removal(course, path, partial(_remove, path, student))
        for path in (*folders, *released)
        if path.is_symlink() or path.exists()
    ]
    steps += [_lines(course, path, student, do) for path, do in _without_lines(course, student)]
    steps += [_lines(course, path, student, do) for path, do in _without_pages(course, student)]
    with Gradebook(layout.db_url, layout.course_id) as book, suppress(MissingEntry):
        book.find_student(student)
        # The address of another database may have a password in it.
        file = str(layout.db_url).removeprefix("sqlite:///")
        where = Path(file) if file != layout.db_url else "the gradebook"
        steps.append(_lines(course, where, student, partial(_remove_from_gradebook, layout, student)))
    people = Roster.of(course).people
    if student in people:
        others = [person for person in people.values() if person.id != student]
        steps.append(_lines(course, course / FILE, student, partial(save, course, others)))
    if not steps:
        near = did_you_mean(student, full_names(people))
        raise CourseError(f"{course}: there is no {student!r} in the files, the gradebook or the roster.{near}")
    again = [path for pattern in MADE_AGAIN for path in sorted(course.glob(pattern))]
    return [*steps, *(_removal(course, path, partial(path.unlink, missing_ok=True), True) for path in again)]


def forget(course: Path, student: str) -> Forgotten:
    """Remove a student from the course directory, gradebook and exchange; `CourseError` if nobody knows them."""
    steps = steps_to_forget(course, student)
    person = Roster.of(course).people.get(student, Person(student))
    for step in steps:
        step.do()
    layout = course_layout(course)
    people = Roster.of(course).people.values()
    others = [word for other in people for word in (*_called(other), *_written(other))]
    with Gradebook(layout.db_url, layout.course_id) as book:
        others += [word for other in book.students for word in (other.id, other.email or "")]
    left = mentions([course, _exchange(layout)], _called(person), others)
    return Forgotten([step.after for step in steps], sorted(map(str, left)))


def _called(person: Person) -> set[str]:
    return {name for name in (person.id, person.email, person.full_name, person.name) if name}


def _written(person: Person) -> list[str]:
    """Somebody's names, one of which may be another one's id, as the roster, a database and the log of lists have
    them."""
    names = {"first_name": person.first_name, "last_name": person.last_name}
    return [
        ",".join([person.id, *names.values()]),
        "".join([person.id, *names.values()]),
        *(json.dumps({column: name})[1:-1] for column, name in names.items()),
    ]


def _exchange(layout: Any) -> Path:
    return Path(Exchange(config=layout.config, coursedir=layout).root) / layout.course_id


def _shown(course: Path, path: Path | str) -> str:
    inside = isinstance(path, Path) and path.is_relative_to(course)
    return str(path.relative_to(course)) if isinstance(path, Path) and inside else str(path)


def _removal(course: Path, path: Path, do: Callable[[], object], made_again: bool = False) -> Removal:
    shown = _shown(course, path)
    return Removal(shown, f"removed: {shown}", do, made_again)


def _lines(course: Path, path: Path | str, student: str, do: Callable[[], object]) -> Removal:
    shown = _shown(course, path)
    return Removal(f"lines about {student} in {shown}", f"lines about {student} removed from {shown}", do)


def _remove(path: Path, student: str) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    if path.parent.name == student:
        with suppress(OSError):  # submitted/ann/, if nothing else was in it
            path.parent.rmdir()


def idle_since(course: Path, day: datetime) -> dict[str, bool]:
    """The students who have handed in nothing since a day (UTC), and whether they ever did: graded work, and what is
    collected or in the exchange and isn't graded yet. Whoever came into the course on that day or later isn't one of
    them; of whom the roster has no such date, whoever never handed in anything is."""
    layout, people = course_layout(course), Roster.of(course).people
    exchange = _exchange(layout)
    with Gradebook(layout.db_url, layout.course_id) as book:
        times = {
            student.id: [work.timestamp for work in student.submissions if work.timestamp] for student in book.students
        }
    idle = {}
    for student in sorted({*times, *people}):
        folders = (*_of_step(layout, layout.submitted_directory, student), *_inbound(exchange, student))
        own = [*times.get(student, []), *map(_handed_in, folders)]
        since = people.get(student, Person(student)).added
        if max(own) < day if own else since < f"{day:%Y-%m-%d}":
            idle[student] = bool(own)
    return idle


def _handed_in(folder: Path) -> datetime:
    """When a hand-in came (UTC); for one without a time, when its folder was last written to."""
    time = timestamp(UntrustedFolder(folder))
    return time or datetime.fromtimestamp(folder.lstat().st_mtime, UTC).replace(tzinfo=None)


def _of_step(layout: Any, step: str, student: str) -> list[Path]:
    """A student's folders in a step of nbgrader's, of all lessons."""
    return sorted(map(Path, glob(layout.format_path(escape(step), escape(student), "*"))))


def _folders(course: Path, layout: Any, student: str) -> Iterator[Path]:
    """Everything in the course directory that is the student's alone, files too, by its path."""
    for step in (layout.submitted_directory, layout.autograded_directory, layout.feedback_directory):
        yield from _of_step(layout, step, student)
    for kept in (EARLIER, CAME_FROM, COLLECTED):
        yield from sorted((course / FOLDER / kept).glob(f"*/{escape(student)}"))
    yield from sorted((course / FOLDER / REGRADES).glob(f"*/*/{escape(student)}.ipynb"))


def _inbound(exchange: Path, student: str) -> Iterator[Path]:
    """A student's hand-ins in the exchange; an id may have a + in it, and begin with another one's."""
    entries = sorted((exchange / "inbound").glob(f"{escape(student)}+*"))
    yield from (entry for entry in entries if HANDED_IN.fullmatch(entry.name.removeprefix(student)))


def _released_names(folders: Iterable[Path]) -> Iterator[str]:
    """The names, without an ending, under which feedback was released: nbgrader makes them from the secret of the
    submission."""
    for folder in folders:
        if not folder.is_dir():
            continue
        with suppress(Unreadable, OSError, UnicodeDecodeError):
            secret = read_regular(folder / SECRET_FILE, 10_000).decode()
            for notebook in folder.glob("*"):
                if notebook.suffix in (".ipynb", ".html"):
                    yield notebook_hash(secret=secret, notebook_id=notebook.stem)


def _without_lines(course: Path, student: str) -> Iterator[tuple[Path, Callable[[], object]]]:
    """The logs that have lines of the student, or lines that name them among others, and what writes them anew without
    these."""
    kinds = (RESULTS, PREVIEW, REGRADES, EXTENSIONS, TO_SETTLE, TIMES, COLLECTED, READINGS, GROUPS)
    for path in sorted(path for kind in kinds for path in (course / FOLDER / kind).rglob("*.jsonl")):
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
            yield path, partial(write_atomically, path, b"".join(kept), mode_in(course))


def _without_pages(course: Path, student: str) -> Iterator[tuple[Path, Callable[[], object]]]:
    """The files that note by student whose page of feedback is up to date, and what writes them anew without this
    one."""
    for path in sorted((course / FOLDER / "feedback").glob("*.json")):
        with suppress(ValueError):
            notes = json.loads(path.read_bytes())
            if isinstance(notes, dict) and notes.pop(student, None) is not None:
                yield path, partial(write_atomically, path, json.dumps(notes), mode_in(course))


def _remove_from_gradebook(layout: Any, student: str) -> None:
    with Gradebook(layout.db_url, layout.course_id) as book:
        book.remove_student(student)
    if layout.db_url.startswith("sqlite:///"):  # it keeps what was deleted in free pages
        with closing(sqlite3.connect(layout.db_url.removeprefix("sqlite:///"))) as database:
            database.execute("VACUUM")


def mentions(places: Iterable[Path], names: Iterable[str], others: Iterable[str] = ()) -> Iterator[Path]:
    """The files in which one of these names is, as a word of its own and not within another one's name (`others`), in
    their path or in their bytes. Folders that hold only the lessons' own files aren't searched."""
    words, longer = (
        "|".join(re.escape(name) for name in sorted(every, key=len, reverse=True)) or "(?!)"
        for every in (
            {*names},
            {other for other in others if any(name.lower() in other.lower() != name.lower() for name in names)},
        )
    )
    # In a database another one's name may stand beside other letters: it has no borders.
    pattern = re.compile(rf"(?:{longer})|(?<!\w)(?P<own>{words})(?!\w)".encode(), re.IGNORECASE)

    def named(data: bytes) -> bool:
        return any(match["own"] for match in pattern.finditer(data))

    for root in places:
        for folder, below, files in os.walk(root):
            below[:] = [name for name in below if name not in NOT_SEARCHED]
            for name in files:
                path = Path(folder, name)
                inside = os.fsencode(path.relative_to(root))
                try:
                    found = named(inside) or (path.is_file() and named(path.read_bytes()))
                except OSError:
                    found = False
                if found:
                    yield path
