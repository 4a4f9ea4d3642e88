"""What was there before a collecting took something in, so that it can be taken back.

`.grader/collected/LESSON/` is of the last collection that changed anything: `when`, what the lesson's lists had (who is
to be settled, who worked together), and a folder for each student whose hand-in changed, with the files that were in
place and `about.json` (`Was`). What a collecting that was cut off had noted (`LESSON.new`) is a part of the next one's.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from grader.atomic import write_atomically
from grader.book.regrade_book import RegradeBook
from grader.book.results_log import stored_keys
from grader.course.class_directory import ClassDirectory
from grader.course.files import TIMESTAMP, read_regular
from grader.course.folder import CAME_FROM, COLLECTED, FOLDER, GROUPS, TO_SETTLE, folder_of, mode_in
from grader.course.json_lines import lines_file
from grader.errors import CourseError, UnknownLesson, Unreadable
from grader.handed_in.earlier import keep_only, kept_times
from grader.plain import made

ABOUT, WHEN = "about.json", "when"
LISTS = (TO_SETTLE, GROUPS)  # the lesson's lines of these kinds, each kept as KIND.jsonl


@dataclass(frozen=True)
class Was:
    """What was there of one student before a collecting."""

    put: str  # the digest of the notebook that the collecting put in place
    earlier: tuple[str, ...] = ()  # the folders of earlier hand-ins
    stored: str = ""  # the key of the result that the gradebook has
    handed_in: str = ""  # the gradebook's time; "" if it has none
    rows: dict[str, Any] | None = None  # the gradebook's rows; None if it has none


class Before:
    """Notes what is there, student by student, before a collecting changes it. `save` puts this in place of what was
    noted last. `CommandFailed`, before anything has changed, if the gradebook can't be opened."""

    def __init__(self, course: ClassDirectory, students: Collection[str]) -> None:
        noted = {who: Was("", tuple(kept_times(course, who))) for who in students}
        self._course, self._was = course, _with_marks(course, noted)
        self._new = folder_of(course.root, COLLECTED) / f"{course.lesson}.new"
        self._new.mkdir(exist_ok=True)
        for kind in LISTS:
            there, kept = lines_file(course.root, kind, course.lesson), self._new / f"{kind}.jsonl"
            if not kept.exists():
                write_atomically(kept, there.read_bytes() if there.is_file() else b"", mode_in(course.root))

    def note(self, student: str) -> None:
        """Copy a student's files as they are now, so that `--undo` can put them back."""
        target = self._new / student
        if (target / ABOUT).exists():  # by a collecting that was cut off, before it changed anything
            return
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        for name, path in places(self._course, student).items():
            with suppress(Unreadable, OSError):
                (target / name).write_bytes(read_regular(path, self._course.limits().notebook_bytes))
        _write(target / ABOUT, self._was[student], self._course)

    def save(self) -> None:
        """Keep what was noted of those for whom something has changed: what is in place, or what is kept beside it. If
        nothing has, what was kept before stays."""
        course, changed = self._course, {}
        for about in sorted(self._new.glob(f"*/{ABOUT}")):
            student, was = about.parent.name, _was(about)
            now, then = digest_of(course, student), _digest(about.parent / "notebook")
            if now != then or tuple(kept_times(course, student)) != was.earlier:
                changed[student] = replace(was, put=now)
            else:
                shutil.rmtree(about.parent)
        if not changed:
            shutil.rmtree(self._new, ignore_errors=True)
            return
        for student, was in changed.items():
            _write(self._new / student / ABOUT, was, course)
        (self._new / WHEN).write_text(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC")
        last = self._new.with_name(course.lesson)
        shutil.rmtree(last, ignore_errors=True)
        self._new.rename(last)


def _write(about: Path, was: Was, course: ClassDirectory) -> None:
    write_atomically(about, json.dumps(asdict(was)), mode_in(course.root))


def _was(about: Path) -> Was:
    was: Was = made(Was, json.loads(about.read_text()), str(about))
    return was


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def places(course: ClassDirectory, student: str) -> dict[str, Path]:
    """The paths of a student's files that a collecting, or the grading after it, changes, by the name of the copy of
    each."""
    folder, name = course.folder(course.layout.submitted_directory, student), f"{course.lesson}.ipynb"
    return {
        "notebook": folder / name,
        "time": folder / TIMESTAMP,
        "came-from": course.root / FOLDER / CAME_FROM / course.lesson / student,
        "autograded": course.folder(course.layout.autograded_directory, student) / name,
    }


def digest_of(course: ClassDirectory, student: str) -> str:
    """A digest of the student's notebook that is in place; "" if none is, or it can't be read."""
    data, _unreadable = course.submission(student).read(course.limits().notebook_bytes)
    return hashlib.sha256(data).hexdigest() if data else ""


def _with_marks(course: ClassDirectory, changed: Mapping[str, Was]) -> dict[str, Was]:
    """The notes with what the gradebook has on these students now."""
    stored = stored_keys(course.root, course.lesson)
    try:
        with RegradeBook(course.layout.db_url, course.layout.course_id, course.lesson, course.config) as book:
            rows, times = book.rows(changed), book.times(changed)
    except UnknownLesson:  # it was never handed out
        rows, times = {}, {}
    return {
        who: replace(was, stored=stored.get(who, ""), handed_in=str(times.get(who) or ""), rows=rows.get(who))
        for who, was in changed.items()
    }


def last_collecting(course: ClassDirectory) -> tuple[str, dict[str, Was]]:
    """When the last collecting was, in words, and by student what was there before it; `CourseError` if there is none.
    One that was cut off is the last."""
    if (course.root / FOLDER / COLLECTED / f"{course.lesson}.new").is_dir():
        Before(course, ()).save()
    folder = course.root / FOLDER / COLLECTED / course.lesson
    try:
        when = (folder / WHEN).read_text()
        found = {path.parent.name: _was(path) for path in sorted(folder.glob(f"*/{ABOUT}"))}
    except (OSError, ValueError):
        raise CourseError(f"{course.root}: there is no collection of {course.lesson} to undo.") from None
    return when, found


def files_back(course: ClassDirectory, student: str, was: Was) -> None:
    """Put a student's files back as they were, but for the notebook in `autograded/`, which is the gradebook's
    matter."""
    copies = course.root / FOLDER / COLLECTED / course.lesson / student
    for name, path in places(course, student).items():
        if name == "autograded":
            continue
        if (copies / name).is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(copies / name, path)
        else:
            path.unlink(missing_ok=True)
    with suppress(OSError):  # what a collecting made, and nothing else is in
        folder = course.folder(course.layout.submitted_directory, student)
        folder.rmdir()
        folder.parent.rmdir()
    keep_only(course, student, was.earlier)


def forget_collecting(course: ClassDirectory) -> None:
    """Remove what was noted of the last collecting, which is taken back; the lesson's lists are put back too."""
    folder = course.root / FOLDER / COLLECTED / course.lesson
    for kind in LISTS:
        folder_of(course.root, kind)
        there, kept = lines_file(course.root, kind, course.lesson), folder / f"{kind}.jsonl"
        if data := kept.read_bytes() if kept.is_file() else b"":
            write_atomically(there, data, mode_in(course.root))
        else:
            there.unlink(missing_ok=True)
    shutil.rmtree(folder)
