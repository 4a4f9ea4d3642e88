"""The learner's commands, `grader doctor` and `grader progress`, and the one that packs the learner's zip."""

from __future__ import annotations

from pathlib import Path

import click

from grader.errors import CourseError, FoundWanting


@click.command()
def doctor() -> None:
    """Is this machine ready for the course? Exits 1 if something has to be mended."""
    from grader.doctor import doctor as examine

    diagnosis = examine()
    if not diagnosis.ready:
        raise FoundWanting(repr(diagnosis))
    click.echo(repr(diagnosis))


@click.command()
def progress() -> None:
    """Lessons, exercises, and the points earned so far."""
    from grader import progress as kept
    from grader.registry import exercises

    known, course = kept.load(), exercises()
    table = [["lesson", "exercise", "state", "points", "tries"], *kept.rows(course, known)]
    widths = [max(len(row[column]) for row in table) for column in range(5)]
    for row in table:
        click.echo("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())
    earned, possible = kept.total(course, known)
    click.echo(
        f"\n{earned:g} of {possible:g} points" + ("" if kept.location() else " (GRADER_PROGRESS=off: nothing is kept)")
    )


@click.command()
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=Path("dist"), show_default=True)
def release(out: Path) -> None:
    """Write the student's package: notebooks, wheel, set-up files, in one zip."""
    try:
        from grader import build
        from grader.build.release import release as pack
    except ModuleNotFoundError as error:
        raise CourseError(f"{error.name} is not installed. Authors need: pip install -e '.[dev]'") from error
    from grader.registry import exercises

    click.echo(pack(build.Course(build.find_root(Path.cwd()), exercises()), out))
