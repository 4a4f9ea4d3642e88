"""Reads and copies files that students put there: regular files only, never through a link, never without end."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from grader.errors import CourseError
from grader.judge.reader import Unreadable

MIB = 2**20
MAX_FILES, MAX_FOLDERS = 200, 50


def read_regular(path: str | Path, max_bytes: int) -> bytes:
    """The bytes of a regular file (one more than `max_bytes` at most); `Unreadable` for anything else there."""
    try:
        # Without O_NONBLOCK a pipe in place of a file would stop us for good.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise Unreadable(f"The file can't be read: {error.strerror}. A link is not followed.") from None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise Unreadable("The file can't be read: it is no regular file.")
        return file.read(max_bytes + 1)


def read_secret(course: Path, name: str) -> bytes:
    """The secret of a course, from the file of this name in its folder."""
    try:
        secret = read_regular(course / name, 4096).strip()
    except Unreadable as error:
        raise CourseError(f"{name}: {error} `grader course create` makes one.") from None
    if len(secret) < 32:
        raise CourseError(f"{name} is too short to be a secret.")
    return secret


def irregular(folder: str | Path) -> list[Path]:
    """Everything under `folder` that is neither a regular file nor a folder."""
    found: list[Path] = []
    for place, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = Path(place, name)
            mode = path.lstat().st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                found.append(path)
    return found


def copy_regular(source: str | Path, target: str | Path, max_bytes: int = 100 * MIB) -> list[str]:
    """Copy the regular files of `source`; what was left out, in words."""
    left_out: list[str] = []
    count = room = 0
    for place, folders, names in os.walk(source):
        folders[:] = sorted(folders)[:MAX_FOLDERS]
        for name in sorted(names):
            path = Path(place, name)
            relative = path.relative_to(source)
            try:
                data = read_regular(path, max_bytes - room)
            except Unreadable as error:
                left_out.append(f"{relative}: {error}")
                continue
            count, room = count + 1, room + len(data)
            if count > MAX_FILES or room > max_bytes:
                left_out.append(f"{relative}: too many files, or too large ones")
                return left_out
            Path(target, relative).parent.mkdir(parents=True, exist_ok=True)
            Path(target, relative).write_bytes(data)
    return left_out
