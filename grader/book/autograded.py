"""The files under `autograded/`, as Formgrader and `nbgrader generate_feedback` take them."""

from __future__ import annotations

import contextlib
import fnmatch
import json
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import Any

from grader.atomic import write_atomically
from grader.book.rebuild import RESULT
from grader.course.class_directory import ClassDirectory, Submission
from grader.course.files import SECRET_BYTES, SECRET_FILE, TIMESTAMP, UntrustedFolder
from grader.course.lateness import timestamp
from grader.errors import Unreadable
from grader.judge.result import SubmissionResult

MOST_BYTES = 200 * 2**20  # of a notebook in autograded/


class Autograded:
    """Writes the `autograded/` folders of a lesson."""

    def __init__(self, course: ClassDirectory) -> None:
        self.course = course
        layout: Any = course.layout
        self.step = layout.autograded_directory
        self._ignored = [*layout.ignore, "*.ipynb"]
        self._most = 1000 * int(layout.max_dir_size)
        default = 664 if layout.groupshared else 444
        self._mode = int(str(course.config.Autograde.get("permissions", default)), 8)
        own = UntrustedFolder(course.folder(layout.source_directory)).contents(self._most, self._is_ignored)
        self._own = {path: data for path, data in own if isinstance(data, bytes)}

    def path(self, submission: Submission) -> Path:
        """The path at which a student's notebook lies, or would."""
        return self.course.folder(self.step, submission.student) / f"{submission.name}.ipynb"

    def there(self, submission: Submission) -> bool:
        """Whether a student's notebook lies in `autograded/`."""
        with contextlib.suppress(OSError):
            return self.path(submission).stat().st_size > 0
        return False

    def result(self, submission: Submission) -> SubmissionResult | None:
        """The result that a student's notebook in `autograded/` was made from; None if there is none, or it can't be
        read."""
        try:
            found = json.loads(self.path(submission).read_bytes())["metadata"][RESULT]
            return SubmissionResult.from_plain(found)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None

    def put_back(self, path: Path, notebook: bytes) -> None:
        """Write a notebook, as it was once, to its path in a student's folder."""
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, notebook, self._mode)

    def write(self, submission: Submission, notebook: bytes) -> list[str]:
        """Write a student's folder: the course's own files, the student's where there is none of these, the notebook
        last. Returns in words which of the student's files were left out; `OSError` if the notebook can't be written.
        """
        target, left_out = self.path(submission), []
        target.parent.mkdir(parents=True, exist_ok=True)
        for name, own in self._own.items():
            self._put(target.parent / name, own)
        for name, data in submission.folder.contents(self._most, self._skipped(submission.folder)):
            if name in self._own:
                continue
            try:
                if isinstance(data, Unreadable):
                    raise data
                self._put(target.parent / name, data)
            except (Unreadable, FileExistsError, NotADirectoryError, IsADirectoryError) as error:
                left_out.append(f"{name}: {getattr(error, 'strerror', None) or error}")
        write_atomically(target, notebook, self._mode, durable=False)  # the log has what it is made from
        return left_out

    def note_hand_in(self, submission: Submission) -> None:
        """Take over the time and the secret, by which feedback is found, of work that was handed in once more,
        unchanged."""
        for name in (PurePath(TIMESTAMP), PurePath(SECRET_FILE)):
            path = self.path(submission).parent / name
            with contextlib.suppress(Unreadable):
                data = submission.folder.read(str(name), SECRET_BYTES)
                skipped = name in self._own or self._skipped(submission.folder)(str(name))
                if not skipped and not (path.is_file() and path.read_bytes() == data):
                    self._put(path, data)

    def _put(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, data, self._mode, durable=False)

    def _skipped(self, folder: UntrustedFolder) -> Callable[[str], bool]:
        """Whether a file of this name isn't copied, as a function. The file of a time that can't be read isn't:
        nbgrader stumbles over it."""
        if timestamp(folder) is not None:
            return self._is_ignored
        return lambda name: name == TIMESTAMP or self._is_ignored(name)

    def _is_ignored(self, name: str) -> bool:
        return any(fnmatch.fnmatch(name, pattern) for pattern in self._ignored)
