"""The learners' commands: `grader doctor` and `grader progress`."""

from __future__ import annotations

import click

from grader.errors import CommandFailed
from grader.interrupt import stopped
from grader.printable import echo


@click.command()
@click.option("--judge", is_flag=True, help="For teachers: show how students' code is confined on this machine.")
@stopped("Nothing was written. Run the command again.")
def doctor(judge: bool) -> None:
    """Check whether this machine is ready for the course. Exits with 1 if something has to be fixed."""
    from grader.learner.doctor import Diagnosis
    from grader.learner.doctor import doctor as examine

    if judge:
        from grader.cli.confinement import confinement_here

        diagnosis = Diagnosis(list(confinement_here()))
    else:
        diagnosis = examine()
    if not diagnosis.ready:
        raise CommandFailed(repr(diagnosis))
    echo(repr(diagnosis))


@click.command()
@stopped("Nothing was written.")
def progress() -> None:
    """Show the lessons, the exercises and the points earned so far."""
    from grader.exercises.registry import exercises
    from grader.learner import progress as kept

    known, course = kept.load(), exercises()
    table = [["lesson", "exercise", "state", "points", "tries"], *kept.rows(course, known)]
    widths = [max(len(row[column]) for row in table) for column in range(5)]
    for row in table:
        echo("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())
    earned, possible = kept.total(course, known)
    echo(
        f"\n{earned:g} of {possible:g} points" + ("" if kept.location() else " (GRADER_PROGRESS=off: nothing is kept)")
    )
    if guesses := kept.predictions():
        echo(guesses)
