"""Temporary folders that are removed even if their process is killed: then by the next one that makes such a folder."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from grader.subject.scratch import empty

NEW = 60.0  # seconds in which a folder may be without its lock


@contextlib.contextmanager
def held_folder(prefix: str) -> Iterator[str]:
    """A new folder whose name begins so, as long as the block runs, and a lock on it as long as this process does,
    however that ends. Those of processes of this user that were killed are removed first. `FileNotFoundError` if there
    is no folder for temporary files."""
    _remove_left_over(prefix)
    folder = os.path.realpath(tempfile.mkdtemp(prefix=prefix))
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(held, fcntl.LOCK_SH)
        yield folder
    finally:
        with contextlib.suppress(OSError):
            empty(folder)
            os.rmdir(folder)
        os.close(held)


def _remove_left_over(prefix: str) -> None:
    for place in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with contextlib.suppress(OSError):
            about = place.lstat()
            if about.st_uid != os.geteuid() or not stat.S_ISDIR(about.st_mode) or time.time() - about.st_mtime < NEW:
                continue
            held = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                empty(str(place))
                os.rmdir(place)
            finally:
                os.close(held)
