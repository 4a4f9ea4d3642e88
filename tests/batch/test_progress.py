"""The progress line: drawn over in a terminal, plain lines elsewhere."""

from __future__ import annotations

import io
import itertools

import pytest

from grader.batch import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch):
    """A second later whenever it is looked at."""
    seconds = itertools.count()
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(seconds)))


def shown(stream, count, steps):
    """What is written for so many steps of one submission."""
    running = progress.Progress(count, stream)
    for _ in range(steps):
        running.add(1)
    running.end()
    return stream.getvalue()


def test_a_line_that_is_drawn_over_in_a_terminal(clock):
    said = shown(Terminal(), 4, 4)
    assert said.startswith("\r1 of 4 graded, 1.0 a second, 3 s left")
    assert said.count("\n") == 1
    assert said.endswith("\n")


def test_plain_lines_elsewhere_and_not_too_many(clock):
    said = shown(io.StringIO(), 25, 25)
    assert "\r" not in said
    assert said.splitlines() == [
        "10 of 25 graded, 1.0 a second, 15 s left",
        "20 of 25 graded, 1.0 a second, 5 s left",
        "25 of 25 graded, 1.0 a second",
    ]
