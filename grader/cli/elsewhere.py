"""`grader grade`: one submission without a course, for whoever has a system of their own."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.platforms import OneOfPlatforms
from grader.cli.teachers import NO_SOLUTIONS, teachers_packages
from grader.errors import CommandFailed, CourseError
from grader.interrupt import stopped
from grader.platforms.registry import by_key
from grader.printable import echo, json_text

VISIBILITY = ("visible", "after_due_date", "after_published", "hidden")  # Gradescope's words


@click.command()
@click.argument("path", metavar="NOTEBOOK", type=click.Path(path_type=Path, exists=True))
@click.option(
    "--lesson", default="", help="The lesson's name or number.  [default: worked out from the exercises in NOTEBOOK]"
)
@click.option("--json", "as_document", is_flag=True, help="The same as --as json.")
@click.option(
    "--as",
    "form",
    type=OneOfPlatforms("gives_result", ("text", "json")),
    default="text",
    show_default=True,
    help="What to print.",
)
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="Write the result to FILE instead.")
@click.option("--visibility", type=click.Choice(VISIBILITY), default="visible", help="When Gradescope shows results.")
@click.option("--limit", "limits", metavar="NAME=NUMBER", multiple=True, help="A limit, for example check_seconds=20.")
@click.option("--carry-forward", type=click.Choice(["none", "half", "full"]), default="none", show_default=True)
@click.option(
    "--solutions",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="The instructor's notebooks.  [default: those that are installed, or this repository's]",
)
@click.option(
    "--secret",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="The file from which the inputs are drawn.  [default: different inputs each time]",
)
@click.option(
    "--course",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Grade NOTEBOOK, a hand-in in this course's submitted/, as the course grades it, on the same inputs and with "
    "the course's settings. Of the other options, only those for the output go with it.",
)
@click.option(
    "--unsafe-no-sandbox",
    "unsafe",
    is_flag=True,
    help="Grade even where there is no sandbox, and mention it in the result.",
)
@stopped("Nothing was written. Run the command again.")
def grade(
    path: Path,
    lesson: str,
    as_document: bool,
    form: str,
    output: Path | None,
    visibility: str,
    limits: tuple[str, ...],
    carry_forward: str,
    solutions: Path | None,
    secret: Path | None,
    course: Path | None,
    unsafe: bool,
) -> None:
    """Grade one NOTEBOOK as `grader autograde` does, without a course.

    NOTEBOOK may also be a folder that somebody handed in, if you name its lesson. Exit code 1 if the notebook can't be
    read or the judge failed at an exercise, 2 if nothing was graded.
    """
    with teachers_packages():
        from grader.atomic import write_atomically
        from grader.batch.single import Settings, grade_in_course, grade_one, limits_of
        from grader.course.files import read_secret
        from grader.learner.starter_code import solutions_folder

        if course is not None:
            if lesson or limits or solutions or secret or unsafe or carry_forward != "none":
                raise CourseError("With --course, give only options for the output; the course settles the rest.")
            graded = grade_in_course(path, course)
        else:
            solutions = solutions or solutions_folder()
            if solutions is None:
                raise CourseError(NO_SOLUTIONS)
            seed = read_secret(secret.parent, secret.name) if secret else b""
            graded = grade_one(path, Settings(solutions, limits_of(limits), lesson, seed, carry_forward, unsafe))
    document = graded.as_json()
    if form not in ("text", "json"):
        document = by_key(form).result(document, visibility)
    text = graded.as_text() if form == "text" and not as_document else json_text(document)
    if output is None:
        echo(text)
    else:
        try:
            write_atomically(output, text + "\n")
        except OSError as error:
            raise CourseError(f"{output} can't be written: {error.strerror}.") from None
    if graded.problem:
        raise CommandFailed(graded.problem)
