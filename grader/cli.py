"""The command line: `grader build`. Commands are thin; exit codes live on the errors (see `grader.errors`)."""

from __future__ import annotations

import os
from pathlib import Path

import click

from grader.cli_batch import autograde
from grader.cli_course import course
from grader.cli_insights import insights
from grader.errors import CourseError
from grader.learner import doctor, progress, release


@click.group()
def main() -> None:
    """The course's tools."""


main.add_command(doctor)
main.add_command(autograde)
main.add_command(course)
main.add_command(insights)
main.add_command(progress)
main.add_command(release)


@main.command()
@click.argument("lessons", metavar="[LESSON]...", nargs=-1)
@click.option("--check", is_flag=True, help="Run nothing: exit 1 if a rebuild would change a notebook.")
@click.option(
    "--jobs", type=click.IntRange(min=1), default=os.cpu_count(), help="Lessons run at once.  [default: cores]"
)
@click.option("--no-cache", is_flag=True, help="Run unchanged lessons too (also with CI=true).")
def build(lessons: tuple[str, ...], check: bool, jobs: int, no_cache: bool) -> None:
    """Build solutions/ and notebooks/ from lessons/.

    LESSON is a lesson's name, number or file; without it, all lessons are built.
    """
    try:
        from grader import build as building
    except ModuleNotFoundError as error:
        raise CourseError(f"{error.name} is not installed. Authors need: pip install -e '.[dev]'") from error
    from grader.registry import exercises

    course = building.Course(building.find_root(Path.cwd()), exercises())
    if check:
        building.check(course, lessons)
        click.echo("solutions/ and notebooks/ are what a build would make.")
    else:
        use_cache = not no_cache and os.environ.get("CI", "").lower() not in ("true", "1")
        building.build(course, lessons, jobs=jobs, use_cache=use_cache, tell=click.echo)
