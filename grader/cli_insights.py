"""`grader insights`: what a class found hard."""

from __future__ import annotations

from pathlib import Path

import click

from grader.errors import CourseError


@click.command()
@click.argument("course", metavar="DIR", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("name", metavar="[LESSON]", default="")
@click.option("--names", is_flag=True, help="Say which students' submissions look alike.")
@click.option("--page", type=click.Path(path_type=Path, dir_okay=False), help="[default: DIR/insights.html]")
def insights(course: Path, name: str, names: bool, page: Path | None) -> None:
    """Show what a class found hard: exercises by success, points by part, mistakes by name, likenesses.

    Reads what `grader autograde` has graded, of one LESSON or of all, prints it and writes it as one page of HTML.
    """
    from grader.insights import course as reading
    from grader.insights.report import as_html, as_text

    chosen = [name] if name else reading.graded_lessons(course)
    if not chosen:
        raise CourseError(f"{course}: nothing has been graded yet. First: grader autograde {course} LESSON")
    lessons = [reading.lesson(course, one) for one in chosen]
    shown = lessons if names else [lesson.without_names() for lesson in lessons]
    for lesson in shown:
        click.echo(f"{lesson.name}\n\n{as_text(lesson)}\n")
    page = page or course / "insights.html"
    page.write_text(as_html(f"Insights into {course.resolve().name}", shown, names), encoding="utf-8")
    click.echo(f"The same as a page: {page}")
