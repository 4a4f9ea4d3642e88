"""One run at a time on a course. The lock ends with the process that holds it, however it ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from grader.classroom.results_log import folder_of
from grader.errors import CommandFailed


@contextlib.contextmanager
def locked(course: Path) -> Iterator[None]:
    """Hold the course's lock; `CommandFailed` with the holder's name if another run has it."""
    path = folder_of(course) / "lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CommandFailed(f"{course} is being graded by {file.read().strip() or 'another run'}.") from None
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}, since {datetime.now():%Y-%m-%d %H:%M:%S}\n")
        file.flush()
        yield
        file.truncate(0)
