"""What one lesson of a course's `source/` must keep to. Each rule finds all that is wrong; together they are shown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from nbgrader.nbgraderformat import ValidationError
from nbgrader.nbgraderformat.common import SchemaMismatchError
from nbgrader.nbgraderformat.v3 import MetadataValidatorV3

from grader.course.release import CHECK
from grader.errors import CourseError
from grader.exercises.own import file_of, is_taken, text_in, unfinished
from grader.exercises.registry import exercises
from grader.regions import SOLUTION, region_errors
from grader.source.needs import undefined
from grader.source.notebook import Cell, checked_exercises, exercise_of, is_code, nbgrader_of, role_of
from grader.spec.exercise import Exercise
from grader.subject.cells import compile_cell

POINTS = re.compile(r"(?<![\d.])(\d+(?:\.\d+)?) points?\b")
HEADING = re.compile(r"(?m)^### Exercise[^\n]*`(\w+)`")
# nbgrader's regions, the cells that may have them, and how it calls these.
REGIONS: Sequence[tuple[str, Callable[[Mapping[str, Any]], object], str]] = (
    (SOLUTION, lambda own: own.get("solution"), "an answer"),
    ("HIDDEN TESTS", lambda own: own.get("grade"), "autograder tests"),
    ("MARK SCHEME", lambda own: own.get("task"), "a manually graded task"),
)
TWICE = (
    "is marked as graded and as a manually graded task, so nbgrader counts its points twice; choose one kind in "
    "JupyterLab (Create Assignment)"
)


@dataclass(frozen=True)
class SourceProblem:
    """Something that doesn't fit."""

    path: Path
    message: str
    cell: int = 0  # counted from 1; 0: nowhere in particular
    line: int = 0  # in the cell, or in the file if there is no cell; counted from 1
    first: str = ""  # how the cell is called in a message
    note: bool = False  # to be read by somebody, and no error

    def __str__(self) -> str:
        if not self.cell:
            return f"{self.path}{f':{self.line}' if self.line else ''}: {self.message}"
        where = f"cell {self.cell}{f', line {self.line}' if self.line else ''}"
        return f"{self.path}: {where} ({self.first}): {self.message}"


@dataclass
class CourseLesson:
    """A lesson of `source/` that can be read; `found` collects what doesn't fit in it."""

    path: Path
    notebook: dict[str, Any]
    found: list[SourceProblem] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The lesson's full name, which its file has."""
        return self.path.stem

    @property
    def cells(self) -> list[Cell]:
        """The cells of its notebook."""
        return list(self.notebook["cells"])

    def add(self, index: int, message: str, line: int = 0, note: bool = False) -> None:
        """Note a problem of the cell at an index, counted from 0; `line` counts from 1 in the cell, 0 for none."""
        self.found.append(SourceProblem(self.path, message, index + 1, line, first_line(self.cells[index]), note))


def first_line(cell: Cell) -> str:
    """What a cell is called in a message: its first line that isn't blank, cut to 60 characters; "empty" if there is
    none."""
    line = next((line.strip() for line in cell["source"].splitlines() if line.strip()), "empty")
    return line if len(line) <= 60 else f"{line[:57]}..."


def check_lesson(lesson: CourseLesson, known: Mapping[str, Exercise], left_out: Sequence[str], root: Path) -> None:
    """Check what one lesson of the course in `root` says by itself, and note what doesn't fit in `lesson.found`.
    `known` are the course's exercises by name, `left_out` those that it doesn't have."""
    for rule in (_metadata, _regions, _syntax, _ids, _points):
        rule(lesson)
    _exercises(lesson, known, root)
    placeholders(lesson, root)
    _needs(lesson, known)
    _prose(lesson, left_out)


def _metadata(lesson: CourseLesson) -> None:
    """Note where the lesson's cells break nbgrader's own rules on metadata (ids, kinds, points)."""
    validator = MetadataValidatorV3()
    seen: dict[str, int] = {}
    for index, cell in enumerate(lesson.cells):
        own = nbgrader_of(cell)
        if not own:
            continue
        try:
            validator.validate_cell(nbformat.from_dict(cell))
        except (ValidationError, SchemaMismatchError, KeyError) as error:
            said = error.args[0] if error.args else error
            lesson.add(index, f"nbgrader can't read this cell's settings: {str(said).splitlines()[0]}")
            continue
        if own["grade_id"] in seen:
            other = seen[own["grade_id"]] + 1
            lesson.add(index, f"has the id {own['grade_id']}, and so has cell {other}; each cell needs its own")
        seen.setdefault(own["grade_id"], index)
        if own.get("grade") and own.get("task"):
            lesson.add(index, TWICE)
        points = own.get("points", 0)
        if (own.get("grade") or own.get("task")) and (not isinstance(points, int | float) or points < 0):
            lesson.add(index, f"has {points!r} points, expected a number that is 0 or more")


def _regions(lesson: CourseLesson) -> None:
    """Note regions that aren't closed, or stand where nbgrader doesn't take them."""
    for index, cell in enumerate(lesson.cells):
        for name, may, kind in REGIONS:
            for number, message in region_errors(cell["source"], name):
                lesson.add(index, message, number + 1)
            for number, line in enumerate(cell["source"].splitlines(), 1):
                if f"BEGIN {name}" in line and not may(nbgrader_of(cell)):
                    lesson.add(index, f"BEGIN {name} is in a cell that isn't {kind}, which nbgrader refuses", number)


def _syntax(lesson: CourseLesson) -> None:
    for index, cell in enumerate(lesson.cells):
        if is_code(cell):
            try:
                compile_cell(cell["source"], "<cell>")
            except SyntaxError as error:
                if "await" not in error.msg:  # a notebook may wait at the top level
                    lesson.add(index, f"isn't Python: {error.msg}", error.lineno or 0)
            except ValueError as error:
                lesson.add(index, f"isn't Python: {error}")


def _ids(lesson: CourseLesson) -> None:
    counted = Counter(cell["id"] for cell in lesson.cells if "id" in cell)
    for index, cell in enumerate(lesson.cells):
        if counted[cell.get("id", "")] > 1:
            lesson.add(
                index, f"has the cell id {cell['id']}, and so has another cell; copy this cell's text into a new one"
            )


def _exercises(lesson: CourseLesson, known: Mapping[str, Exercise], root: Path) -> None:
    """Note exercises without one answer and, behind it, one check, or whose cells nbgrader doesn't know as such."""
    places: dict[str, dict[str, list[int]]] = {}
    for index, cell in enumerate(lesson.cells):
        if role_of(cell) in ("solution", "check"):
            places.setdefault(exercise_of(cell), {"solution": [], "check": []})[role_of(cell)].append(index)
    for name, found in places.items():
        answers, checks = found["solution"], found["check"]
        first = min(answers + checks)
        if name not in known and not _is_own(lesson, first, name, root):
            lesson.add(first, f"no exercise has the name {name!r}, and there is no {file_of(name)}")
        elif not answers:
            lesson.add(first, f"this check of {name} has no exercise; remove the check, or put the answer's cell back")
        elif not checks:
            lesson.add(first, f"the answer to {name} has no check cell, so nobody gets points for it")
        elif min(checks) < min(answers):
            lesson.add(min(checks), f"the check of {name} comes before its answer (cell {min(answers) + 1})")
        for index in answers[1:] + checks[1:]:
            lesson.add(index, f"is one too many, since {name} must have one answer and one check")
        for role, ids in (("solution", name), ("check", f"{name}{CHECK}")):
            for index in found[role][:1]:
                own = nbgrader_of(lesson.cells[index])
                flag = "solution" if role == "solution" else "grade"
                if not own.get(flag) or own.get("grade_id") != ids:
                    kind = "Autograded answer" if role == "solution" else "Autograder tests"
                    lesson.add(
                        index, f"is the {role} cell of {name}, so in nbgrader it has to be {kind!r} with the id {ids!r}"
                    )


def _is_own(lesson: CourseLesson, index: int, name: str, root: Path) -> bool:
    """Whether an exercise is the teacher's own. A file of theirs that doesn't load is noted as a problem of the cell at
    `index`."""
    try:
        text = text_in(root, name)
        own = {} if text is None else exercises(((name, text),))
        here = dict(checked_exercises(lesson.notebook)).get(name)
        if name in own and here not in (None, own[name].points):
            said = f"{name} has {own[name].points:g} points in {file_of(name)}, but nbgrader gives {here:g} here"
            lesson.add(index, said, note=True)
        return name in own
    except CourseError as error:
        lesson.add(index, error.message)
        return True


def _needs(lesson: CourseLesson, known: Mapping[str, Exercise]) -> None:
    """Note cells that use what no cell before them defines."""
    reported: set[str] = set()
    for index, names in undefined(lesson.cells):
        for name in sorted(names - reported):
            hint = (
                ", because its exercise is left out. Remove this cell too, or put the answer's cell back (see "
                ".grader/base/)"
            )
            given = f" and keep it as given code: {command(lesson.name, name)}"
            message = f"uses {name}, which no earlier cell defines"
            lesson.add(index, message + (hint + given if name in known else ""))
        reported |= names


def command(lesson: str, exercise: str) -> str:
    """The command line that keeps an exercise which was left out as code that students are given."""
    return f"grader course leave-out DIR {lesson} {exercise} --give"


def placeholders(lesson: CourseLesson, root: Path) -> None:
    """Note what the course's commands have left to be filled in, in the notebook and in the files of its own
    exercises."""
    for index, cell in enumerate(lesson.cells):
        for number, words in unfinished(cell["source"]):
            lesson.add(index, f"is not filled in: {words}", number)
    for name in dict.fromkeys(exercise_of(cell) for cell in lesson.cells if role_of(cell) == "check"):
        with suppress(CourseError):  # what can't be read is told beside its cell
            for number, words in () if is_taken(name) else unfinished(text_in(root, name) or ""):
                lesson.found.append(SourceProblem(root / file_of(name), f"is not filled in: {words}", line=number))


def _points(lesson: CourseLesson) -> None:
    """Note where a task's own text, or that of an exercise, says other points than the cell has."""
    worth = dict(checked_exercises(lesson.notebook))
    for index, cell in enumerate(lesson.cells):
        own, source = nbgrader_of(cell), cell["source"]
        if is_code(cell):
            continue
        said = HEADING.search(source)
        if own.get("grade") or own.get("task"):
            text, points = source.partition("=== BEGIN")[0], points_of(own)
        elif said and said[1] in worth:
            text, points = source[said.start() :], worth[said[1]]
        else:
            continue
        found = [match for match in POINTS.finditer(text) if float(match[1])]  # "earns 0 points" is no exercise's worth
        if found and all(float(match[1]) != points for match in found):
            line = source[: source.index(text) + found[0].start()].count("\n") + 1
            lesson.add(index, f"has {found[0][0]} in its text, but nbgrader gives {points:g} here", line)


def _prose(lesson: CourseLesson, left_out: Sequence[str]) -> None:
    """Note text that speaks of an exercise that is left out, for somebody to read."""
    given = {exercise_of(cell) for cell in lesson.cells if role_of(cell) == "given"}
    for index, cell in enumerate(lesson.cells):
        spoken = [name for name in left_out if name not in given and f"`{name}`" in cell["source"]]
        if spoken and not is_code(cell):
            be = "are" if len(spoken) > 1 else "is"
            lesson.add(index, f"mentions {', '.join(spoken)}, which {be} left out", note=True)


def points_of(own: Mapping[str, Any]) -> float:
    """The points of a cell; 0 where they are no number, which is told elsewhere."""
    points = own.get("points")
    return float(points) if isinstance(points, int | float) else 0.0
