"""The files under `autograded/`, as Formgrader and `nbgrader generate_feedback` take them."""

from __future__ import annotations

import contextlib
import fnmatch
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path, PurePath
from typing import Any

from nbgrader.utils import parse_utc

from grader.atomic import write_atomically
from grader.classroom.class_directory import ClassDirectory, Submission
from grader.classroom.files import UntrustedFolder
from grader.judge.reader import Unreadable

TIMESTAMP = "timestamp.txt"


class Autograded:
    """Writes the folders of a lesson."""

    def __init__(self, course: ClassDirectory) -> None:
        self._course = course
        layout: Any = course.layout
        self._step = layout.autograded_directory
        self._ignored = [*layout.ignore, "*.ipynb"]
        self._most = 1000 * int(layout.max_dir_size)
        default = 664 if layout.groupshared else 444
        self._mode = int(str(course.config.Autograde.get("permissions", default)), 8)
        self._own = list(self._others(UntrustedFolder(course.folder(layout.source_directory))))

    def path(self, submission: Submission) -> Path:
        """Where a student's notebook goes."""
        return self._course.folder(self._step, submission.student) / f"{submission.name}.ipynb"

    def there(self, submission: Submission) -> bool:
        """Whether it lies there."""
        with contextlib.suppress(OSError):
            return self.path(submission).stat().st_size > 0
        return False

    def write(self, submission: Submission, notebook: bytes) -> None:
        """Write a student's folder: other files first, the course's own above the student's, the notebook last."""
        target = self.path(submission)
        target.parent.mkdir(parents=True, exist_ok=True)
        for name, data in (*self._others(submission.folder), *self._own):
            (target.parent / name).parent.mkdir(parents=True, exist_ok=True)
            write_atomically(target.parent / name, data, self._mode, durable=False)
        write_atomically(target, notebook, self._mode, durable=False)  # the log has what it is made from

    def _others(self, folder: UntrustedFolder) -> Iterator[tuple[PurePath, bytes]]:
        """The regular files of a folder that are no notebooks."""
        for path, data in folder.contents(self._most, self._is_ignored):
            if isinstance(data, bytes):
                yield path, data

    def _is_ignored(self, name: str) -> bool:
        return any(fnmatch.fnmatch(name, pattern) for pattern in self._ignored)


def timestamp(folder: UntrustedFolder) -> datetime | None:
    """When a submission was handed in, as nbgrader's exchange noted it; None if that can't be told."""
    try:
        text = folder.read(TIMESTAMP, 100).decode().strip()
        found: datetime | None = parse_utc(text) if text else None
    except (Unreadable, ValueError, OverflowError):
        return None
    return found
