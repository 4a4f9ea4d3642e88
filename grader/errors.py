"""The errors of the command line, and with them its exit codes.

| class | exit code | meaning |
| --- | --- | --- |
| `CourseError` | 2 | a usage error, or an author's error: nothing was checked |
| `CommandFailed` | 1 | checked, and found wanting |
| `Interrupted` | 130 | Ctrl+C ended it |
"""

from __future__ import annotations

from typing import IO, Any

import click

from grader.printable import say


class CourseError(click.ClickException):
    """Something that the person at the command line, or the author of a lesson, has to fix."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        """The message alone: it says what is wrong and where, click's "Error:" would add nothing."""
        say(self.message, file=file, err=file is None)


class CommandFailed(CourseError):
    """What was asked to be checked is not as it should be."""

    exit_code = 1


class Interrupted(CourseError):
    """Ctrl+C ended the command; the message says what is stored and how to go on."""

    exit_code = 130  # what a shell says of a program that SIGINT ended
