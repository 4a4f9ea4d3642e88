"""`grader roster`: who is in the course, from the lists of learning platforms."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.teachers import FOLDER, teachers_packages
from grader.errors import CourseError
from grader.interrupt import stopped
from grader.printable import echo, joined, printable

if TYPE_CHECKING:
    from grader.course.roster import Change, PeopleList


@click.command()
@FOLDER
@click.argument("file", metavar="FILE.csv", required=False, type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--column", "columns", metavar="NAME=HEADING", multiple=True, help="The heading that your list uses for NAME."
)
@click.option("--encoding", default="", help="The list's code page, for example cp949.  [default: told by its bytes]")
@click.option("--anyway", is_flag=True, help="Enter the list even if a spreadsheet seems to have changed it.")
@click.option("--undo", is_flag=True, help="Take back what the last list added and changed.")
@stopped("Everybody who was on the roster is still there. Run the command again to enter the whole list.")
def roster(folder: Path, file: Path | None, columns: tuple[str, ...], encoding: str, anyway: bool, undo: bool) -> None:
    """Enter the people on a list from nbgrader, Moodle or Canvas into the course directory DIR. Nobody is removed.

    Afterwards the people are in DIR/roster.csv and in nbgrader's table of students. If a spreadsheet has changed
    numbers or names in the list, nothing is entered, and the lines are listed.
    """
    if undo == bool(file):
        raise CourseError("Name the list to be read, FILE.csv. With --undo, don't name any.")
    if file is None:
        _undo(folder)
        return
    pairs = [column.partition("=") for column in columns]
    wrong = [text for text, (name, _sign, heading) in zip(columns, pairs, strict=True) if not (name and heading)]
    if wrong:
        raise CourseError(f"--column {wrong[0]}: expected NAME=HEADING, for example --column id=Matrikelnummer")
    with teachers_packages():
        from grader.course.class_directory import course_layout
        from grader.course.lock import locked
        from grader.course.roster import Roster, full_names, list_in, update
        from grader.course.spoilt import require_unspoilt

        layout = course_layout(folder)
        listed = list_in(file, {name: heading for name, _sign, heading in pairs}, encoding)
        with locked(folder.resolve()):
            if not anyway:
                require_unspoilt(listed, Roster.of(folder).people)
            listed.require_whole()
            change = update(folder, layout.db_url, layout.course_id, listed.people)
        names = full_names(Roster.of(folder).people)
    echo("\n".join(_told(folder, listed, change, names)))


def _told(folder: Path, listed: PeopleList, change: Change, names: Mapping[str, str]) -> list[str]:
    from grader.course.called import Called

    name = listed.path.name
    said = [f"{len(change.added)} added, {len(change.changed)} changed; {change.count} on the roster."]
    if not any(person.full_name for person in listed.people):
        said.append(
            f"{name}: no names were read, but Moodle's zip files go by names. If the list has names, say in "
            "which columns: --column first_name=HEADING --column last_name=HEADING"
        )
    if listed.guessed:
        shown = next((one.full_name for one in listed.people if not one.full_name.isascii()), "")
        example = f", in which one of the names is {shown}" if shown else ""
        said.append(
            f"{name}: read in the code page {listed.guessed}{example}. If that is wrong, undo it and name another one: "
            "--encoding"
        )
    if listed.test_students:
        said.append(
            f"Left out: {joined(listed.test_students)}, the name of the student that Canvas makes for trying things "
            "out."
        )
    if change.known_as:
        known = joined(f"{given} is {known}" for given, known in sorted(change.known_as.items()))
        said.append(f"Already on the roster, as their number, login or address shows: {known}")
    said += [
        f"{' and '.join(map(printable, ids))} are one person. Remove the id with no hand-in: "
        f"grader course forget {folder} ID"
        for ids in change.twice
    ]
    if change.not_listed:
        said.append(f"Not in {name}, but kept: {joined(map(Called(names), change.not_listed))}")
    if change.added or change.changed:
        said.append(f"To take this back: grader roster {folder} --undo")
    return said


def _undo(folder: Path) -> None:
    with teachers_packages():
        from grader.course.class_directory import course_layout
        from grader.course.lock import locked
        from grader.course.undo_reading import undo_reading

        layout = course_layout(folder)
        with locked(folder.resolve()):
            outcome = undo_reading(folder.resolve(), layout)
    echo("The last reading of a list has been undone.")
    for title, people in (("No longer on the roster", outcome.removed), ("As they were before", outcome.back)):
        if people:
            echo(f"{title}: {joined(people)}")
    for who, why in sorted(outcome.stays.items()):
        echo(f"{who}: {why}")
    if outcome.stays:
        raise SystemExit(1)
