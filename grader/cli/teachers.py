"""The teachers' commands: `grader course`, `collect`, `autograde`, `insights`, `export`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

import click

from grader.cli.platforms import OneOfPlatforms
from grader.errors import CourseError, Interrupted
from grader.interrupt import stopped
from grader.platforms.registry import by_key
from grader.printable import echo, joined, json_text, printable

NO_SOLUTIONS = (
    "The instructor's notebooks are not installed here. The teacher's package has them (`grader release --teacher` "
    "makes it). If you have them elsewhere, name their folder: --solutions FOLDER"
)


@contextmanager
def teachers_packages() -> Iterator[None]:
    """Raise `CourseError`, which says what to install, where the block misses a package of the `teacher` extra."""
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
    "--group", default="", help="A group on this machine whose teachers share the course.  [default: you alone]"
)
@click.option(
    "--solutions",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="The instructor's notebooks.  [default: those that are installed, or this repository's]",
)
@stopped("The course is incomplete. Remove the folder if it exists, and make the course again.")
def create(folder: Path, course_id: str, exchange: str, group: str, solutions: Path | None) -> None:
    """Make a course directory in DIR, with nbgrader's layout, the instructor's notebooks and its own secret."""
    from grader.learner.starter_code import solutions_folder
    from grader.source.create import create as make

    solutions = solutions or solutions_folder()
    if solutions is None:
        raise CourseError(NO_SOLUTIONS)
    lessons = make(folder, solutions, course_id, exchange, group)
    echo(f"{folder}: {len(lessons)} lessons. Next: cd {folder}; nbgrader generate_assignment {lessons[0]}")


FOLDER = click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, exists=True, file_okay=False))


@course.command()
@FOLDER
@click.argument("student")
@click.option("--yes", is_flag=True, help="Remove everything without asking.")
@stopped(
    "Some of the student's data has been removed. Run the command again to remove the rest and to search for what "
    "still mentions them."
)
def forget(folder: Path, student: str, yes: bool) -> None:
    """Remove STUDENT from the course directory DIR, that is, from files, results, gradebook, roster and exchange.

    It shows what it will remove, and asks. Files about all students that were made from these
    (marks-*.csv, insights.html) are removed as well, so make them again afterwards. At the end it searches for
    the person, and exits with 1 if a file still mentions them.
    """
    with teachers_packages():
        from grader.course.forget import forget as remove
        from grader.course.forget import steps_to_forget
        from grader.course.lock import locked
        from grader.course.roster import Person, Roster

        course = folder.resolve()
        if not yes:
            steps, name = steps_to_forget(course, student), Roster.of(course).people.get(student, Person("")).full_name
            who = f"{student} ({name})" if name else student
            echo(f"The following data about {printable(who)} will be removed for good:")
            echo("\n".join(f"  {printable(step.before)}" for step in steps if not step.made_again))
            if again := [step.before for step in steps if step.made_again]:
                echo(f"And these files about all students, which you can make again: {joined(again)}")
            _require_yes(
                f"Remove {student}?", "Nothing was removed.", "To remove this data without being asked, add --yes."
            )
        with locked(course):
            outcome = remove(course, student)
    echo("\n".join(map(printable, outcome.removed)))
    if outcome.mentioned:
        echo("\n".join(f"still mentioned in: {printable(path)}" for path in outcome.mentioned))
        raise SystemExit(1)
    echo("A search of the course directory and the exchange found no trace of this student.")


def _require_yes(question: str, otherwise: str, advice: str) -> None:
    """Ask, and go on if somebody answers yes. `CourseError` if nobody does: it says what then is (`otherwise`) and what
    would help (`advice`); after Ctrl+C `Interrupted`, without advice."""
    try:
        if click.confirm(printable(question)):
            return
    except click.Abort as aborted:  # click's for both: Ctrl+C, and nobody there to be asked
        echo("")
        if isinstance(aborted.__context__, KeyboardInterrupt):
            raise Interrupted(f"Stopped. {otherwise}") from None
    raise CourseError(f"{otherwise} {advice}")


@course.command()
@FOLDER
@click.option("--before", type=click.DateTime(["%Y-%m-%d"]), required=True, help="For example 2026-09-01.")
@click.option("--yes", is_flag=True, help="Remove these students; without --yes, they are only listed.")
@stopped("Some students have been removed. Run the command again for the others.")
def expire(folder: Path, before: datetime, yes: bool) -> None:
    """Remove everybody who was in the course before a given day and has handed in nothing since."""
    with teachers_packages():
        from grader.course.forget import forget as remove
        from grader.course.forget import idle_since
        from grader.course.lock import locked

        old = idle_since(folder, before)
        for student in old if yes else ():
            with locked(folder.resolve()):
                remove(folder.resolve(), student)
    done = "removed" if yes else "would be removed (--yes removes them)"
    said = [who if ever else f"{who} (never handed anything in)" for who, ever in old.items()]
    echo(f"{len(old)} {done}: {joined(said) or 'nobody'}")


@click.command()
@FOLDER
@click.argument("lesson")
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    help="Processes on this machine.  [default: one for every 16 new submissions, at most one per core]",
)
@click.option("--scheduler", metavar="ADDRESS", help="Grade on the Dask cluster of this scheduler instead.")
@click.option("--force", is_flag=True, help="Grade everybody anew.")
@click.option("--add-students", is_flag=True, help="Also grade students who aren't on the roster, and add them.")
@click.option("--json", "as_document", is_flag=True, help="Print one JSON document and nothing else.")
@stopped("What has been graded is kept. Run the command again to grade the rest.")
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

    LESSON is the lesson's name or number. Hand-ins that are already graded and haven't changed are left as they
    are, and an interrupted run goes on where it stopped. Exit code 1 if anything could not be graded, and the
    list gives the reason.
    """
    with teachers_packages():
        from grader.batch import printout
        from grader.batch.run import Options, run
        from grader.course.called import Called

        outcome = run(folder, lesson, Options(workers, scheduler, force, add_students))
    if as_document:
        echo(json_text(printout.as_json(outcome)))
    if said := printout.interrupted(outcome, force):
        raise Interrupted(said)
    if not as_document:
        echo(printout.as_text(outcome, Called.of(folder)))
    if outcome.problems or outcome.stopped:
        raise SystemExit(1)


@click.command()
@FOLDER
@click.argument("lesson", metavar="[LESSON]", default="")
@click.option("--names", is_flag=True, help="Name the students whose submissions look alike.")
@click.option("--page", type=click.Path(path_type=Path, dir_okay=False), help="[default: DIR/insights.html]")
@stopped("No mark has changed, and any page written earlier stays as it was. Run the command again.")
def insights(folder: Path, lesson: str, names: bool, page: Path | None) -> None:
    """Show what a class found hard: exercises by success, points by part, mistakes by name, similar submissions.

    It reads what `grader autograde` has graded in one LESSON (its name or number) or in all lessons, prints a
    summary, and writes the same as one HTML page.
    """
    with teachers_packages():
        from grader.atomic import write_atomically
        from grader.course.called import Called
        from grader.insights.collect import lesson_insights, lessons_with_results
        from grader.insights.page import as_html, as_text

    lessons = [lesson_insights(folder, name) for name in ([lesson] if lesson else lessons_with_results(folder))]
    if not lessons:
        raise CourseError(f"{folder}: no hand-in has been graded yet. First: grader autograde {folder} LESSON")
    called = Called.of(folder)
    shown = [insights.with_names(called) if names else insights.without_names() for insights in lessons]
    for insights in shown:
        echo(f"{insights.name}\n\n{as_text(insights)}\n")
    page = page or folder / "insights.html"
    write_atomically(page, as_html(f"Insights into {folder.resolve().name}", shown, names))
    echo(f"Also written as a page: {page}")


@click.command()
@FOLDER
@click.argument("lesson")
@click.argument("files", metavar="FILE...", nargs=-1, type=click.Path(path_type=Path, exists=True))
@click.option(
    "--counts",
    type=click.Choice(["last", "last-in-time", "first"]),
    help="Which of several hand-ins counts.  [default: c.CourseCollect.counts, or last; best can only be set there]",
)
@click.option(
    "--is", "settled", metavar="NAME=ID", multiple=True, help="Who handed NAME in, if it may have been several people."
)
@click.option(
    "--worksheet",
    "worksheets",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="The platform's list of this assignment, which says who is who: Moodle's grading worksheet.",
)
@click.option("--anyway", is_flag=True, help="Take the files in even if most of them belong to another lesson.")
@click.option("--undo", is_flag=True, help="Undo the last collection of LESSON, with its files, times and marks.")
@click.option(
    "--all", "everybody", is_flag=True, help="Also list everybody who handed in nothing, and all other files."
)
@click.option("--json", "as_document", is_flag=True, help="Print one JSON document and nothing else.")
@stopped(
    "Each hand-in taken in so far is complete, and earlier ones are kept. Run the command again to take in the rest."
)
def collect(
    folder: Path,
    lesson: str,
    files: tuple[Path, ...],
    counts: str | None,
    settled: tuple[str, ...],
    worksheets: tuple[Path, ...],
    anyway: bool,
    undo: bool,
    everybody: bool,
    as_document: bool,
) -> None:
    """Take in what was handed in for LESSON: zip files or folders as Moodle, Canvas, Gradescope, GitHub Classroom or
    nbgrader's exchange give them, or notebooks.

    A file's name and the course's roster show whose it is. Nothing is overwritten, and what doesn't count
    is kept in DIR/.grader/earlier. Exit code 1 if something could not be taken in, and the list gives the
    reason. If most of what you name belongs to another lesson, nothing is taken in and the exit code is 2.
    """
    if undo == bool(files):
        raise CourseError("Name what is to be taken in: zip files, folders or notebooks. With --undo, don't name any.")
    if undo:
        _uncollect(folder, lesson, as_document)
        return
    pairs = [text.rpartition("=") for text in settled]
    if wrong := [text for text, (name, _sign, student) in zip(settled, pairs, strict=True) if not (name and student)]:
        raise CourseError(f"--is {wrong[0]}: expected NAME=ID, for example --is 'Ann Lee_505=20260006'")
    with teachers_packages():
        from grader.course.called import Called
        from grader.course.class_directory import ClassDirectory
        from grader.course.lock import locked
        from grader.handed_in.collect import collect as take
        from grader.handed_in.collected import as_text

        directory = ClassDirectory(folder, lesson)
        whose = {name: student for name, _sign, student in pairs}
        with locked(directory.root):
            directory.share()
            rule = counts or directory.configured.counts
            outcome = take(directory, files, rule, anyway=anyway, settled=whose, worksheets=worksheets)
    echo(json_text(asdict(outcome)) if as_document else as_text(outcome, everybody, Called.of(folder)))
    if outcome.unknown or outcome.odd or outcome.no_notebook:
        raise SystemExit(1)


def _uncollect(folder: Path, lesson: str, as_document: bool) -> None:
    with teachers_packages():
        from grader.course.called import Called
        from grader.handed_in.uncollect import uncollect

        outcome = uncollect(folder, lesson)
    echo(json_text(asdict(outcome)) if as_document else outcome.as_text(Called.of(folder)))
    if outcome.stays:
        raise SystemExit(1)


@click.command()
@FOLDER
@click.option("--to", "kind", type=OneOfPlatforms("takes_marks", ("csv", "json")), required=True)
@click.option(
    "--from",
    "exported",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="The gradebook as Canvas exports it (only with --to canvas).",
)
@click.option(
    "--pseudonyms",
    is_flag=True,
    help="In CSV and JSON, leave out names and put in place of ids what nobody can trace without the course's secret.",
)
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="[default: DIR/marks-KIND.csv]")
@stopped("No mark has changed, and an earlier file stays as it was. Run the command again.")
def export(folder: Path, kind: str, exported: Path | None, pseudonyms: bool, output: Path | None) -> None:
    """Write the marks of all lessons as a file that a learning platform imports, or as CSV or JSON.

    A mark is blank if nothing was handed in, if the student is excused, or if something is waiting to be
    marked by hand; CSV and JSON show which of these it is. Set weights, best-of and excuses with `c.CourseMarks`
    in nbgrader_config.py.
    """
    platform = None if kind in ("csv", "json") else by_key(kind)
    if platform and platform.wants_export and exported is None:
        raise CourseError(
            f"{platform.title}'s import needs {platform.title}'s own ids, so export the gradebook there and name that "
            "file with --from FILE."
        )
    if platform and pseudonyms:
        raise CourseError(f"--pseudonyms: {kind} has to know whose marks they are. Use --to csv or --to json.")
    with teachers_packages():
        from grader.atomic import write_atomically
        from grader.book import export as files
        from grader.book.marks import marks_of, pseudonymous
        from grader.course.class_directory import course_layout, secret_of

        layout = course_layout(folder)
        marks = marks_of(folder, layout, layout.config)
        if pseudonyms:
            marks = pseudonymous(marks, secret_of(folder, layout.config))
    made = None
    if platform:
        text, made = files.for_platform(platform, marks, exported if platform.wants_export else None)
    else:
        text = files.as_table(marks) if kind == "csv" else files.as_json(marks)
    output = output or folder / f"marks-{kind}.{'json' if kind == 'json' else 'csv'}"
    write_atomically(output, text, 0o600)
    states = Counter(mark.state for own in marks.marks.values() for mark in own.values())
    said = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    lessons = "1 lesson" if len(marks.possible) == 1 else f"{len(marks.possible)} lessons"
    echo(f"{output}: {len(marks.people)} people, {lessons}: {said or 'nothing yet'}")
    if platform and made and made.key:
        echo(f"{platform.title} identifies people by the column {made.key!r}.")
    if made and made.left_out:
        why = f"Without {made.key}" if made.key else "Not on the roster"
        echo(f"{why}, so left out: {joined(made.left_out)}")
