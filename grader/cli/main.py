"""The command `grader`: every command of the course under one name."""

from __future__ import annotations

import io
import sys

import click

from grader import __version__
from grader.cli import lessons_of_course  # noqa: F401  (commands of `course`)
from grader.cli.authors import build, digest, mutants, new, release
from grader.cli.elsewhere import grade
from grader.cli.feedback import feedback
from grader.cli.learners import doctor, progress
from grader.cli.own import exercise
from grader.cli.regrade import override, regrade
from grader.cli.teachers import autograde, collect, course, export, insights, roster
from grader.cli.watch import watch


@click.group()
@click.version_option(__version__, message=f"grader {__version__}")
def main() -> None:
    """The course's tools."""
    for stream in (sys.stdout, sys.stderr):  # a student's name must not end a report where a terminal can't show it
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


for command in (
    *(autograde, build, collect, course, digest, doctor, export, feedback, grade, insights),
    *(mutants, new, override, progress, regrade, release, roster, watch),
):
    main.add_command(command)
course.add_command(exercise)
