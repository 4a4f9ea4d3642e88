"""The log of results: `DIR/.grader/results/LESSON.jsonl`, one JSON object a line, only ever appended to.

A graded submission:

    {"format": 2, "key": "9f2c...", "student": "ann", "lesson": "01_self_attention", "submission": "e3b0...",
     "graded": "2026-11-20T17:20:05+00:00", "result": {...}}

`key` is what the result depends on (see `grader.judge.fingerprint`): the submission, the instructor's notebook, the
specifications, the limits, the course's secret. `submission` is the SHA-256 of the notebook's bytes (empty where it
couldn't be read as a file). `result` is what `grader.judge.result.SubmissionResult.to_plain` gives and `from_plain`
takes back.
The last line of a student counts; earlier ones are of earlier submissions or specifications. `version` names what it
was graded by; `kept` are the exercises whose earlier mark stayed, because the student would have lost points by a
regrade: they are in the key too. What a version is, piece by piece:

    {"format": 2, "version": "77d0...", "basis": {"the limits": "check_seconds 10.0, ...", "torch": "2.9.1", ...}}

What has reached the gradebook and `autograded/`, by student:

    {"format": 2, "stored": {"ann": "9f2c...", "bo": "77d0..."}}

A run that is killed while writing leaves a torn last line, which is passed over. So is a line in which something is
missing or of another type, and the run says so. To read the results of a course:

>>> latest(Path("/nowhere"), "01_self_attention")
{}
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from grader.course.folder import RESULTS, folder_of, mode_in
from grader.course.json_lines import lines_file, read_lines
from grader.judge.result import SubmissionResult
from grader.plain import made

TAKEN_BACK = ""  # in place of the key of what is stored: a hand-in that was taken back
FORMAT = 2  # 1: `notes` had another name


@dataclass(frozen=True)
class LoggedResult:
    """One line of the log: a graded submission and its result. The top of this module says more of each field."""

    key: str  # of the result: what it depends on
    student: str
    lesson: str
    submission: str  # the SHA-256 of the notebook's bytes
    graded: str  # the time, UTC
    result: SubmissionResult
    version: str = ""  # what it was graded by
    kept: tuple[str, ...] = ()  # the exercises whose earlier mark stayed

    @classmethod
    def now(
        cls, key: str, student: str, lesson: str, submission: str, result: SubmissionResult, version: str = ""
    ) -> LoggedResult:
        """A result that came in now: `graded` is the present time in UTC."""
        when = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(key, student, lesson, submission, when, result, version)

    @property
    def base_key(self) -> str:
        """The key as it was before marks were kept from an earlier result."""
        return self.key.partition(":")[0]

    def keeping(self, kept: tuple[str, ...], result: SubmissionResult) -> LoggedResult:
        """A copy with a result in which the exercises in `kept` have their earlier marks, and with a key that says
        so."""
        return replace(self, key=f"{self.base_key}:{','.join(kept)}", kept=kept, result=result)

    def to_plain(self) -> dict[str, Any]:
        """The whole record as a line of the log has it, as plain data."""
        return {"format": FORMAT, **vars(self), "result": self.result.to_plain()}


@dataclass(frozen=True)
class _Stored:
    """A line that notes by student the key of what was stored."""

    stored: dict[str, str]


@dataclass(frozen=True)
class _Basis:
    """A line that says what a version is: by name, each thing that marks depend on."""

    version: str
    basis: dict[str, str]


def latest(course: Path, lesson: str) -> dict[str, LoggedResult]:
    """By student the result that was last stored, or else the last one, whether their submission has changed since or
    not. Students whose hand-in was taken back are left out until there is another result. Empty where there is no log.
    """
    last: dict[str, LoggedResult] = {}
    by_key: dict[str, LoggedResult] = {}
    stored: dict[str, str] = {}
    for line in _lines(lines_file(course, RESULTS, lesson)):
        if isinstance(line, LoggedResult):
            last[line.student] = by_key[line.key] = line
            if stored.get(line.student) == TAKEN_BACK:
                del stored[line.student]  # handed in and graded once more
        elif isinstance(line, _Stored):
            stored.update(line.stored)
    kept = {student: line for student, line in last.items() if stored.get(student) != TAKEN_BACK}
    return {student: by_key.get(stored.get(student, ""), line) for student, line in kept.items()}


def stored_keys(course: Path, lesson: str) -> dict[str, str]:
    """The key of what was last stored, by student. It makes no log where there is none."""
    found: dict[str, str] = {}
    for line in _lines(lines_file(course, RESULTS, lesson)):
        if isinstance(line, _Stored):
            found.update(line.stored)
    return found


class ResultsLog:
    """The log of one lesson, open for appending; a context manager. `records` has the results by key, `stored` the key
    of what was last stored by student, `bases` what each version is, `unreadable_lines` what is wrong with the lines
    that were passed over. `kind` is `RESULTS` or `PREVIEW`: what a preview graded, of which nothing is stored."""

    def __init__(self, course: Path, lesson: str, kind: str = RESULTS) -> None:
        folder_of(course, kind)
        path = self._path = lines_file(course, kind, lesson)
        self.records: dict[str, LoggedResult] = {}
        self.stored: dict[str, str] = {}
        self.bases: dict[str, dict[str, str]] = {}
        self.unreadable_lines: list[str] = []
        for line in _lines(path):
            if isinstance(line, LoggedResult):
                self.records[line.key] = line
            elif isinstance(line, _Stored):
                self.stored.update(line.stored)
            elif isinstance(line, _Basis):
                self.bases[line.version] = line.basis
            else:
                self.unreadable_lines.append(line)
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, mode_in(course))
        self._end = os.fstat(self._file).st_size
        if self._end and os.pread(self._file, 1, self._end - 1) != b"\n":
            self._write(b"\n")  # behind a torn line

    @property
    def is_current(self) -> bool:
        """Whether nobody else has written to the log since it was opened here."""
        try:
            there = os.stat(self._path)
        except OSError:
            return False
        mine = os.fstat(self._file)
        return (there.st_ino, there.st_size) == (mine.st_ino, self._end)

    def add(self, records: Iterable[LoggedResult]) -> None:
        """Append results. They outlast this process, but maybe not a power cut: what was last appended before one is
        graded again."""
        records = list(records)
        self._append([record.to_plain() for record in records])
        self.records.update({record.key: record for record in records})

    def add_basis(self, version: str, basis: Mapping[str, str]) -> None:
        """Note what a version is, unless the log has that already."""
        if version not in self.bases:
            self._append([{"format": FORMAT, "version": version, "basis": dict(basis)}])
            self.bases[version] = dict(basis)

    def mark_stored(self, keys: Mapping[str, str]) -> None:
        """Note by student the key of what has reached the gradebook, and see the whole log on the disk."""
        self._append([{"format": FORMAT, "stored": dict(keys)}])
        os.fsync(self._file)
        self.stored.update(keys)

    def _append(self, lines: list[dict[str, Any]]) -> None:
        self._write("".join(json.dumps(line, ensure_ascii=True) + "\n" for line in lines).encode())

    def _write(self, data: bytes) -> None:
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(self._file, left) :]
        except OSError:
            os.ftruncate(self._file, self._end)  # on a full disk: no half line stays
            raise
        self._end += len(data)

    def close(self) -> None:
        """Close the log's file."""
        os.close(self._file)

    def __enter__(self) -> ResultsLog:
        return self

    def __exit__(self, *_error: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()


def _lines(path: Path) -> Iterable[LoggedResult | _Stored | _Basis | str]:
    """What the lines of a log hold, or in words why one can't be used. Torn lines and those of other formats are left
    out."""
    for number, data in read_lines(path, FORMAT):
        try:
            kind = _Stored if "stored" in data else _Basis if "basis" in data else LoggedResult
            yield made(kind, data, f"{path.name}:{number}")
        except ValueError as error:
            yield str(error)
