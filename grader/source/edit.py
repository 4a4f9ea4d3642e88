"""Leaves an exercise out of a lesson, or keeps its solution as given code; adds a question that is marked by hand."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from grader.errors import CommandFailed, CourseError
from grader.regions import without_marks
from grader.source.needs import undefined
from grader.source.notebook import Cell, course_of, exercise_of, is_code, nbgrader_of, role_of
from grader.source.rules import HEADING, command, first_line

# A section of which nothing is left but its heading and its place in the lesson.
EMPTY_SECTION = re.compile(r"(?:\A|\n)(?:<a id[^\n]*\s*)?##? [^\n]*\n*(?:<progress[^\n]*)?\s*\Z")
QUESTION = """\
### Question: in your own words

TODO what you ask. Answer in the cell below, in a few sentences. ({points:g} points)

=== BEGIN MARK SCHEME ===
Students don't see this.

- TODO what earns a point
- TODO what earns another point
=== END MARK SCHEME ==="""
ANSWER = "*Your answer:*"


def leave_out(lesson: str, notebook: dict[str, Any], exercise: str, give: bool = False) -> list[str]:
    """Take an exercise out of a notebook: its answer, its check, its text, and the cells that try it out. With `give`
    the answer stays, as code that students are given. Returns in words what was done. `CourseError` if there is no such
    exercise, or a quiz is to be given; `CommandFailed`, and nothing is changed, if another cell needs it."""
    cells: list[Cell] = notebook["cells"]
    mine = [cell for cell in cells if exercise_of(cell) == exercise and role_of(cell) in ("solution", "check")]
    if not mine:
        there = ", ".join(sorted({exercise_of(cell) for cell in cells if role_of(cell) == "check"}))
        raise CourseError(f"{lesson} has no exercise {exercise!r}. It has: {there or 'none'}.")
    if give and any(course_of(cell).get("kind") == "answers" for cell in mine):
        raise CourseError(f"{exercise} is a quiz, so there is no code to give. Leave it out without --give.")
    kept = [cell for cell in cells if not _in(mine, cell) or (give and role_of(cell) == "solution")]
    kept, tried = _without_tries(cells, kept)
    standing = _standing_in_the_way(cells, kept)
    if standing:
        raise CommandFailed(
            f"{lesson}: {exercise} can't be left out, because other cells need it:\n"
            + "\n".join(standing)
            + f"\nYou can give it to students instead: {command(lesson, exercise)}\nOr leave those cells out first."
        )
    done = [f"removed: {_said(cells, cell)}" for cell in [*mine, *tried] if not _in(kept, cell)]
    for cell in kept:
        if give and _in(mine, cell):
            _as_given(cell)
            done.append(f"given: {_said(cells, cell)}")
    notebook["cells"] = [cell for cell in kept if _keep_text(cell, kept, exercise, done, cells)]
    return done


def _in(cells: Sequence[Cell], cell: Cell) -> bool:
    """Whether this very cell is one of the cells: another one may say the same."""
    return any(cell is other for other in cells)


def _said(cells: Sequence[Cell], cell: Cell) -> str:
    index = next(index for index, other in enumerate(cells) if other is cell)
    return f"cell {index + 1} ({first_line(cell)})"


def _without_tries(cells: Sequence[Cell], kept: list[Cell]) -> tuple[list[Cell], list[Cell]]:
    """The cells that are kept without those that only try out what is gone, and these."""
    before = {id(cell): names for cell, names in _missing(cells)}
    gone: list[Cell] = []
    while True:
        new = [cell for cell, names in _missing(kept) if names - before.get(id(cell), set()) and role_of(cell) == "try"]
        if not new:
            return kept, gone
        gone += new
        kept = [cell for cell in kept if not _in(new, cell)]


def _standing_in_the_way(cells: Sequence[Cell], kept: Sequence[Cell]) -> list[str]:
    before = {id(cell): names for cell, names in _missing(cells)}
    found = [(cell, names - before.get(id(cell), set())) for cell, names in _missing(kept)]
    return [f"  {_said(cells, cell)} uses {', '.join(sorted(names))}" for cell, names in found if names]


def _missing(cells: Sequence[Cell]) -> Iterator[tuple[Cell, set[str]]]:
    for index, names in undefined(cells):
        yield cells[index], names


def _as_given(cell: Cell) -> None:
    """Make a solution cell code that students are given, read-only."""
    cell["source"] = without_marks(cell["source"]).rstrip()
    cell["metadata"]["course"]["role"] = "given"
    cell["metadata"]["nbgrader"] = {**nbgrader_of(cell), "solution": False, "grade": False, "locked": True}


def _keep_text(cell: Cell, kept: Sequence[Cell], exercise: str, done: list[str], cells: Sequence[Cell]) -> bool:
    """Cut the exercise's text out of a text cell, and note it in `done`; returns whether anything is left of the
    cell."""
    found = next((heading for heading in HEADING.finditer(cell["source"]) if heading[1] == exercise), None)
    if is_code(cell) or found is None:
        return True
    said = _said(cells, cell)
    ends = re.search(r"(?m)^#{1,3} ", cell["source"][found.end() :])
    rest = cell["source"][found.end() + ends.start() :] if ends else ""
    text = cell["source"][: found.start()]
    index = next(index for index, other in enumerate(kept) if other is cell)
    following = kept[index + 1] if kept[index + 1 :] else {"cell_type": "markdown", "source": "#"}
    if not rest and not is_code(following) and following["source"].lstrip().startswith("#"):
        text = EMPTY_SECTION.sub("", text)
    cell["source"] = "\n\n".join(part for part in (text.rstrip(), rest.strip()) if part)
    done.append(f"{'shortened' if cell['source'] else 'removed'}: {said}")
    return bool(cell["source"])


def add_question(notebook: dict[str, Any], points: float, name: str, after: str = "") -> int:
    """Add a question called `name` with a marking scheme, and a cell for the answer: at the end, or after the check of
    an exercise. Returns its index, counted from 0. `CourseError` if the name, the points or the exercise aren't right.
    """
    cells: list[Cell] = notebook["cells"]
    if not re.fullmatch(r"[\w-]{1,50}", name, re.ASCII):
        raise CourseError(
            f"--id {name!r}: a cell's id has 1 to 50 characters, all of them letters, digits, '_' or '-'."
        )
    if not 0 <= points < math.inf:
        raise CourseError(f"got {points:g} points, expected 0 or more.")
    if any(nbgrader_of(cell).get("grade_id") == name for cell in cells):
        raise CourseError(f"{name!r} is already the id of a cell here. Choose another one with --id NAME")
    checks = [index for index, cell in enumerate(cells) if role_of(cell) == "check" and exercise_of(cell) == after]
    if after and not checks:
        raise CourseError(f"There is no check of {after!r} here. Without --after the question comes last.")
    index = checks[0] + 1 if after else len(cells)
    worth = int(points) if points == int(points) else points
    task = {"schema_version": 3, "grade_id": name, "grade": False, "solution": False, "locked": True, "task": True}
    question = {"metadata": {"nbgrader": {**task, "points": worth}}, "source": QUESTION.format(points=points)}
    answer: Cell = {"metadata": {}, "source": ANSWER}
    for i, cell in enumerate((question, answer)):
        identity = {"id": f"{name}-answer" if i else name} if notebook["nbformat_minor"] >= 5 else {}
        cells.insert(index + i, {"cell_type": "markdown", **identity, **cell})
    return index
