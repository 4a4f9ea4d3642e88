"""Runs the command in courses, each killed at a moment of its own and run again.

    python -m tests.batch.dying ADDRESS COURSE[:MOMENT]...

A moment is a count of events: files that are opened, written, renamed, and statements and commits of the database.
There the process gets SIGKILL. Another run is let finish, and the number of its events is printed. Each run is a fork
of this process, so that torch and Dask are imported once.
"""

from __future__ import annotations

import io
import itertools
import os
import signal
import sys
from pathlib import Path

import distributed  # noqa: F401
import torch  # noqa: F401
from sqlalchemy import Engine, event

from grader.batch import cluster
from grader.batch.run import Options, run
from grader.book import results_log as results


def die_at(moment: int, course: Path) -> itertools.count:
    """Count events from here on; at number `moment`, die."""
    numbers = itertools.count()

    def tick(*_about: object, **_more: object) -> None:
        if next(numbers) == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    def seen(name: str, args: tuple[object, ...]) -> None:
        if name in ("open", "os.rename", "os.remove", "os.chmod", "os.mkdir") and str(args[0]).startswith(str(course)):
            tick()

    def write(descriptor: int, data: bytes) -> int:
        half = os.write(descriptor, data[: len(data) // 2])
        tick()
        return half + os.write(descriptor, data[len(data) // 2 :])

    sys.addaudithook(seen)
    results.os = type("os", (), {**vars(os), "write": staticmethod(write)})  # type: ignore[assignment]
    for name in ("before_cursor_execute", "after_cursor_execute", "commit"):
        event.listen(Engine, name, tick)
    return numbers


def one_run(moment: int, course: Path, address: str) -> int:
    """A run in a fork; its exit status as the system has it."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    numbers = die_at(moment, course)
    cluster.Judges.__exit__ = lambda *_error: None  # type: ignore[method-assign]
    outcome = run(course, "00", Options(scheduler=address, add_students=True), io.StringIO())
    print(next(numbers), flush=True)
    os._exit(bool(outcome.stopped))


def main(address: str, *courses: str) -> None:
    """Run the command in every course, killed first if a moment is given, then to its end."""
    for words in courses:
        course, _, moment = words.partition(":")
        if moment and (status := one_run(int(moment), Path(course), address)) != signal.SIGKILL:
            raise SystemExit(f"{words}: not killed but ended with {status}")
        if status := one_run(-1, Path(course), address):
            raise SystemExit(f"{words}: the last run ended with {status}")


if __name__ == "__main__":
    main(*sys.argv[1:])
