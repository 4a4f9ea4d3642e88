"""What a course notes of a lesson: `DIR/.grader/KIND/LESSON.jsonl`, one JSON object a line, each with its `format`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from grader.atomic import write_atomically
from grader.course.folder import FOLDER, folder_of, mode_in


def lines_file(course: Path, kind: str, lesson: str) -> Path:
    """The path of a lesson's lines of a kind, such as `RESULTS`; neither the file nor its folder is made."""
    return course / FOLDER / kind / f"{lesson}.jsonl"


def read_lines(path: Path, form: int = 1) -> Iterator[tuple[int, dict[str, Any]]]:
    """The number of each line, from 1, and the object that it holds; nothing if there is no file. A line that is torn
    or of another format than `form` is passed over."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        for number, line in enumerate(file, start=1):
            try:
                data = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(data, dict) and data.get("format") == form:
                yield number, data


def append_line(course: Path, kind: str, lesson: str, data: Mapping[str, Any]) -> None:
    """Append an object to a lesson's lines of a kind, and see it on the disk. It doesn't join a line that was torn when
    a run was killed."""
    folder_of(course, kind)
    number = os.open(lines_file(course, kind, lesson), os.O_RDWR | os.O_APPEND | os.O_CREAT, mode_in(course))
    with open(number, "ab") as file:
        end = os.fstat(number).st_size
        torn = end and os.pread(number, 1, end - 1) != b"\n"
        file.write((b"\n" if torn else b"") + json.dumps({"format": 1, **data}).encode() + b"\n")
        file.flush()
        os.fsync(number)


def write_lines(course: Path, kind: str, lesson: str, lines: Iterable[Mapping[str, Any]]) -> None:
    """Write a lesson's lines of a kind anew; without any, the file is removed."""
    folder_of(course, kind)
    path = lines_file(course, kind, lesson)
    text = "".join(f"{json.dumps({'format': 1, **line})}\n" for line in lines)
    if text:
        write_atomically(path, text, mode_in(course))
    else:
        path.unlink(missing_ok=True)
