"""What nbgrader's commands print, without what a file's name could do to a terminal."""

from __future__ import annotations

from logging import LogRecord
from typing import Any

from tornado.log import LogFormatter

from grader.printable import printable


class PrintableFormatter(LogFormatter):
    """Formats a line of nbgrader's log as nbgrader does, with everything in the message that isn't printable as an
    escape."""

    def format(self, record: LogRecord) -> str:
        """One line of the log, or several where the message has them."""
        message = "\n".join(map(printable, record.getMessage().split("\n")))
        record.msg, record.args = message, ()
        return str(super().format(record))

    def formatException(self, ei: Any) -> str:
        """The traceback of an error, which may say what a file is called."""
        return "\n".join(map(printable, super().formatException(ei).split("\n")))
