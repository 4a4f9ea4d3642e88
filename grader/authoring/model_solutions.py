"""The model solutions, taken from the lessons: the only place where they are written."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from grader.authoring.lesson import MARKER, Lesson, read_folder
from grader.spec.exercise import Exercise

LESSONS = Path(__file__).parents[2] / "lessons"


@cache
def _lessons() -> dict[str, Lesson]:
    return read_folder(LESSONS)


def lesson_of(name: str) -> Lesson:
    """The lesson of this name, as the build reads it."""
    return _lessons()[name]


@cache
def cells(lesson: str) -> tuple[tuple[str, str], ...]:
    """Of every code cell of a lesson, what its marker says behind `# %%`, and its source."""
    found = lesson_of(lesson)
    heads = found.text.splitlines()
    return tuple((heads[c.line - 1].removeprefix(MARKER).strip(), c.source) for c in found.cells if c.is_code)


def solution_in_context(exercise: Exercise) -> tuple[str, str]:
    """What stands before an exercise's solution (the lesson's imports, what it takes over as given, its earlier
    solutions), and the solution itself. `ValueError` if the lesson has no solution of the exercise."""
    imports: list[str] = []
    before: list[str] = []
    for cell in lesson_of(exercise.lesson).cells:
        if cell.is_code:
            body = ast.parse(cell.source).body
            imports += [ast.unparse(node) for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
        if cell.role == "solution" and cell.exercise == exercise.name:
            return "\n".join([*imports, *before]), cell.source
        if cell.role in ("given", "solution"):
            before.append(cell.source)
    raise ValueError(f"lessons/{exercise.lesson}.py has no solution to {exercise.name}")


def model_solution(exercise: Exercise) -> str:
    """An exercise's solution with what stands before it in the lesson, as one text of Python."""
    return "\n".join(solution_in_context(exercise))
