"""A learner's progress as a table that is updated while other notebooks are checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import traitlets

from grader.sentences import say, together
from grader.views.base import KernelView, module, style

PASSED = "passed"  # how the id of such a state begins


class ProgressTable(KernelView):
    """A table of lesson, exercise, state, points and tries. `read` gives rows as `grader.learner.progress.rows` does,
    `tell` a sentence about guesses at predictions, every two seconds while the table is in sight.

    >>> ProgressTable(lambda: [["00_start_here", "first_steps", "passed", "1", "1", "2"]])
    Progress, 1 exercises: 1 passed.
    """

    opening = "Progress,"

    _esm = module("progress_table.js")
    _css = style("progress_table.css")

    rows: traitlets.List[list[str]] = traitlets.List().tag(sync=True)
    told = traitlets.Unicode().tag(sync=True)

    def __init__(self, read: Callable[[], Sequence[Sequence[str]]], tell: Callable[[], str] = lambda: "") -> None:
        self._read, self._tell = read, tell
        super().__init__(rows=[list(row) for row in read()], told=tell())
        self.summary = self._in_words()
        self.on_msg(self._on_message)

    def _on_message(self, _widget: object, _content: dict[str, Any], _buffers: list[bytes]) -> None:
        """Read the rows again, which is what every message from the browser asks for. An unchanged trait isn't sent."""
        with self.hold_sync():
            self.rows = [list(row) for row in self._read()]
            self.told = self._tell()
            self.summary = self._in_words()

    def _in_words(self) -> str:
        passed = sum(row[2].partition("-")[0] == PASSED for row in self.rows)
        said = say("Progress, {count} exercises: {passed} passed.", count=len(self.rows), passed=passed)
        return together(said, self.told)
