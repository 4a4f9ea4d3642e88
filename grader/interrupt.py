"""Ctrl+C: a command that it ends says what is stored and how to go on; the processes that it started don't hear it, and
what may not be cut in two is finished first."""

from __future__ import annotations

import functools
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import ParamSpec, TypeVar

from grader.errors import Interrupted

Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")
GO_ON = "go_on"  # the attribute of a command's function that has its sentence


def stopped(go_on: str) -> Callable[[Callable[Arguments, Returned]], Callable[Arguments, Returned]]:
    """A decorator for a command: when Ctrl+C ends it, it says "Stopped." and then `go_on`, how to go on. Goes
    innermost, on the function itself."""

    def decorate(command: Callable[Arguments, Returned]) -> Callable[Arguments, Returned]:
        @functools.wraps(command)
        def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Returned:
            try:
                return command(*args, **kwargs)
            except KeyboardInterrupt:
                raise Interrupted(f"Stopped. {go_on}") from None

        setattr(run, GO_ON, go_on)
        return run

    return decorate


@contextmanager
def not_interrupted() -> Iterator[None]:
    """Inside the block Ctrl+C waits; it is heard at the end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        signal.raise_signal(signal.SIGINT)


@contextmanager
def children_hear_no_interrupt() -> Iterator[None]:
    """Inside the block, threads and processes start without hearing SIGINT. A terminal sends it to all processes of a
    command, but it is for the first one, which ends the others. A Ctrl+C meanwhile waits for the end of the block."""
    resource_tracker.ensure_running()  # multiprocessing's own process: starting it lets the signal through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
