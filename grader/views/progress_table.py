"""What has been done so far, in a table that follows what happens in other notebooks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import traitlets

from grader.views.base import View, module, style

Rows = list[list[str]]


class ProgressTable(View):
    """A table of lesson, exercise, state, points and tries, filled by `read` and read anew every two seconds while it
    is in sight.

    >>> ProgressTable(lambda: [["00_start_here", "first_steps", "passed", "1 of 1", "2"]])
    Progress, 1 exercises: 1 passed.
    """

    _esm = module("progress_table.js")
    _css = style("progress_table.css")

    rows: traitlets.List[list[str]] = traitlets.List().tag(sync=True)

    def __init__(self, read: Callable[[], Sequence[Sequence[str]]]) -> None:
        self._read = read
        super().__init__(rows=[list(row) for row in read()])
        self.summary = self._in_words()
        self.on_msg(self._on_message)

    def _on_message(self, _widget: object, _content: dict[str, Any], _buffers: list[bytes]) -> None:
        """Every message is the same question: is there anything new? A trait that stays the same isn't sent."""
        with self.hold_sync():
            self.rows = [list(row) for row in self._read()]
            self.summary = self._in_words()

    def _in_words(self) -> str:
        passed = sum(row[2].startswith("passed") for row in self.rows)
        return f"Progress, {len(self.rows)} exercises: {passed} passed."
