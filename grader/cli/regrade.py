"""`grader regrade` and `grader override`: how a mark that was given becomes another one."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from grader.cli.points import Points
from grader.cli.teachers import FOLDER, teachers_packages
from grader.errors import CourseError
from grader.interrupt import stopped
from grader.printable import json_text, say

HERE = "here"  # --page without a file


@click.command()
@FOLDER
@click.argument("lesson")
@click.option("--preview", "mode", flag_value="preview", default=True, help="Say what would change, and write no mark.")
@click.option("--accept", "mode", flag_value="accept", help="Store what was previewed, for those whose marks change.")
@click.option("--undo", "mode", flag_value="undo", help="Take the last acceptance or override back.")
@click.option("--log", "mode", flag_value="log", help="Show what was changed so far, when and by whom.")
@click.option("--also-down", is_flag=True, help="With --accept: marks that go down too.")
@click.option(
    "--with",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    help='Judge a file first that a learner saved from a report: "I think this is right".',
)
@click.option("--json", "as_document", is_flag=True, help="Print one JSON document and nothing else.")
@click.option(
    "--page",
    is_flag=False,
    flag_value=HERE,
    metavar="[FILE]",
    help="Write it as a page of HTML too.  [default: DIR/regrade-LESSON.html]",
)
@click.option("--workers", type=click.IntRange(min=1), help="As for `grader autograde`.")
@click.option("--scheduler", metavar="ADDRESS", help="As for `grader autograde`.")
@stopped("What the preview has graded is kept; what --accept or --undo began, the same command finishes. Run it again.")
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
    """Grade again what is graded already, after a change: a corrected specification, points, a limit, a setting.

    First it shows whose marks would change, from what to what, for which exercise and part, and why. Nothing enters the
    gradebook before --accept, and then nobody loses points, unless --also-down is said. Exit code 1 if somebody's work
    could not be graded again: the list says why.

    With a learner's file it says first whether the check as it is now takes their answer. Correct the check, run the
    same again, and see what that does for the class.
    """
    if also_down and mode != "accept":
        raise CourseError("--also-down goes with --accept. The preview shows both.")
    if file and mode != "preview":
        raise CourseError("--with goes with --preview.")
    with teachers_packages():
        from grader.atomic import write_atomically
        from grader.batch import regrade as regrading
        from grader.batch import regrade_printout as printout
        from grader.batch.run import STOPPED, Options
        from grader.batch.undo import undo
        from grader.book import audit
        from grader.course.class_directory import ClassDirectory
        from grader.course.folder import mode_in

    if mode == "log":
        directory = ClassDirectory(folder, lesson)
        entries = audit.entries(directory.root, directory.lesson)
        plain = [asdict(entry) for entry in entries]
        say(json_text(plain) if as_document else printout.log_as_text(entries))
        return
    if mode == "undo":
        undone = undo(folder, lesson)
        document = printout.undone_as_json(undone)
        say(json_text(document) if as_document else printout.undone_as_text(undone))
        return
    if mode == "accept":
        outcome = regrading.accept(folder, lesson, also_down)
    else:
        outcome = regrading.preview(folder, lesson, Options(workers, scheduler), file)
        if outcome.stopped == STOPPED:
            raise KeyboardInterrupt
    say(json_text(printout.as_json(outcome)) if as_document else printout.as_text(outcome))
    if page:
        path = folder / f"regrade-{outcome.lesson}.html" if page == HERE else Path(page)
        write_atomically(path, printout.as_html(outcome), mode_in(folder))
        say(f"The same as a page: {path}", err=as_document)
    if mode == "preview" and any(change.moves for change in outcome.students):
        say(f"To take it over: grader regrade {folder} {lesson} --accept", err=True)
    if mode == "accept" and outcome.accepted:
        say(f"To take it back: grader regrade {folder} {lesson} --undo", err=True)
    if outcome.problems or outcome.stopped:
        raise SystemExit(1)


# So that -1 is a number, and said to be too small, not an option that nobody knows.
@click.command(context_settings={"ignore_unknown_options": True})
@FOLDER
@click.argument("student")
@click.argument("exercise")
@click.argument("points", type=Points())
@click.option("--why", required=True, help="The reason: the student reads it in the feedback.")
@click.option("--lesson", default="", help="Which lesson, where several have a cell of that name.")
@stopped("If the mark was given, `grader regrade DIR LESSON --log` lists it; else run it again.")
def override(folder: Path, student: str, exercise: str, points: float, why: str, lesson: str) -> None:
    """Give STUDENT so many POINTS for EXERCISE by hand, in the course directory DIR.

    It is what a teacher does in Formgrader, with the reason in the feedback and in the audit log.
    `grader regrade DIR LESSON --undo` takes it back.
    """
    with teachers_packages():
        from grader.batch.override import override as give

        given = give(folder, student, exercise, points, why, lesson)
    say(
        f"{given.lesson}, {exercise}: {given.before:g} → {points:g} of {given.points:g} points. "
        f"The lesson: {given.mark_before:g} → {given.mark_after:g}."
    )
    if not given.has_comment:
        say("Nothing beside this cell shows a comment: the reason is in the audit log only.")
