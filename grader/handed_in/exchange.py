"""nbgrader's exchange, where submissions come from students' hands: only regular files that are the student's own, and
none that is missing or spoilt ends a command for the others.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import stat
from collections.abc import Collection
from datetime import datetime
from functools import lru_cache
from glob import escape, glob
from pathlib import Path
from typing import Any

from nbgrader.exchange.default import ExchangeCollect, ExchangeReleaseAssignment, ExchangeReleaseFeedback
from nbgrader.exchange.default.exchange import Exchange
from nbgrader.utils import parse_utc

from grader.course.class_directory import can_be_a_student, submitted_folder
from grader.course.files import SECRET_FILE, TIMESTAMP, UntrustedFolder
from grader.course.lateness import in_time_until, last_in_time
from grader.course.settings import settings_of
from grader.printable import printable

OVER = "the course's limit is {0} per lesson, and this hand-in is over it."
WARNED = 50  # entries that are no submission, each in a line of its own; the others are counted
LISTED = 5  # of the files that are left out of a submission
Record = dict[str, Any]


class CollectRegularFiles(ExchangeCollect):
    """Collects as nbgrader does, but no link is followed, no pipe is read, and nobody hands in for somebody else. An
    entry that is refused is listed with the reason, and all others are collected.

    With nbgrader's `check_owner` (which is on) an entry and its files belong to the student whose name it has, or to
    the user who collects.
    """

    src_records: list[Record]
    # Whose are collected; None for everybody's.
    students: Collection[str] | None = None

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.attempts = settings_of(self.config).attempts
        self.allowed: dict[str, list[Record]] = {}
        self.over: dict[str, list[Record]] = {}
        self._warned = 0

    def init_src(self) -> None:
        """Find what there is to collect, as nbgrader does, but by each student's own due date where only what came in
        time counts. Afterwards `allowed` has a student's hand-ins, the first one first, and `over` those beyond the
        attempts that the course allows."""
        self.allowed, self.over, self._warned = {}, {}, 0
        super().init_src()
        if self.before_duedate:  # nbgrader knows of no extension here
            until = in_time_until(self.coursedir, self.coursedir.assignment_id)
            self.src_records = [self._in_time(record, until(record["username"])) for record in self.src_records]
        if self.students is not None:
            self.src_records = [record for record in self.src_records if record["username"] in self.students]
        if self._warned > WARNED:
            self.log.warning(
                "Not collected: %d more, from unknown people or for reasons like these.", self._warned - WARNED
            )

    def _path_to_record(self, path: str) -> Record:
        """The record of an entry of the inbound folder, where anybody may put anything, with any name and as often as
        they like. What isn't asked for is not looked at; `refused` says why an entry is no submission."""
        name = Path(path).name
        record = {"username": name.rsplit("+", 3)[0], "filename": name, "timestamp": datetime.min, "refused": ""}
        if self.students is not None and record["username"] not in self.students:
            return record
        record["refused"] = self._refused(record)
        if not record["refused"]:
            record["timestamp"] = _date(name.rsplit("+", 3)[2]) or datetime.min
            record["refused"] = "" if record["timestamp"] != datetime.min else "there is no date in its name"
        return record

    def _refused(self, record: Record) -> str:
        """Why an entry of the inbound folder is no submission, whatever its date; "" if it may be one."""
        if not can_be_a_student(record["username"]):
            return "this can't be a student's name in the gradebook"
        try:
            about = Path(self.inbound_path, record["filename"]).lstat()
        except OSError as error:
            return str(error.strerror)
        if not stat.S_ISDIR(about.st_mode):
            return "it is a link, and links aren't followed" if stat.S_ISLNK(about.st_mode) else "it isn't a folder"
        if self.check_owner:
            record["owner"] = about.st_uid
            return foreign_owner(about.st_uid, record["username"])
        return ""

    def _warn(self, record: Record, why: str) -> None:
        self._warned += 1
        if self._warned <= WARNED:
            self.log.warning("Not collected: %s: %s", printable(record["filename"]), why)

    def _sort_by_timestamp(self, records: list[Record]) -> list[Record]:
        """A student's records, the latest first, without those that are no submission, unless all are."""
        if self.students is not None and records[0]["username"] not in self.students:
            return records
        for record in records:
            if record["refused"]:
                self._warn(record, f"{record['refused']}.")
        usable = [record for record in super()._sort_by_timestamp(records)[::-1] if not record["refused"]]
        if not usable:
            return super()._sort_by_timestamp(records)
        student, count = usable[0]["username"], self.attempts or len(usable)
        self.allowed[student], self.over[student] = usable[:count], usable[count:]
        for record in self.over[student]:
            self._warn(record, OVER.format(self.attempts))
        return super()._sort_by_timestamp(self.allowed[student])

    def _in_time(self, record: Record, due: datetime | None) -> Record:
        found = self.allowed.get(record["username"], [record])  # of who has no submission the record says why
        return last_in_time(found, due, lambda record: record["timestamp"])

    def copy_files(self) -> None:
        """Copy the submissions, each by itself, so that an error in one leaves out that one only."""
        self.src_records = [record for record in self.src_records if not record["refused"]]
        records = self.src_records
        if not records:
            super().copy_files()  # says so
        for record in records:
            self.src_records = [record]
            try:  # into a folder of the student's own
                submitted_folder(self.coursedir, record["username"], self.coursedir.assignment_id).remove_link()
                super().copy_files()
            except Exception as error:
                self.log.error("Not collected: %s: %s", printable(record["filename"]), error)
        self.src_records = records

    def do_copy(self, src: str, dest: str, log: Any = None) -> None:
        """Copy one submission, with the time that its folder's name has, which nbgrader goes by too. `OSError`, and
        nothing is left of the copy, if it can't be written."""
        name = Path(src).name
        submission = UntrustedFolder(Path(self.inbound_path), Path(name), self.src_records[0].get("owner"))
        try:
            left_out = submission.copy_to(Path(dest), 1000 * int(self.coursedir.max_dir_size), TIMESTAMP.__eq__)
            Path(dest, TIMESTAMP).write_text(name.rsplit("+", 3)[2])
        except OSError:
            shutil.rmtree(dest, ignore_errors=True)  # half a submission would be graded as a whole one
            raise
        for sentence in left_out[:LISTED]:
            self.log.warning("Left out of %s: %s", printable(name), printable(sentence))
        if len(left_out) > LISTED:
            self.log.warning("Left out of %s: %d more", printable(name), len(left_out) - LISTED)


def foreign_owner(uid: int, student: str) -> str:
    """Why what belongs to a user of the machine, by number, is no hand-in of a student; "" if it is one."""
    name = _user(uid)
    if uid == os.geteuid() or name == student:
        return ""
    return f"it belongs to {name}, not to {student} (see check_owner in docs/grading.md)"


@lru_cache(maxsize=10_000)
def _date(text: str) -> datetime | None:
    try:
        found: datetime = parse_utc(text)
    except Exception:  # dateutil raises what it likes
        return None
    return found


@lru_cache(maxsize=1000)
def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


class GroupsFolders(Exchange):
    """Gives what a shared course makes in the exchange to the group that shares it, as nbgrader's modes suppose."""

    def ensure_directory(self, path: str, mode: int) -> None:
        """Ensure a folder as nbgrader does, and give it to the course's group."""
        super().ensure_directory(path, mode)
        about, group = Path(path).stat(), Path(self.coursedir.root).stat().st_gid
        if self.coursedir.groupshared and about.st_uid == os.geteuid() and about.st_gid != group:
            os.chown(path, -1, group)
            os.chmod(path, mode)


class ReleaseToGroup(GroupsFolders, ExchangeReleaseAssignment):
    """Releases an assignment as nbgrader does, so that every teacher of a shared course can collect."""


class ReleaseAllFeedback(GroupsFolders, ExchangeReleaseFeedback):
    """Releases feedback as nbgrader does, but a submission without the two files that `submit` writes, or with odd ones
    beside them, keeps nobody else's from being released."""

    src_path: str

    def copy_files(self) -> None:
        """Release the feedback of each student by itself. Whoever took the secret away finds none, everybody else
        does."""
        for folder in sorted(glob(self.src_path)):
            self.src_path = escape(folder)
            try:
                for name in (TIMESTAMP, SECRET_FILE):
                    _make_readable(Path(folder, name))
                super().copy_files()
            except Exception as error:
                self.log.error("No feedback is released for %s: %s", printable(folder), error)


def _make_readable(path: Path) -> None:
    """Put a random text in place of a file that isn't there or isn't text."""
    try:
        path.read_text()
    except (OSError, UnicodeDecodeError):
        UntrustedFolder(path.parent).remove(path.name)
        path.write_text(secrets.token_hex(16))
