"""`grader extend`: more time for one student."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.teachers import FOLDER, teachers_packages
from grader.errors import CourseError
from grader.interrupt import stopped
from grader.printable import echo


@click.command()
@FOLDER
@click.argument("lesson")
@click.argument("student")
@click.option("--days", type=click.FloatRange(min=0, max=3650), help="How many more days; 0 takes the extension back.")
@click.option("--until", default="", metavar="TIME", help='For example 2026-11-24, or "2026-11-24 18:00 +0100".')
@click.option("--why", default="", help="The reason, which the student reads in the feedback.")
@stopped("The due date was either moved or left as it was. Run the command again.")
def extend(folder: Path, lesson: str, student: str, days: float | None, until: str, why: str) -> None:
    """Give STUDENT more time for LESSON in the course directory DIR, before or after they hand in their work.

    What is late, and what that costs, is worked out again at once in all lessons. A second extension replaces
    the first. Times without a zone are UTC, and a day without an hour means the hour of the lesson's due date.
    A zone is +0200, Z, or a place such as Europe/Berlin or Asia/Seoul.
    """
    if (days is None) == (not until):
        raise CourseError(
            "Say how much extra time to give, with --days or --until, for example --days 2 or --until 2026-11-24."
        )
    with teachers_packages():
        from grader.book.extend import extend as move
        from grader.course.called import Called
        from grader.course.lateness import duration
        from grader.course.moments import in_words

        outcome = move(folder, lesson, student, days, until, why)
    by = f"{duration(outcome.moved)} more" if outcome.moved else "as for everybody"
    who = Called.of(folder)(student)
    echo(f"{outcome.lesson}: {who} may hand work in until {in_words(outcome.until, outcome.zone)}, {by}.")
    if not outcome.handed_in:
        echo("They have nothing in the gradebook yet. The extension applies as soon as they hand something in.")
    for name, (before, after) in sorted(outcome.marks.items()):
        echo(f"{name}: {before:g} → {after:g} points")
