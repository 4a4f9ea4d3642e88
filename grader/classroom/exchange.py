"""Collecting from nbgrader's exchange: regular files only."""

from __future__ import annotations

from typing import Any

from nbgrader.exchange.default import ExchangeCollect

from grader.classroom.files import copy_regular


class CollectRegularFiles(ExchangeCollect):
    """As nbgrader collects, but a link in a submission isn't followed and a pipe isn't read."""

    def do_copy(self, src: str, dest: str, log: Any = None) -> None:
        """Copy one submission."""
        for sentence in copy_regular(src, dest, 1000 * int(self.coursedir.max_dir_size)):
            self.log.warning("Left out of %s: %s", src, sentence)
