"""`grader course`: the teacher's commands."""

from __future__ import annotations

from pathlib import Path

import click

import grader
from grader.course import create as make


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
    default=Path(grader.__file__).parents[1] / "solutions",
    help="The instructor's notebooks.  [default: those of this repository]",
)
def create(folder: Path, course_id: str, exchange: str, solutions: Path) -> None:
    """Make a course directory in DIR: nbgrader's layout, the instructor's notebooks, a secret of its own."""
    lessons = make(folder, solutions, course_id, exchange)
    click.echo(f"{folder}: {len(lessons)} lessons. Next: cd {folder}; nbgrader generate_assignment {lessons[0]}")
