"""How far a run has come: a line that is drawn over in a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from typing import TextIO

EVERY_SECONDS = {True: 0.2, False: 10.0}  # by whether it is a terminal


class Progress:
    """Counts submissions; `count` are to be graded."""

    def __init__(self, count: int, stream: TextIO) -> None:
        self._count, self._stream = count, stream
        self._terminal = stream.isatty()
        self._done = 0
        self._start = self._last = time.monotonic()
        self._drawn = False

    def add(self, more: int) -> None:
        """So many more are graded."""
        self._done += more
        now = time.monotonic()
        if now - self._last >= EVERY_SECONDS[self._terminal]:
            self._last = now
            self._show(now - self._start)

    def _show(self, seconds: float) -> None:
        line = line_of(self._done, self._count, seconds)
        if self._terminal:
            self._stream.write(f"\r{line:<60}")
            self._drawn = True
        else:
            self._stream.write(f"{line}\n")
        self._stream.flush()

    def end(self) -> None:
        """The last line."""
        if self._count:
            self._show(time.monotonic() - self._start)
        if self._drawn:
            self._stream.write("\n")


def line_of(done: int, count: int, seconds: float) -> str:
    """One line.

    >>> line_of(150, 600, 10.0)
    '150 of 600 graded, 15.0 a second, 30 s left'
    >>> line_of(0, 600, 1.0), line_of(600, 600, 40.0)
    ('0 of 600 graded', '600 of 600 graded, 15.0 a second')
    """
    said = f"{done} of {count} graded"
    if not done or not seconds:
        return said
    said += f", {done / seconds:.1f} a second"
    return said if done == count else f"{said}, {_time((count - done) * seconds / done)} left"


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
