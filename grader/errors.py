"""The errors of the course, and the exit codes of the command line.

    CourseError              exit code 2: something that a person has to fix; nothing was checked
    ├─ BrokenNotebook          a notebook of a course's source/ can't be read
    ├─ LessonError             all that is wrong with the lessons
    ├─ UnknownLesson           the gradebook doesn't know a lesson, because it was never generated
    ├─ Interrupted             exit code 130: Ctrl+C ended the command
    └─ CommandFailed           exit code 1: it was checked, and is not as it should be; or a file can't be used
       └─ GradebookUnavailable   the gradebook can't be written now
    Unreadable               what somebody handed in can't be read; the words are for the student
    ├─ FileTooLarge            more bytes than may be read
    └─ NotFollowed             a link in place of a file
    SandboxUnavailable       students' code can't be confined on this machine
    SchedulerLost            Dask's scheduler is gone
    OtherVersion             a worker has another version of the course
    NotReleased              students don't have the check of an exercise yet
    CheckFailed              a check that failed, where nbgrader runs the cell

Those of the process that runs a student's code are in `grader.subject.errors`: that folder imports nothing from here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import click

from grader.printable import echo


class CourseError(click.ClickException):
    """Something that the person at the command line, or the author of a lesson, has to fix."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        """The message alone: it says what is wrong and where, click's "Error:" would add nothing."""
        echo(self.message, file=file, err=file is None)


class CommandFailed(CourseError):
    """What was asked to be checked is not as it should be."""

    exit_code = 1


class Interrupted(CourseError):
    """Ctrl+C ended the command; the message says what is stored and how to go on."""

    exit_code = 130  # what a shell says of a program that SIGINT ended


class BrokenNotebook(CourseError):
    """A notebook of the course's own can't be read. `line` is where, 0 if that isn't known; `why` is the message
    without the place."""

    def __init__(self, path: Path, message: str, line: int = 0) -> None:
        super().__init__(f"{path}{f':{line}' if line else ''}: {message}")
        self.line, self.why = line, message


class LessonError(CourseError):
    """All that is wrong with the lessons, a line each."""

    def __init__(self, problems: Sequence[Any]) -> None:
        super().__init__("\n".join(str(problem) for problem in sorted(set(problems))))
        self.problems = problems


class Unreadable(ValueError):
    """What somebody handed in can't be read as a notebook. The message is for the student."""


class FileTooLarge(Unreadable):
    """A file of `size` bytes, which is more than may be read."""

    def __init__(self, size: int, max_bytes: int) -> None:
        super().__init__(f"The file has {size} bytes; at most {max_bytes} are read.")
        self.size = size


class NotFollowed(Unreadable):
    """A link in place of a file, or in place of a folder on the way to it."""

    def __init__(self) -> None:
        super().__init__(
            "The file can't be read because it is a link or is in a linked folder. Links are not followed."
        )


class SandboxUnavailable(RuntimeError):
    """Students' code can't be confined on this machine. The message says why."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"Grading runs students' code and has to confine it, but {why}. See docs/operations.md for what to do."
        )


class UnknownLesson(CourseError):
    """The gradebook doesn't know a lesson, because it was never generated."""


class GradebookUnavailable(CommandFailed):
    """The gradebook's database can't be written now: locked, gone, or written by another. Nothing of the batch was
    stored. `why` is what the database said."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"The gradebook can't be written to just now ({why}). Run the command again.")


class SchedulerLost(RuntimeError):
    """Dask's scheduler is gone, and with it the work that was under way."""


class OtherVersion(RuntimeError):
    """A worker has another version of the course's package than the command."""


class NotReleased(Exception):
    """Students don't have the check of this exercise yet."""


class CheckFailed(AssertionError):
    """Raised after the report is shown, where nbgrader runs the cell: only a raising cell counts as failed."""

    def _render_traceback_(self) -> list[str]:
        return [f"CheckFailed: {self}"]
