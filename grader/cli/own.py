"""The command `grader course exercise`: a teacher's own exercise."""

from __future__ import annotations

import os
from pathlib import Path

import click

from grader.cli.teachers import FOLDER, teachers_packages
from grader.interrupt import stopped
from grader.printable import echo


@click.command()
@FOLDER
@click.argument("name")
@click.option("--into", metavar="LESSON", help="Put the exercise's cells into this lesson's notebook in source/.")
@click.option("--test", "is_test", is_flag=True, help="Try the exercise's right and wrong answers and its mutants.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=os.cpu_count(),
    help="How many mutants are tried at once.  [default: one per core]",
)
@stopped("The files written so far are kept. Look at them, and run the command again.")
def exercise(folder: Path, name: str, into: str | None, is_test: bool, jobs: int) -> None:
    """Write an exercise of your own, NAME, in the course directory DIR.

    A function's NAME is in snake_case, a module's is in CamelCase, and a quiz's begins with quiz_. The
    specification is exercises/NAME.py, and the right and wrong answers are in exercises/answers/NAME.py, with TODO
    wherever something is to be filled in. Files that exist already stay.
    """
    with teachers_packages():
        from grader.authoring import own_exercise
        from grader.course.class_directory import ClassDirectory, course_layout
        from grader.exercises.own import file_of

        course_layout(folder)  # says if it is no course
        lesson = None if into is None else ClassDirectory(folder, into)
        if not (folder / file_of(name)).exists() and not is_test:
            for path in own_exercise.write_skeleton(folder, name):
                echo(path)
            echo(f"Fill in every TODO. To see what is still missing: grader course exercise {folder} {name} --test")
        if lesson is not None:
            notebook = lesson.folder(lesson.layout.source_directory) / f"{lesson.lesson}.ipynb"
            number = own_exercise.put_into(folder, notebook, name)
            echo(f"{notebook}: cells {number} to {number + 2} are new. Write the text and the model solution in them.")
        if is_test and not own_exercise.try_out(folder, name, jobs, echo):
            raise SystemExit(1)
