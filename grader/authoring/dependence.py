"""Follows the names that depend on a student's code from cell to cell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from grader.authoring.lesson import LessonCell
from grader.subject.names import statements


@dataclass(frozen=True)
class Use:
    """A use of `name`, in `line` of the lesson, in a cell that is shown with its output, though a student's cell bound
    it last: the one whose marker is in line `made_at`. `made_by` says in words what kind of cell that is."""

    cell: LessonCell
    line: int
    name: str
    made_by: str
    made_at: int


def uses_of_students_work(cells: Iterable[LessonCell]) -> Iterator[Use]:
    """Every use of a student's name in a cell shown with its output, in order. A worked example that binds the name
    anew makes it sound again."""
    students_names: dict[str, LessonCell] = {}
    for cell in cells:
        if cell.role == "check":
            continue
        students = cell.role in ("solution", "try")
        for statement in statements(cell.source):
            for name in sorted(statement.uses & students_names.keys()) if not students else ():
                maker = students_names[name]
                by = "a student writes" if maker.role == "solution" else 'a role="try" cell makes'
                yield Use(cell, cell.first + statement.line_of(name) - 1, name, by, maker.line)
            for name in statement.binds:
                if students:
                    students_names[name] = cell
                else:
                    students_names.pop(name, None)
