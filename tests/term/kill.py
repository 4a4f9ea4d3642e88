"""A command that is killed at one of its writes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

WRITES = ("os.rename", "os.mkdir", "os.remove", "os.rmdir")


class Killed(BaseException):
    """In place of SIGKILL: nothing catches it."""


_left: list[tuple[int, str]] = []  # how many writes are left, below which folder


def _count(event: str, arguments: tuple[object, ...]) -> None:
    if not _left or (event not in WRITES and event != "open"):
        return
    path = arguments[0]
    writes = event != "open" or (isinstance(flags := arguments[2], int) and flags & (os.O_WRONLY | os.O_RDWR))
    left, folder = _left[0]
    if writes and isinstance(path, str | os.PathLike) and os.fspath(path).startswith(folder):
        _left[0] = (left - 1, folder)
        if left == 1:
            _left.clear()  # what cleans up behind it may write
            raise Killed(f"{event} {path}")


@contextmanager
def killed_at(write: int, folder: Path) -> Iterator[None]:
    """Raise `Killed` in the block, before the write of this number below a folder; with 0, never."""
    if not hasattr(sys, "_killed_by_a_test"):
        sys._killed_by_a_test = True  # type: ignore[attr-defined]
        sys.addaudithook(_count)
    if write:
        _left.append((write, str(folder)))
    try:
        yield
    finally:
        _left.clear()
