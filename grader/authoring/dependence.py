"""Follows the names that depend on a student's code from cell to cell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from grader.authoring.lesson import LessonCell
from grader.subject.names import statements


@dataclass(frozen=True)
class Use:
    """A use of a name in a cell that is shown with its output, though a student's cell bound it last."""

    cell: LessonCell
    line: int  # of the lesson
    name: str
    made_by: str  # what kind of cell bound it, in words
    made_at: int  # the line of that cell's marker


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
