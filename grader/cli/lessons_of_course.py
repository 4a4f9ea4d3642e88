"""What a teacher does with the lessons of a course: `grader course check`, `leave-out`, `add-question`, `update`."""

from __future__ import annotations

import shlex
from contextlib import nullcontext
from pathlib import Path

import click

from grader.cli.points import Points
from grader.cli.teachers import FOLDER, NO_SOLUTIONS, course, teachers_packages
from grader.errors import CourseError
from grader.interrupt import stopped
from grader.printable import echo

LESSON = click.argument("lesson")


@course.command()
@FOLDER
@click.argument("lesson", metavar="[LESSON]", default="")
@click.option("--run", is_flag=True, help="Also judge the course's own solutions, which have to earn full marks.")
@stopped("Nothing was changed. Run the command again.")
def check(folder: Path, lesson: str, run: bool) -> None:
    """List what doesn't fit together in DIR/source, or in one LESSON there.

    Examples are a cell that needs an exercise which is left out, a check without its exercise, points that
    don't agree, a broken notebook, two cells with one id, or a name that nbgrader refuses. Exit code 1 if there
    is anything but notes, which only need to be read. A text that mentions an exercise that is left out gets
    such a note.
    """
    with teachers_packages():
        from grader.course.class_directory import ClassDirectory, course_layout
        from grader.exercises.registry import exercises
        from grader.source import check as checking

        layout, only = course_layout(folder), ClassDirectory(folder, lesson).lesson if lesson else ""
        with checking.judge_of(layout) if run else nullcontext() as judge:
            found = checking.check(layout, exercises(), judge, only)
    for problem in found.problems:
        echo(f"{'note: ' if problem.note else ''}{problem}")
    worth = [points for lesson in found.lessons.values() for points in lesson.values()]
    lessons = "1 lesson" if len(found.lessons) == 1 else f"{len(found.lessons)} lessons"
    echo(f"{lessons}: {len(worth)} exercises and questions, {sum(worth):g} points.")
    if found.left_out:
        echo(f"Left out: {', '.join(found.left_out)}")
    if any(not problem.note for problem in found.problems):
        raise SystemExit(1)


@course.command("leave-out")
@FOLDER
@LESSON
@click.argument("exercise")
@click.option("--give", is_flag=True, help="Give students the exercise's solution as read-only code.")
@stopped("The notebook is complete, either as before or changed; `grader course check` shows which.")
def leave_out(folder: Path, lesson: str, exercise: str, give: bool) -> None:
    """Leave EXERCISE out of LESSON, with its answer, its check, its text, and the cells that try it out.

    If other cells need it, they are listed and nothing changes (exit code 1).
    """
    with teachers_packages():
        from grader.course.class_directory import ClassDirectory
        from grader.source.edit import leave_out as cut
        from grader.source.notebook import load, replace
        from grader.source.update import in_use

        directory = ClassDirectory(folder, lesson)
        path = directory.folder(directory.layout.source_directory) / f"{directory.lesson}.ipynb"
        notebook, why = load(path), in_use(directory.layout, directory.lesson)
        done = cut(directory.lesson, notebook, exercise, give)
        kept = replace(directory.root, path, notebook)
    echo("\n".join(done))
    if why:
        echo(
            f"Students already have this lesson, since {why}. Their copies stay the same until the lesson is handed "
            "out again."
        )
    echo(f"The earlier notebook is kept: {kept}")
    echo(f"Next: grader course check {folder}; nbgrader generate_assignment {directory.lesson} --force")


@course.command("add-question")
@FOLDER
@LESSON
@click.option("--points", type=Points(), default=2.0, show_default=True)
@click.option("--id", "name", default="question-1", show_default=True, help="The cell's id in nbgrader.")
@click.option(
    "--after", default="", metavar="EXERCISE", help="Put it after this exercise's check.  [default: at the end]"
)
@stopped("The notebook is complete, with or without the question. Look inside, and run the command again if needed.")
def add_question(folder: Path, lesson: str, points: float, name: str, after: str) -> None:
    """Add a question to LESSON that is answered in words and marked by hand, with a marking scheme to fill in."""
    with teachers_packages():
        from grader.course.class_directory import ClassDirectory
        from grader.source.edit import add_question as add
        from grader.source.notebook import load, replace

        directory = ClassDirectory(folder, lesson)
        path = directory.folder(directory.layout.source_directory) / f"{directory.lesson}.ipynb"
        notebook = load(path)
        index = add(notebook, points, name, after)
        replace(directory.root, path, notebook)
    echo(f"{path}: the question is cell {index + 1}. In JupyterLab, replace each TODO there with your own text.")


@course.command()
@FOLDER
@click.option("--preview", is_flag=True, help="Show what would happen, and write nothing.")
@click.option("--also", metavar="LESSON", multiple=True, help="Update this lesson even if students have it.")
@click.option(
    "--theirs",
    metavar="LESSON[/CELL]",
    multiple=True,
    help="Where both you and the release changed this cell (or any cell of this lesson), take the release's version.",
)
@click.option("--mine", metavar="LESSON[/CELL]", multiple=True, help="The same, but keep your version for good.")
@click.option(
    "--solutions",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="The release's notebooks.  [default: those that are installed, or this repository's]",
)
@stopped("No notebook is half written, and earlier versions are kept. Run the command again to update the rest.")
def update(
    folder: Path,
    preview: bool,
    also: tuple[str, ...],
    theirs: tuple[str, ...],
    mine: tuple[str, ...],
    solutions: Path | None,
) -> None:
    """Bring the installed release's lessons into the course directory DIR.

    What you changed stays. Where the release changed the same cell, the cell is listed at each update until
    --theirs or --mine settles it. A lesson that has been handed out, handed in or graded is left as it is unless --also
    names it.
    """
    with teachers_packages():
        from grader.course.class_directory import course_layout
        from grader.course.lock import locked
        from grader.exercises.registry import exercises
        from grader.learner.starter_code import solutions_folder
        from grader.lesson_names import choose
        from grader.source import update as updating
        from grader.source.base import version_of
        from grader.source.merge import Side

        elsewhere, solutions = solutions, solutions or solutions_folder()
        if solutions is None:
            raise CourseError(NO_SOLUTIONS)
        layout = course_layout(folder)
        names = [path.name for path in updating.source_of(layout).glob("*")]
        sides: dict[Side, tuple[str, ...]] = {"theirs": theirs, "mine": mine}

        def place(name: str) -> str:
            lesson, slash, cell = name.partition("/")
            found = choose(lesson, names)
            if found is None:
                raise CourseError(
                    f"{name!r}: the course has no such lesson. The lessons are: {', '.join(sorted(names))}."
                )
            return f"{found}{slash}{cell}"

        with nullcontext() if preview else locked(folder.resolve()):
            settled = {place(name): side for side, chosen in sides.items() for name in chosen}
            planned = updating.steps(layout, solutions, [choose(name, names) or name for name in also], settled)
            news = updating.news(solutions, version_of(folder))
            kept = [] if preview else updating.apply(layout, planned)
        wrong = [*updating.problems(layout, planned, exercises())]
    echo(f"{news}\n" if news else "The changelog has no newer entry.\n")
    line = ["grader", "course", "update", str(folder), *(["--solutions", str(elsewhere)] if elsewhere else [])]
    echo(updating.as_text(planned, preview, folder, shlex.join(line)))
    echo("".join(f"\nKept as it was: {path}" for path in kept).lstrip("\n"), nl=bool(kept))
    if wrong:
        echo("\n" + "\n".join(map(str, wrong)))
        raise SystemExit(1)
