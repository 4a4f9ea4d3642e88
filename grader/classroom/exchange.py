"""nbgrader's exchange, where submissions come from students' hands: regular files only, and none that a student has
taken away or spoilt ends a command for the others.
"""

from __future__ import annotations

import contextlib
import secrets
from datetime import datetime
from glob import glob
from pathlib import Path
from typing import Any

from nbgrader.exchange.default import ExchangeCollect, ExchangeReleaseFeedback

from grader.classroom.class_directory import submitted_folder
from grader.classroom.files import UntrustedFolder

TIMESTAMP = "timestamp.txt"
Record = dict[str, Any]


class CollectRegularFiles(ExchangeCollect):
    """As nbgrader collects, but a link isn't followed, neither in a submission nor in place of one, and a pipe isn't
    read."""

    src_records: list[Record]

    def _path_to_record(self, path: str) -> Record:
        try:
            return super()._path_to_record(path)
        except (ValueError, OverflowError):  # its name has no date: anybody may put anything there
            name = Path(path).name
            return {"username": name.rsplit("+", 3)[0], "filename": name, "timestamp": datetime.min}

    def _is_submission(self, record: Record) -> bool:
        path = Path(self.inbound_path, record["filename"])
        return record["timestamp"] > datetime.min and path.is_dir() and not path.is_symlink()

    def _sort_by_timestamp(self, records: list[Record]) -> list[Record]:
        """A student's, the latest first. What is no submission doesn't stand in place of one."""
        usable = [record for record in records if self._is_submission(record)]
        return super()._sort_by_timestamp(usable or records)

    def copy_files(self) -> None:
        """Copy what is a submission."""
        for record in self.src_records:
            if not self._is_submission(record):
                self.log.warning("Not collected: %s is no folder with a date, or a link.", record["filename"])
            else:  # into a folder of the student's own
                submitted_folder(self.coursedir, record["username"], self.coursedir.assignment_id).remove_link()
        self.src_records = [record for record in self.src_records if self._is_submission(record)]
        super().copy_files()

    def do_copy(self, src: str, dest: str, log: Any = None) -> None:
        """Copy one submission. Its time is the one in the folder's name, which nbgrader goes by too."""
        name = Path(src).name
        submission = UntrustedFolder(Path(self.inbound_path), Path(name))
        try:
            left_out = submission.copy_to(Path(dest), 1000 * int(self.coursedir.max_dir_size), TIMESTAMP.__eq__)
            Path(dest, TIMESTAMP).write_text(name.rsplit("+", 3)[2])
        except OSError as error:
            left_out = [f"what comes after it: {error}"]
        for sentence in left_out:
            self.log.warning("Left out of %s: %s", src, sentence)


class ReleaseAllFeedback(ExchangeReleaseFeedback):
    """As nbgrader releases feedback, but a submission without the two files that `submit` writes stops nobody's."""

    def copy_files(self) -> None:
        """Put something in their place: whoever took the secret away finds no feedback, but everybody else does."""
        for folder in glob(self.src_path):
            for name in (TIMESTAMP, "submission_secret.txt"):
                path = Path(folder, name)
                with contextlib.suppress(OSError, UnicodeDecodeError):
                    path.read_text()
                    continue
                path.write_text(secrets.token_hex(16))
        super().copy_files()
