"""What was there before a collecting took something in, so that it can be taken back.

`.grader/collected/LESSON/` is of the last collection that changed anything: `when`, `to-settle.jsonl` as it was, and a
folder for each student whose hand-in changed, with the files that were in place and `about.json` (`Was`).
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from grader.book.regrade_book import RegradeBook
from grader.book.results_log import stored_keys
from grader.course.class_directory import ClassDirectory
from grader.course.files import TIMESTAMP, read_regular
from grader.course.folder import CAME_FROM, COLLECTED, FOLDER, TO_SETTLE, folder_of, mode_in
from grader.course.json_lines import lines_file
from grader.errors import CourseError, UnknownLesson, Unreadable
from grader.handed_in.earlier import keep_only, kept_times
from grader.plain import made

ABOUT, WHEN, SETTLE = "about.json", "when", "to-settle.jsonl"


@dataclass(frozen=True)
class Was:
    """What was there of one student before a collecting: the folders of `earlier` hand-ins, and in the gradebook the
    key of the `stored` result, the time ("": not known), the rows (None: nothing). `put` is the digest of the notebook
    that the collecting put in place."""

    put: str
    earlier: tuple[str, ...] = ()
    stored: str = ""
    handed_in: str = ""
    rows: dict[str, Any] | None = None


class Before:
    """Notes what is there, student by student, before a collecting changes it. `save` puts this in place of what was
    noted last. `CommandFailed`, before anything has changed, if the gradebook can't be opened."""

    def __init__(self, course: ClassDirectory) -> None:
        _with_marks(course, {})
        self._course = course
        self._new = course.root / FOLDER / COLLECTED / f"{course.lesson}.new"
        self._earlier: dict[str, list[str]] = {}
        self._digests: dict[str, str] = {}
        settle = lines_file(course.root, TO_SETTLE, course.lesson)
        self._settle = settle.read_bytes() if settle.is_file() else b""

    def note(self, student: str) -> None:
        """Copy a student's files as they are now, so that `--undo` can put them back. A run calls it once for each
        student."""
        folder_of(self._course.root, COLLECTED)
        if not self._earlier:
            shutil.rmtree(self._new, ignore_errors=True)
        target = self._new / student
        target.mkdir(parents=True)
        for name, path in places(self._course, student).items():
            with suppress(Unreadable, OSError):
                (target / name).write_bytes(read_regular(path, self._course.limits().notebook_bytes))
        self._earlier[student] = kept_times(self._course, student)
        self._digests[student] = digest_of(self._course, student)

    def save(self) -> None:
        """Keep what was noted of those for whom something has changed; if nothing has, what was kept before stays."""
        course, changed = self._course, {}
        for student, earlier in self._earlier.items():
            now = digest_of(course, student)
            if now != self._digests[student] or kept_times(course, student) != earlier:
                changed[student] = Was(now, tuple(earlier))
            else:
                shutil.rmtree(self._new / student)
        if not changed:
            shutil.rmtree(self._new, ignore_errors=True)
            return
        for student, was in _with_marks(course, changed).items():
            (self._new / student / ABOUT).write_text(json.dumps(asdict(was)))
        (self._new / SETTLE).write_bytes(self._settle)
        (self._new / WHEN).write_text(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC")
        last = self._new.with_name(course.lesson)
        shutil.rmtree(last, ignore_errors=True)
        self._new.rename(last)


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
        who: Was(
            was.put, was.earlier, stored.get(who, ""), str(times[who] or "") if who in times else "", rows.get(who)
        )
        for who, was in changed.items()
    }


def last_collecting(course: ClassDirectory) -> tuple[str, dict[str, Was]]:
    """When the last collecting was, in words, and by student what was there before it; `CourseError` if there is
    none."""
    folder = course.root / FOLDER / COLLECTED / course.lesson
    try:
        when = (folder / WHEN).read_text()
        found = {
            path.parent.name: made(Was, json.loads(path.read_text()), str(path))
            for path in sorted(folder.glob(f"*/{ABOUT}"))
        }
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
    """Remove what was noted of the last collecting, which is taken back; whose work waits to be settled is put back
    too."""
    folder = course.root / FOLDER / COLLECTED / course.lesson
    folder_of(course.root, TO_SETTLE)
    settle = lines_file(course.root, TO_SETTLE, course.lesson)
    data = (folder / SETTLE).read_bytes() if (folder / SETTLE).is_file() else b""
    if data:
        settle.write_bytes(data)
        settle.chmod(mode_in(course.root))
    else:
        settle.unlink(missing_ok=True)
    shutil.rmtree(folder)
