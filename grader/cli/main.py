"""The command `grader`: every command of the course under one name."""

from __future__ import annotations

import io
import signal
import sys
import traceback
from typing import Any

import click

from grader import __version__
from grader.cli import lessons_of_course  # noqa: F401  (commands of `course`)
from grader.cli.authors import build, digest, mutants, new, release
from grader.cli.elsewhere import grade
from grader.cli.extend import extend
from grader.cli.feedback import feedback
from grader.cli.learners import doctor, progress
from grader.cli.own import exercise
from grader.cli.regrade import override, regrade
from grader.cli.teachers import autograde, collect, course, export, insights, roster
from grader.cli.watch import watch
from grader.errors import CommandFailed, Interrupted
from grader.printable import printable, say


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
        `CommandFailed` in place of an error of the gradebook's database."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            error.message = printable(error.message)  # type: ignore[misc]  # click calls it final
            raise
        except Exception as error:
            if not type(error).__module__.startswith("sqlalchemy."):  # most commands don't import it
                raise
            from grader.book.gradebook import cause

            raise CommandFailed(
                f"The gradebook can't be used ({cause(error)}). If another program has it open, run the command again. "
                "If the file is damaged, put back a copy of it."
            ) from error


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
    "For learners (check, reset and solution are called in a notebook, as lesson 00 shows)": (doctor, progress),
    "For teachers": (
        *(autograde, collect, course, export, extend, feedback, grade),
        *(insights, override, regrade, roster, watch),
    ),
    "For authors of the course": (build, digest, mutants, new, release),
}


@click.group(cls=Sections)
@click.version_option(__version__, message=f"grader {__version__}")
def main() -> None:
    """The course's tools."""
    for stream in (sys.stdout, sys.stderr):  # a student's name must not end a report where a terminal can't show it
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.excepthook = lambda *error: say("".join(traceback.format_exception(*error)), err=True)


for commands in SECTIONS.values():
    for command in commands:
        main.add_command(command)
course.add_command(exercise)

if __name__ == "__main__":
    main()
