"""When work was handed in, by the bytes: the time that a platform once had for them, and, for lack of one, a file's.

`.grader/hand-in-times/LESSON.jsonl` has a line for each notebook that was given: the SHA-256 of its bytes, its time
(UTC), whose it may be, and whether the time is a platform's. Nobody gets another one's time.

    {"format": 2, "key": "9f86…", "time": "2026-11-22T12:00:00", "platforms": true, "students": {"ann": 1}}
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime, timedelta

from grader.course.class_directory import ClassDirectory
from grader.course.folder import TIMES
from grader.course.json_lines import lines_file, read_lines, write_lines
from grader.course.lateness import is_late

A_CLASS, A_DOWNLOAD = 5, timedelta(minutes=15)  # so many students' work, so near together
FORMAT = 2  # 1: the key was a CRC-32, for which anybody can make another file


def times_of_a_download(
    work: Iterable[tuple[str, str, datetime]], until: Callable[[str], datetime | None]
) -> dict[str, str]:
    """What is odd about a source's times, by source. Newer versions of Moodle (mod_assign's `downloader`) give each
    file the time at which it was put into the zip: then a whole class is late at once, and nobody's lateness is known.
    `work` has of each notebook its source, its student and its time; `until` says until when a student's is in time."""
    sources: defaultdict[str, list[tuple[str, datetime]]] = defaultdict(list)
    for source, student, time in work:
        sources[source].append((student, time))
    odd = {}
    for source, entries in sources.items():
        first, last = (choose(time for _student, time in entries) for choose in (min, max))
        many = len({student for student, _time in entries}) >= A_CLASS
        if many and last - first < A_DOWNLOAD and all(is_late(time, until(student)) for student, time in entries):
            odd[source] = (
                f"all its times are between {first:%Y-%m-%d %H:%M} and {last:%H:%M} UTC, so everybody is late. Are "
                "they the times of the download? Newer versions of Moodle write these into their zips in place of "
                "the hand-in times. If so, nobody's lateness is known; see docs/grading.md, Late work"
            )
    return odd


class HandInTimes:
    """The times that were given with the hand-ins of a lesson, by their bytes."""

    def __init__(self, course: ClassDirectory) -> None:
        self._course, self._changed = course, False
        # By the digest of the bytes: time, whether it is a platform's, and whose they may be.
        self._times: defaultdict[str, dict[tuple[str, bool], dict[str, int]]] = defaultdict(dict)
        for _number, line in read_lines(lines_file(course.root, TIMES, course.lesson), FORMAT):
            with suppress(ValueError, KeyError, TypeError):
                datetime.fromisoformat(line["time"])
                about = str(line["time"]), bool(line["platforms"])
                self._times[str(line["key"])][about] = dict.fromkeys(line["students"], 1)

    def note(self, data: bytes, time: datetime, is_platforms: bool, students: Iterable[str]) -> None:
        """Note the time (UTC) of a notebook, and whose it may be."""
        known = self._times[hashlib.sha256(data).hexdigest()].setdefault((time.isoformat(), is_platforms), {})
        self._changed = self._changed or not known.keys() >= set(students)
        known.update(dict.fromkeys(students, 1))

    def of(self, data: bytes, student: str, only_platforms: bool = True) -> datetime | None:
        """When a platform first had these bytes as this student's (UTC), or else, unless `only_platforms`, a file; None
        if neither had."""
        times = [
            (not is_platforms, datetime.fromisoformat(time))
            for (time, is_platforms), people in self._times.get(hashlib.sha256(data).hexdigest(), {}).items()
            if student in people and (is_platforms or not only_platforms)
        ]
        return min(times, default=(False, None))[1]

    def is_only_anothers(self, data: bytes, student: str, time: datetime) -> bool:
        """Whether this time (UTC) is that of other bytes of the student's, and not of these."""
        own, wanted = hashlib.sha256(data).hexdigest(), time.isoformat()
        digests = {
            digest
            for digest, times in self._times.items()
            for (other, _is_platforms), people in times.items()
            if other == wanted and student in people
        }
        return bool(digests) and own not in digests

    def save(self) -> None:
        """Write what was noted to the lesson's file, if anything is new."""
        if self._changed:
            lines = [
                {"format": FORMAT, "key": key, "time": time, "platforms": is_platforms, "students": people}
                for key, times in sorted(self._times.items())
                for (time, is_platforms), people in sorted(times.items())
            ]
            write_lines(self._course.root, TIMES, self._course.lesson, lines)
