"""The teachers' commands: `grader course`, `grader autograde`, `grader insights`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from grader.errors import CourseError


@contextmanager
def _teachers_packages() -> Iterator[None]:
    """Says what to install where a package of the `teacher` extra is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "grader").partition(".")[0] == "grader":
            raise
        raise CourseError(
            f"{error.name} is not installed. Teachers need: pip install 'attention-course[teacher]'"
        ) from error


@click.group()
def course() -> None:
    """A teacher's course directory."""


@course.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option("--id", "course_id", default="", help="The course's id in nbgrader.  [default: the name of DIR]")
@click.option("--exchange", default="", help="The exchange folder.  [default: nbgrader's own]")
@click.option(
    "--solutions",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="The instructor's notebooks.  [default: those that are installed, or this repository's]",
)
def create(folder: Path, course_id: str, exchange: str, solutions: Path | None) -> None:
    """Make a course directory in DIR: nbgrader's layout, the instructor's notebooks, a secret of its own."""
    from grader.classroom.create import create as make
    from grader.learner.starter_code import solutions_folder

    solutions = solutions or solutions_folder()
    if solutions is None:
        raise CourseError("The instructor's notebooks are not installed here. Name their folder: --solutions FOLDER")
    lessons = make(folder, solutions, course_id, exchange)
    click.echo(f"{folder}: {len(lessons)} lessons. Next: cd {folder}; nbgrader generate_assignment {lessons[0]}")


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("lesson")
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    help="Processes on this machine.  [default: one for every 16 new submissions, at most one a core]",
)
@click.option("--scheduler", metavar="ADDRESS", help="Grade on the Dask cluster of this scheduler instead.")
@click.option("--force", is_flag=True, help="Grade everybody anew.")
@click.option("--add-students", is_flag=True, help="Grade students who aren't in the roster too, and add them.")
@click.option("--json", "as_document", is_flag=True, help="Print one JSON document and nothing else.")
def autograde(
    folder: Path,
    lesson: str,
    workers: int | None,
    scheduler: str | None,
    force: bool,
    add_students: bool,
    as_document: bool,
) -> None:
    """Grade every submission of LESSON in the course directory DIR and fill the gradebook.

    LESSON is the lesson's name or number. What is graded already and hasn't changed is left as it is; a run that was
    interrupted is taken up again. Exit code 1 if anything could not be graded: the list says why.
    """
    with _teachers_packages():
        from grader.batch import printout
        from grader.batch.run import Options, run

        outcome = run(folder, lesson, Options(workers, scheduler, force, add_students))
    click.echo(json.dumps(printout.as_json(outcome), indent=1) if as_document else printout.as_text(outcome))
    if outcome.problems or outcome.stopped:
        raise SystemExit(1)


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("lesson", metavar="[LESSON]", default="")
@click.option("--names", is_flag=True, help="Say which students' submissions look alike.")
@click.option("--page", type=click.Path(path_type=Path, dir_okay=False), help="[default: DIR/insights.html]")
def insights(folder: Path, lesson: str, names: bool, page: Path | None) -> None:
    """Show what a class found hard: exercises by success, points by part, mistakes by name, similar submissions.

    Reads what `grader autograde` has graded, of one LESSON (its name or number) or of all, prints it and writes it as
    one page of HTML.
    """
    with _teachers_packages():
        from grader.insights.collect import graded_lessons, lesson_insights
        from grader.insights.page import as_html, as_text

    lessons = [lesson_insights(folder, one) for one in ([lesson] if lesson else graded_lessons(folder))]
    if not lessons:
        raise CourseError(f"{folder}: nothing has been graded yet. First: grader autograde {folder} LESSON")
    shown = lessons if names else [one.without_names() for one in lessons]
    for one in shown:
        click.echo(f"{one.name}\n\n{as_text(one)}\n")
    page = page or folder / "insights.html"
    page.write_text(as_html(f"Insights into {folder.resolve().name}", shown, names), encoding="utf-8")
    click.echo(f"The same as a page: {page}")
