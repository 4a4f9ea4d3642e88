"""`grader course withdraw`: somebody leaves the course."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.teachers import FOLDER, course, teachers_packages
from grader.interrupt import stopped
from grader.printable import echo


@course.command()
@FOLDER
@click.argument("student")
@click.option("--undo", is_flag=True, help="Put STUDENT, who has left, back into the lists.")
@stopped("The roster was either changed or left as it was. Run the command again.")
def withdraw(folder: Path, student: str, undo: bool) -> None:
    """Note that STUDENT has left the course, and keep everything of theirs.

    From then on no list of who handed in nothing names them, and no file of marks has them. Their work, marks and
    feedback stay as they are. To remove somebody's data: `grader course forget`.
    """
    with teachers_packages():
        from grader.course.called import Called
        from grader.course.lock import locked
        from grader.course.withdraw import take_back
        from grader.course.withdraw import withdraw as leave

        with locked(folder.resolve()):
            person = (take_back if undo else leave)(folder, student)
    who = Called({student: person.full_name})(student)
    if undo:
        echo(f"{who} is in the course again, in lists and in files of marks.")
        return
    echo(f"{who} has left the course: no longer in lists of who is missing, nor in files of marks. Their work stays.")
    echo(f"To take this back: grader course withdraw {folder} {student} --undo")
