"""`grader feedback`: the pages that students read."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from grader.cli.platforms import OneOfPlatforms
from grader.cli.teachers import FOLDER, teachers_packages
from grader.interrupt import stopped
from grader.platforms.registry import by_key
from grader.printable import echo, json_text


@click.command()
@FOLDER
@click.argument("lesson", metavar="[LESSON]", default="")
@click.argument("students", metavar="[STUDENT...]", nargs=-1)
@click.option("--force", is_flag=True, help="Make every page again.")
@click.option(
    "--zip",
    "platform",
    type=OneOfPlatforms("takes_feedback"),
    help="Pack pages as Moodle (Upload multiple feedback files in a zip) or Canvas (Re-upload submissions) takes them.",
)
@click.option("--json", "as_document", is_flag=True, help="Print one JSON document and nothing else.")
@stopped("The pages made so far are complete. Run the command again to make the rest.")
def feedback(
    folder: Path, lesson: str, students: tuple[str, ...], force: bool, platform: str | None, as_document: bool
) -> None:
    """Write the feedback for LESSON, or for all lessons that are graded, in the course directory DIR.

    Only students whose mark, comment or notebook has changed get a new page. The pages are where `nbgrader
    release_feedback` looks for them. --zip packs the pages of all students, or of each STUDENT named. The exit
    code is 1 if something looks wrong, or if a student's name on the platform isn't known; both are listed.
    """
    with teachers_packages():
        from grader.course.called import Called
        from grader.course.class_directory import ClassDirectory
        from grader.course.lock import locked
        from grader.feedback import zips
        from grader.feedback.fresh import graded_lessons, write_feedback

        outcomes, called = [], Called.of(folder)
        with locked(folder.resolve()):
            for name in [lesson] if lesson else graded_lessons(folder):
                course = ClassDirectory(folder, name)
                course.share()
                outcome = write_feedback(course, students, force)
                packed = zips.pack(course, by_key(platform), outcome) if platform else None
                outcomes.append((outcome, packed))
    if as_document:
        echo(json_text([asdict(made) | (asdict(packed) if packed else {}) for made, packed in outcomes]))
    for made, packed in () if as_document else outcomes:
        echo(made.as_text(called))
        if packed:
            echo(packed.as_text(called))
    if any(made.problems or (packed and packed.left_out) for made, packed in outcomes):
        raise SystemExit(1)
