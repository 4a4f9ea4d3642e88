"""When work was handed in that a teacher copies by hand: the time that the platform's archive had for the same bytes.

`.grader/hand-in-times/LESSON.jsonl` has a line for each notebook of an archive: its checksum and size (as a zip has
them), its time there (UTC), and whose it may be. Nobody gets another one's time.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime, timedelta

from grader.course.class_directory import ClassDirectory
from grader.course.folder import TIMES
from grader.course.json_lines import lines_file, read_lines, write_lines
from grader.course.lateness import is_late

A_CLASS, A_DOWNLOAD = 5, timedelta(minutes=15)  # so many students' work, so near together


def key_of(data: bytes) -> str:
    """The checksum and the size of a file's bytes, by which they are known: a zip says both of a file without its being
    unpacked."""
    return f"{zlib.crc32(data):08x}-{len(data)}"


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


class ArchiveTimes:
    """The times that platforms' archives gave the hand-ins of a lesson, by a key of their bytes."""

    def __init__(self, course: ClassDirectory) -> None:
        self._course, self._changed = course, False
        self._times: dict[tuple[str, str], dict[str, int]] = {}
        for _number, line in read_lines(lines_file(course.root, TIMES, course.lesson)):
            with suppress(ValueError, KeyError, TypeError):
                datetime.fromisoformat(line["time"])
                self._times[str(line["key"]), str(line["time"])] = dict.fromkeys(line["students"], 1)

    def note(self, key: str, time: datetime, students: Iterable[str]) -> None:
        """Note the time (UTC) of a notebook of an archive, by the key of its bytes, and whose it may be."""
        known = self._times.setdefault((key, time.isoformat()), {})
        self._changed = self._changed or not known.keys() >= set(students)
        known.update(dict.fromkeys(students, 1))

    def first(self, data: bytes, student: str) -> datetime | None:
        """When an archive first had these bytes as this student's (UTC); None if none had."""
        key = key_of(data)
        times = [time for (known, time), people in self._times.items() if known == key and student in people]
        return min(map(datetime.fromisoformat, times), default=None)

    def save(self) -> None:
        """Write what was noted to the lesson's file, if anything is new."""
        if self._changed:
            times = sorted(self._times.items())
            lines = [{"key": key, "time": time, "students": people} for (key, time), people in times]
            write_lines(self._course.root, TIMES, self._course.lesson, lines)
