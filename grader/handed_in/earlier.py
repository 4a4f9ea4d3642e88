"""A student's hand-ins beside the one in `submitted/`: `.grader/earlier/LESSON/STUDENT/TIME/`; and which has the best
mark, where that is what counts."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from grader.atomic import write_atomically
from grader.book.gradebook import LessonGradebook
from grader.course.class_directory import ClassDirectory, Submission
from grader.course.files import TIMESTAMP, UntrustedFolder
from grader.course.folder import EARLIER, folder_of
from grader.course.lateness import timestamp
from grader.judge.result import SubmissionResult

FORMAT = "%Y-%m-%d %H:%M:%S UTC"
_FOLDER = "%Y-%m-%d %H.%M.%S"
_FOLDER_LENGTH = len("2026-11-22 12.00.00")
UNKNOWN_TIME = datetime(1980, 1, 1)


def archive_hand_in(course: ClassDirectory, student: str, time: datetime, data: bytes) -> bool:
    """Keep a notebook that doesn't count, in a folder with its time; returns whether it is a new one. The same one is
    kept once."""
    base = _base(course, student)
    for number in range(1000):
        folder = base / (time.strftime(_FOLDER) + (f" {number + 1}" if number else ""))
        kept = folder / f"{course.lesson}.ipynb"
        if not kept.exists():
            folder.mkdir(parents=True, exist_ok=True)
            write_atomically(kept, data)
            return True
        if kept.read_bytes() == data:
            break
    return False


def kept_times(course: ClassDirectory, student: str) -> list[str]:
    """The names of the folders in which a student's earlier hand-ins are kept: their times, in order."""
    base = _base(course, student)
    return sorted(folder.name for folder in base.iterdir()) if base.is_dir() else []


def keep_only(course: ClassDirectory, student: str, names: Collection[str]) -> None:
    """Remove a student's earlier hand-ins that are kept, but for the folders with these names."""
    base = _base(course, student)
    for name in set(kept_times(course, student)) - set(names):
        shutil.rmtree(base / name)
    with contextlib.suppress(OSError):  # if nothing is left
        base.rmdir()


def put(course: ClassDirectory, student: str, time: datetime, data: bytes) -> None:
    """Put a notebook in place under `submitted/` as the one that counts, with the time at which it was handed in
    (UTC)."""
    target = course.folder(course.layout.submitted_directory, student)
    if target.is_symlink():
        target.unlink()
    target.mkdir(parents=True, exist_ok=True)
    put_time(course, student, time)  # first: what is cut off here has no new notebook with an old time
    write_atomically(target / f"{course.lesson}.ipynb", data)


def put_time(course: ClassDirectory, student: str, time: datetime) -> None:
    """Write the time (UTC) at which the work in place was handed in."""
    target = course.folder(course.layout.submitted_directory, student)
    write_atomically(target / TIMESTAMP, time.strftime(FORMAT))


def kept_hand_ins(course: ClassDirectory, student: str) -> list[tuple[datetime, bytes]]:
    """A student's earlier hand-ins that are kept: when each came (UTC), and its bytes."""
    most = course.limits().notebook_bytes
    return [(attempt.time, attempt.read(most)) for attempt in _kept(course, student) if attempt.time]


def _base(course: ClassDirectory, student: str) -> Path:
    return folder_of(course.root) / EARLIER / course.lesson / student


@dataclass(frozen=True)
class Attempt:
    """One hand-in of a student; `time` is when (UTC), None if not known; `in_place`: it lies in `submitted/`."""

    submission: Submission
    time: datetime | None
    in_place: bool = False

    def read(self, most: int) -> bytes:
        """The notebook's bytes, at most so many; empty if it can't be read."""
        return self.submission.read(most)[0]


def attempts(course: ClassDirectory, submission: Submission) -> list[Attempt]:
    """All hand-ins of the student whose `submission` is in place, that one first, the others by their times. Of equal
    notebooks only the first of these is there."""
    most = course.limits().notebook_bytes
    found = [Attempt(submission, timestamp(submission.folder), in_place=True)]
    seen = {found[0].read(most)}
    for attempt in _kept(course, submission.student):
        data = attempt.read(most)
        if data not in seen:
            seen.add(data)
            found.append(attempt)
    return found


def _kept(course: ClassDirectory, student: str) -> Iterator[Attempt]:
    base = _base(course, student)
    for folder in sorted(base.iterdir()) if base.is_dir() else ():
        with contextlib.suppress(ValueError):
            time = datetime.strptime(folder.name[:_FOLDER_LENGTH], _FOLDER)
            yield Attempt(Submission(student, UntrustedFolder(base, Path(folder.name)), course.lesson), time)


def put_best(course: ClassDirectory, book: LessonGradebook, graded: Sequence[tuple[Attempt, SubmissionResult]]) -> str:
    """Put the one of a student's graded hand-ins in place that earns most, late penalties included, of equal ones the
    last, and keep the one that was there. Returns in words what they earn and which counts."""
    student = graded[0][0].submission.student
    by_time = sorted(graded, key=lambda pair: pair[0].time or UNKNOWN_TIME)
    earned = [book.earns(student, result, attempt.time) for attempt, result in by_time]
    _most, index = max((mark, index) for index, mark in enumerate(earned))
    best = by_time[index][0]
    when = (best.time or UNKNOWN_TIME).strftime(FORMAT)
    said = f"{', '.join(f'{mark:g}' for mark in earned)} points; the hand-in of {when} counts"
    if best.in_place:
        return said
    there = next(attempt for attempt, _result in graded if attempt.in_place)
    most = course.limits().notebook_bytes
    data, old = best.read(most), there.read(most)
    if old:
        archive_hand_in(course, student, there.time or UNKNOWN_TIME, old)
    put(course, student, best.time or UNKNOWN_TIME, data)
    # nbgrader goes by the times of the two folders, and this one is often older than what was graded.
    shutil.rmtree(course.folder(course.layout.autograded_directory, student), ignore_errors=True)
    return said
