"""`grader regrade` and `grader override`: how a mark that was given becomes another one."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from grader.cli.points import Points
from grader.cli.teachers import FOLDER, teachers_packages
from grader.errors import CourseError
from grader.interrupt import stopped
from grader.printable import echo, json_text

HERE = "here"  # --page without a file


@click.command()
@FOLDER
@click.argument("lesson")
@click.option(
    "--preview", "mode", flag_value="preview", default=True, help="Show what would change, without writing any mark."
)
@click.option("--accept", "mode", flag_value="accept", help="Store what was previewed, for those whose marks change.")
@click.option("--undo", "mode", flag_value="undo", help="Take back the last acceptance or override.")
@click.option("--log", "mode", flag_value="log", help="Show what has been changed so far, when and by whom.")
@click.option("--also-down", is_flag=True, help="With --accept, also accept marks that go down.")
@click.option(
    "--with",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    help='First judge a file that a learner saved from a report with "I think this is right".',
)
@click.option("--json", "as_document", is_flag=True, help="Print one JSON document and nothing else.")
@click.option(
    "--page",
    is_flag=False,
    flag_value=HERE,
    metavar="[FILE]",
    help="Also write the result as an HTML page.  [default: DIR/regrade-LESSON.html]",
)
@click.option("--workers", type=click.IntRange(min=1), help="As for `grader autograde`.")
@click.option("--scheduler", metavar="ADDRESS", help="As for `grader autograde`.")
@stopped("What the preview has graded is kept. Run the same command again to finish what --accept or --undo began.")
def regrade(
    folder: Path,
    lesson: str,
    mode: str,
    also_down: bool,
    file: Path | None,
    as_document: bool,
    page: str | None,
    workers: int | None,
    scheduler: str | None,
) -> None:
    """Grade hand-ins again after a change to a specification, to points, to a limit or to a setting.

    First it shows whose marks would change, from what to what, for which exercise and part, and why. The
    gradebook only changes with --accept, and even then nobody loses points without --also-down. Exit code 1 if
    somebody's work could not be graded again, and the list gives the reason.

    With a learner's file it first shows whether the present check accepts their answer. Correct the check, run
    the same command again, and see what that changes for the class.
    """
    if also_down and mode != "accept":
        raise CourseError("Use --also-down only with --accept. The preview already shows marks that go down.")
    if file and mode != "preview":
        raise CourseError("Use --with together with --preview.")
    with teachers_packages():
        from grader.atomic import write_atomically
        from grader.batch import regrade as regrading
        from grader.batch import regrade_printout as printout
        from grader.batch.run import STOPPED, Options
        from grader.book import audit
        from grader.book.undo import undo
        from grader.course.called import Called
        from grader.course.class_directory import ClassDirectory
        from grader.course.folder import mode_in

    called = Called.of(folder)
    if mode == "log":
        directory = ClassDirectory(folder, lesson)
        entries = audit.entries(directory.root, directory.lesson)
        plain = [asdict(entry) for entry in entries]
        echo(json_text(plain) if as_document else printout.log_as_text(entries, called))
        return
    if mode == "undo":
        undone = undo(folder, lesson)
        document = printout.undone_as_json(undone)
        echo(json_text(document) if as_document else printout.undone_as_text(undone, called))
        return
    if mode == "accept":
        outcome = regrading.accept(folder, lesson, also_down)
    else:
        outcome = regrading.preview(folder, lesson, Options(workers, scheduler), file)
        if outcome.stopped == STOPPED:
            raise KeyboardInterrupt
    echo(json_text(printout.as_json(outcome)) if as_document else printout.as_text(outcome, called))
    if page:
        path = folder / f"regrade-{outcome.lesson}.html" if page == HERE else Path(page)
        write_atomically(path, printout.as_html(outcome, called), mode_in(folder))
        echo(f"Also written as a page: {path}", err=as_document)
    if mode == "preview" and any(change.moves for change in outcome.students):
        echo(f"To accept these changes: grader regrade {folder} {lesson} --accept", err=True)
    if mode == "accept" and outcome.accepted:
        echo(f"To take them back: grader regrade {folder} {lesson} --undo", err=True)
    if outcome.problems or outcome.stopped:
        raise SystemExit(1)


# So that -1 is a number, and said to be too small, not an option that nobody knows.
@click.command(context_settings={"ignore_unknown_options": True})
@FOLDER
@click.argument("student")
@click.argument("exercise")
@click.argument("points", type=Points())
@click.option("--why", required=True, help="The reason, which the student reads in the feedback.")
@click.option("--lesson", default="", help="The lesson, if several have a cell of that name.")
@stopped(
    "`grader regrade DIR LESSON --log` lists the mark if it was given. If it isn't there, run `grader override` again."
)
def override(folder: Path, student: str, exercise: str, points: float, why: str, lesson: str) -> None:
    """Give STUDENT this many POINTS for EXERCISE by hand, in the course directory DIR.

    The name or number of a lesson in place of EXERCISE gives a mark for the whole of it, which its exercises share.
    STUDENT needn't have handed anything in, as after an oral exam. It does what a teacher does in Formgrader, and
    puts the reason into the feedback and the audit log.
    `grader regrade DIR LESSON --undo` takes it back.
    """
    with teachers_packages():
        from grader.book.override import override as give
        from grader.course.called import Called

        given = give(folder, student, exercise, points, why, lesson)
    before, mark_before = ("no mark" if mark is None else f"{mark:g}" for mark in (given.before, given.mark_before))
    echo(
        f"{Called.of(folder)(student)}, {given.lesson}, {exercise}: {before} → {points:g} of {given.points:g} points. "
        f"The mark for the lesson: {mark_before} → {given.mark_after:g}."
    )
    if not given.has_comment:
        echo("This cell has no place for a comment, so the reason is only in the audit log.")
