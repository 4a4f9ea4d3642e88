"""`grader course due`: when a lesson is due."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.teachers import FOLDER, course, teachers_packages
from grader.interrupt import stopped
from grader.printable import echo, printable


@course.command()
@FOLDER
@click.argument("lesson")
@click.argument("time")
@stopped("The due date was either set or left as it was. Run the command again.")
def due(folder: Path, lesson: str, time: str) -> None:
    """Set when LESSON is due for everybody, for example at "2026-11-22 23:00 +0100".

    TIME is in UTC if it names no zone. A zone is +0200, Z, or a place such as Europe/Berlin or Asia/Seoul; an
    abbreviation that could be several is refused. What is late, and what that costs, is worked out again at once.
    """
    with teachers_packages():
        from grader.book.extend import set_due
        from grader.course.called import Called
        from grader.course.moments import in_words

        outcome, called = set_due(folder, lesson, time), Called.of(folder)
    echo(f"{outcome.lesson} is due at {in_words(outcome.due.utc, outcome.due.zone)}.")
    for who, (before, after) in sorted(outcome.marks.items()):
        echo(f"{printable(called(who))}: {before:g} → {after:g} points")
