"""The learners' commands: `grader doctor`, `grader language` and `grader progress`."""

from __future__ import annotations

from pathlib import Path

import click

from grader.errors import CommandFailed
from grader.interrupt import stopped
from grader.printable import columns_of, echo, padded


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
    from grader.languages import shown
    from grader.learner import progress as kept

    known, course = kept.load(), exercises()
    table = [kept.HEADS, *map(kept.in_words, kept.rows(course, known))]
    table = [[shown(text) for text in row] for row in table]
    widths = [max(map(columns_of, column)) for column in zip(*table, strict=True)]
    for row in table:
        echo("  ".join(padded(text, width) for text, width in zip(row, widths, strict=True)).rstrip())
    echo(f"\n{shown(kept.summed(course, known))}")
    if guesses := kept.predictions():
        echo(shown(guesses))


@click.command()
@click.argument("code", default="")
@click.argument("notebooks", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@stopped("Nothing was written. Run the command again.")
def language(code: str, notebooks: tuple[Path, ...]) -> None:
    """Show reports and messages in the language CODE (en, ko). The text of NOTEBOOKS that you have begun changes, too;
    your answers, your own cells and what they printed stay."""
    from grader import languages
    from grader.learner.switch import switch

    if code and (wrong := languages.problem(code)):
        raise click.UsageError(languages.shown(wrong))
    if not code:
        languages.language()
        return
    wanted = languages.known(code)
    for path in notebooks:
        echo(switch(path, wanted))
    echo(languages.choose(wanted))
