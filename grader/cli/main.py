"""The command `grader`: every command of the course under one name."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from typing import Any

import click

from grader import __version__
from grader.cli import due, lessons_of_course, withdraw  # noqa: F401  (commands of `course`)
from grader.cli.authors import build, digest, mutants, new, release, translate
from grader.cli.elsewhere import grade
from grader.cli.extend import extend
from grader.cli.feedback import feedback
from grader.cli.learners import doctor, language, progress
from grader.cli.own import exercise
from grader.cli.regrade import override, regrade
from grader.cli.roster import roster
from grader.cli.teachers import autograde, collect, course, export, insights
from grader.cli.watch import watch
from grader.errors import CommandFailed, Interrupted
from grader.printable import echo, printable


class Sections(click.Group):
    """A group whose help lists its commands under headings, a learner's first."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command. Once Ctrl+C has ended one, another Ctrl+C changes nothing."""
        try:
            return super().main(*args, **kwargs)
        except SystemExit as end:
            if end.code == Interrupted.exit_code:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands into the help as click does, but section by section."""
        for heading, commands in SECTIONS.items():
            rows = [(command.name or "", command.get_short_help_str(limit=60)) for command in commands]
            with formatter.section(heading):
                formatter.write_dl(sorted(rows))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is called. For the name of something that is called in a notebook only, click's usage error
        says where that is."""
        if args and args[0] in IN_A_NOTEBOOK:
            ctx.fail(IN_A_NOTEBOOK[args[0]])
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Call the command. What click says of a wrong argument is made printable, since a shell fills in files' names.
        `CommandFailed` in place of an error of the gradebook's database, or of a file that can't be used."""
        words = [*ctx.args]  # click empties them
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            error.message = printable(error.message)  # type: ignore[misc]  # click calls it final
            raise
        except OSError as error:
            if error.errno == errno.EPIPE:  # whoever reads what is printed has gone; click ends the command for that
                raise
            raise CommandFailed(unusable(error, words)) from error
        except Exception as error:
            fault = _of_database(error)
            if fault is None:
                raise
            from grader.book.gradebook import cause

            raise CommandFailed(
                f"The gradebook can't be used ({cause(fault)}). If another program has it open, run the command again. "
                "If the file is damaged, put back a copy of it."
            ) from error


def _of_database(error: Exception) -> Any:
    """The database's error that this one is, or that nbgrader wraps in its own; None if it is another."""
    for one in (error, error.__context__ if type(error).__module__ == "nbgrader.api" else None):
        if type(one).__module__.startswith("sqlalchemy."):  # most commands don't import it
            return one
    return None


# What helps when the system refuses a file, by the number of its error.
_NO_ROOM = "Make room there, and run the command again."
_CLOSED = "Ask its owner, or whoever runs this machine, to give you access to it."
ADVICE = {
    errno.ENOSPC: _NO_ROOM,
    errno.EDQUOT: _NO_ROOM,
    errno.EFBIG: _NO_ROOM,  # what a limit of the shell's says (`ulimit -f`)
    errno.EROFS: "Nothing can be written there. Choose another place, or make that disk writable.",
    errno.EACCES: _CLOSED,
    errno.EPERM: _CLOSED,
    errno.ENOENT: "Either it is missing, or the folder that it should be in is. Make that folder, or name another one.",
    errno.EEXIST: "Move away what has this name, and run the command again.",
    errno.EISDIR: "A folder has the name of this file. Move it away, and run the command again.",
    errno.ENOTDIR: "A file has the name of this folder. Move it away, and run the command again.",
}


def unusable(error: OSError, said: Sequence[str]) -> str:
    """What the system refused, with the path and what helps, in sentences. An error without a path, as of a full disk,
    happened in the folder that the command line names; `said` is that line's rest."""
    named = [name for name in (error.filename2, error.filename) if isinstance(name, str | bytes | os.PathLike)]
    folder = next((word for word in said if os.path.isdir(word)), os.curdir)
    path = os.fsdecode(named[0]) if named else os.path.abspath(folder)
    why = error.strerror or str(error) or type(error).__name__
    return f"{path} can't be used: {why}. {ADVICE.get(error.errno or 0, 'Run the command again when that is mended.')}"


# What a learner may look for here.
IN_A_NOTEBOOK = {
    name: f'`{name}` is called in a notebook: `from grader import {name}`, then `{name}("first_steps")`. {what}'
    for name, what in {
        "check": "It checks an exercise.",
        "reset": "It puts an exercise's cell back as it was at the start.",
        "solution": "It shows a model solution, where the solutions are installed.",
    }.items()
}
SECTIONS = {
    "For learners (check, reset and solution are called in a notebook, as lesson 00 shows)": (
        doctor,
        language,
        progress,
    ),
    "For teachers": (
        *(autograde, collect, course, export, extend, feedback, grade),
        *(insights, override, regrade, roster, watch),
    ),
    "For authors of the course": (build, digest, mutants, new, release, translate),
}


@click.group(cls=Sections)
@click.version_option(__version__, message=f"grader {__version__}")
def main() -> None:
    """The course's tools."""
    for stream in (sys.stdout, sys.stderr):  # a student's name must not end a report where a terminal can't show it
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.excepthook = lambda *error: echo("".join(traceback.format_exception(*error)), err=True)


for commands in SECTIONS.values():
    for command in commands:
        main.add_command(command)
course.add_command(exercise)

if __name__ == "__main__":
    main()
