"""Where results go: the log first, then the files, then the gradebook, a batch at a time. The one writer of a run."""

from __future__ import annotations

import contextlib
import errno
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime

from grader.batch.worker import GradedSubmission
from grader.book.autograded import Autograded
from grader.book.gradebook import GradebookEntry, LessonGradebook
from grader.book.results_log import ResultsLog
from grader.course.lateness import timestamp
from grader.errors import CommandFailed, GradebookUnavailable

BATCH, BATCH_SECONDS = 100, 1.0
FULL = (errno.ENOSPC, errno.EDQUOT)


class Store:
    """Stores results, a batch at a time. `tell` gets what a reader should know; `problems` has by student what could
    not be stored, and why."""

    # How long to wait for a database that is locked, once all is graded.
    patience = 60.0

    def __init__(self, log: ResultsLog, files: Autograded, book: LessonGradebook, tell: Callable[[str], None]) -> None:
        self._log, self._files, self._book, self._tell = log, files, book, tell
        self._waiting: dict[str, GradebookEntry] = {}
        self._keys: dict[str, str] = {}
        self._last = time.monotonic()
        self.problems: dict[str, str] = {}

    def add_new(self, items: Sequence[GradedSubmission]) -> None:
        """Log results that have just come in, and store them with their batch. `CommandFailed` if the disk is full."""
        with _disk_has_room():
            self._log.add(item.record for item in items)
        for item in items:
            self.add(item)

    def add(self, item: GradedSubmission) -> None:
        """Store a result that the log has already, with its batch. `CommandFailed` if the disk is full."""
        student = item.record.student
        submission = self._files.course.submission(student)
        try:
            with _disk_has_room():
                left_out = self._files.write(submission, item.made.notebook)
            if left_out:
                more = f", and {len(left_out) - 1} more" if left_out[1:] else ""
                self._tell(f"{student}: left out of {self._files.step}/: {left_out[0]}{more}")
            self._keys[student] = item.record.key
        except OSError as error:
            self.problems[student] = (
                f"The hand-in was graded, but the notebook can't be written: {error.strerror}: {error.filename}"
            )
        self._waiting[student] = item.entry(timestamp(submission.folder))
        if len(self._waiting) == BATCH or time.monotonic() - self._last > BATCH_SECONDS:
            self._try()

    def _try(self) -> str:
        """Store what is waiting. Returns "", or why the gradebook can't be written now: then it waits on."""
        self._last = time.monotonic()
        if not self._waiting:
            return ""
        try:
            self._book.store(list(self._waiting.values()))
        except GradebookUnavailable as error:
            self._last = time.monotonic()
            return error.why
        with _disk_has_room():
            self._log.mark_stored(self._keys)
        self._waiting, self._keys = {}, {}
        return ""

    def end(self, handed_in: Mapping[str, datetime | None]) -> None:
        """Store what is left, and work out who was late by when each student handed in. A database that is locked is
        waited for; what can't be stored even then is in `problems`."""
        until, announced = time.monotonic() + self.patience, False
        while why := self._try() or self._refresh(handed_in):
            if time.monotonic() > until:
                for student in self._waiting:
                    self.problems[student] = (
                        f"The hand-in was graded but isn't in the gradebook yet ({why}). Run the command again."
                    )
                return
            if not announced:
                self._tell(f"The gradebook can't be written to ({why}); waiting up to {self.patience:g} s.")
                announced = True
            time.sleep(0.2)

    def _refresh(self, handed_in: Mapping[str, datetime | None]) -> str:
        try:
            self._book.refresh_lateness(handed_in)
        except GradebookUnavailable as error:
            return error.why
        return ""


@contextlib.contextmanager
def _disk_has_room() -> Iterator[None]:
    """Turn "no space left" into `CommandFailed`: going on would only lose what comes in."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise CommandFailed(
                f"{error.strerror}. What was graded before is kept. Make room and run the command again."
            ) from error
        raise
