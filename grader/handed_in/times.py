"""When work was handed in that a teacher copies by hand: the time that the platform's archive had for the same bytes.

`.grader/hand-in-times/LESSON.jsonl` has a line for each notebook of an archive: its checksum and size (as a zip has
them), its time there (UTC), and whose it may be. Nobody gets another one's time.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from datetime import datetime

from grader.atomic import write_atomically
from grader.course.class_directory import ClassDirectory
from grader.course.folder import FOLDER, TIMES, folder_of, mode_in

FORMAT = 1


def key_of(data: bytes) -> str:
    """By what the bytes of a file are known: what a zip says of a file without its being unpacked."""
    return f"{zlib.crc32(data):08x}-{len(data)}"


class ArchiveTimes:
    """The times of one lesson."""

    def __init__(self, course: ClassDirectory) -> None:
        self._course, self._changed = course, False
        self._path = course.root / FOLDER / TIMES / f"{course.lesson}.jsonl"
        self._times: dict[tuple[str, str], dict[str, int]] = {}
        for line in self._path.read_text("utf-8").splitlines() if self._path.is_file() else ():
            try:
                data = json.loads(line)
                if data["format"] == FORMAT:
                    datetime.fromisoformat(data["time"])
                    self._times[str(data["key"]), str(data["time"])] = dict.fromkeys(data["students"], 1)
            except (ValueError, KeyError, TypeError, RecursionError):
                continue

    def note(self, key: str, time: datetime, students: Iterable[str]) -> None:
        """A notebook of an archive, and whose it may be."""
        known = self._times.setdefault((key, time.isoformat()), {})
        self._changed = self._changed or not known.keys() >= set(students)
        known.update(dict.fromkeys(students, 1))

    def first(self, data: bytes, student: str) -> datetime | None:
        """When an archive first had these bytes of somebody; None if none had."""
        key = key_of(data)
        times = [time for (known, time), people in self._times.items() if known == key and student in people]
        return min(map(datetime.fromisoformat, times), default=None)

    def save(self) -> None:
        if self._changed:
            folder_of(self._course.root, TIMES)
            lines = [
                json.dumps({"format": FORMAT, "key": key, "time": time, "students": people})
                for (key, time), people in sorted(self._times.items())
            ]
            write_atomically(self._path, "\n".join([*lines, ""]), mode_in(self._course.root))
