"""One process at a time in a course."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from filelock import FileLock, Timeout

from grader.course.folder import folder_of, mode_in
from grader.errors import CommandFailed

# Who holds the course's lock for seconds at a time, and how many seconds others wait for it.
WATCH, PATIENCE = "grader watch", 120.0


@contextlib.contextmanager
def locked(course: Path, name: str = "lock", what: str = "graded", who: str = "") -> Iterator[None]:
    """Hold the course's lock, or another one by its `name`; `CommandFailed`, which says `what` is being done to the
    course and by whom, if another process has it. `who` is noted as the holder: `grader watch`, which holds it for
    seconds at a time, is waited for. The lock ends with the process that holds it, however it ends."""
    folder = folder_of(course)
    lock, holder = FileLock(folder / name, timeout=0, mode=mode_in(course)), folder / f"{name}-holder"
    until = time.monotonic() + PATIENCE
    while True:
        try:
            lock.acquire()
            break
        except Timeout:
            holds = holder.read_text() if holder.is_file() else "another run"
            if not holds.startswith(f"{WATCH}, ") or time.monotonic() > until:
                raise CommandFailed(f"{course} is being {what} by {holds}.") from None
            time.sleep(0.05)
    try:
        me = f"process {os.getpid()} on {socket.gethostname()}, since {datetime.now():%Y-%m-%d %H:%M}"
        holder.write_text(f"{who}, {me}" if who else me)
        yield
    finally:
        lock.release()
