"""`grader course check`: what in a course's `source/` doesn't fit together, before a student or nbgrader finds it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from nbgrader.nbgraderformat import ValidationError
from nbgrader.nbgraderformat.common import SchemaMismatchError
from nbgrader.nbgraderformat.v3 import MetadataValidatorV3

from grader.classroom.class_directory import code_of, limits_of, secret_of
from grader.classroom.rebuild import CHECK
from grader.classroom.source.needs import undefined
from grader.classroom.source.notebook import (
    BrokenNotebook,
    Cell,
    checked_exercises,
    exercise_of,
    is_code,
    load,
    nbgrader_of,
    role_of,
)
from grader.errors import CourseError
from grader.judge.judge import Judge
from grader.judge.sandbox import SandboxUnavailable
from grader.lesson_names import NUMBER
from grader.spec.exercise import Exercise
from grader.subject.cells import compile_cell

POINTS = re.compile(r"(?<![\d.])(\d+(?:\.\d+)?) points?\b")
HEADING = re.compile(r"(?m)^### Exercise[^\n]*`(\w+)`")
# nbgrader's regions, the cells that may have them, and how it calls these.
REGIONS: Sequence[tuple[str, Callable[[Mapping[str, Any]], object], str]] = (
    ("SOLUTION", lambda own: own.get("solution"), "an answer"),
    ("HIDDEN TESTS", lambda own: own.get("grade"), "autograder tests"),
    ("MARK SCHEME", lambda own: own.get("task"), "a manually graded task"),
)
PATTERN = re.compile(r"[\w .-]+")


@dataclass(frozen=True)
class Problem:
    """Something that doesn't fit. `cell` counts from 1, as `line` does in the cell, or in the file if there is no cell;
    0: nowhere in particular. `note`: to be read by somebody, and no error."""

    path: Path
    message: str
    cell: int = 0
    line: int = 0
    first: str = ""
    note: bool = False

    def __str__(self) -> str:
        if not self.cell:
            return f"{self.path}{f':{self.line}' if self.line else ''}: {self.message}"
        where = f"cell {self.cell}{f', line {self.line}' if self.line else ''}"
        return f"{self.path}: {where} ({self.first}): {self.message}"


@dataclass
class Lesson:
    """A lesson of `source/` that can be read."""

    path: Path
    notebook: dict[str, Any]
    found: list[Problem] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def cells(self) -> list[Cell]:
        return list(self.notebook["cells"])

    def add(self, place: int, message: str, line: int = 0, note: bool = False) -> None:
        """A problem of the cell at a place, counted from 0."""
        self.found.append(Problem(self.path, message, place + 1, line, first_line(self.cells[place]), note))


@dataclass(frozen=True)
class Checked:
    """A course: what doesn't fit, the exercises and points of each lesson, the course's exercises that are left out."""

    problems: tuple[Problem, ...]
    lessons: Mapping[str, Mapping[str, float]]
    left_out: tuple[str, ...]


def first_line(cell: Cell) -> str:
    """How a cell is called in a message: its first line that isn't empty."""
    line = next((line.strip() for line in cell["source"].splitlines() if line.strip()), "empty")
    return line if len(line) <= 60 else f"{line[:57]}..."


def source_of(layout: Any) -> Path:
    """The folder of the lessons. `layout` is nbgrader's own `CourseDirectory`."""
    return Path(layout.format_path(layout.source_directory, ".", ".")).resolve()


def check(layout: Any, known: Mapping[str, Exercise], judge: Judge | None = None, only: str = "") -> Checked:
    """Check the lessons of a course, or `only` one of them; a `judge` judges the course's own solutions too."""
    folder = source_of(layout)
    problems: list[Problem] = []
    lessons: list[Lesson] = []
    for place in sorted(path for path in folder.glob(only or "*") if path.is_dir() and not path.name.startswith(".")):
        wrong = list(_names(place))
        problems += wrong
        try:
            if not wrong:
                lessons.append(Lesson(place / f"{place.name}.ipynb", load(place / f"{place.name}.ipynb")))
        except BrokenNotebook as error:
            problems.append(Problem(place / f"{place.name}.ipynb", error.why, line=error.line))
    problems += _same_numbers(folder, lessons)
    here = {name for lesson in lessons for name, _points in checked_exercises(lesson.notebook)}
    left_out = [name for name, one in known.items() if name not in here and any(one.lesson == x.name for x in lessons)]
    for lesson in lessons:
        check_lesson(lesson, known, left_out)
        _released(lesson, layout)
        if judge is not None and all(one.note for one in lesson.found):
            _judged(lesson, judge)
        problems += lesson.found
    worth = {lesson.name: dict(checked_exercises(lesson.notebook)) for lesson in lessons}
    return Checked(tuple(_relative(one, folder.parent) for one in problems), worth, tuple(left_out))


def check_lesson(lesson: Lesson, known: Mapping[str, Exercise], left_out: Sequence[str]) -> None:
    """Check what one lesson says by itself. `left_out` are exercises that the course doesn't have."""
    for rule in (_metadata, _regions, _syntax, _ids, _points):
        rule(lesson)
    _exercises(lesson, known)
    _needs(lesson, known)
    _prose(lesson, left_out)


def _relative(problem: Problem, root: Path) -> Problem:
    return Problem(**{**vars(problem), "path": problem.path.relative_to(root)})


def _names(place: Path) -> Iterator[Problem]:
    """nbgrader takes every notebook of the folder, the judge the one that has the folder's name."""
    notebooks = sorted(path.name for path in place.glob("*.ipynb"))
    if "+" in place.name:
        yield Problem(place, "nbgrader refuses a + in the name of an assignment: rename the folder and its notebook")
    elif not PATTERN.fullmatch(place.name):
        yield Problem(place, "nbgrader can't find it: a lesson's name has letters, digits, '_', '-', '.' and spaces")
    elif notebooks != [f"{place.name}.ipynb"]:
        there = ", ".join(notebooks) or "none"
        yield Problem(place, f"expected one notebook here, {place.name}.ipynb, got {there}")


def _same_numbers(folder: Path, lessons: Sequence[Lesson]) -> Iterator[Problem]:
    numbered = defaultdict(list)
    for lesson in lessons:
        if match := NUMBER.match(lesson.name):
            numbered[int(match[1])].append(lesson.name)
    for number, names in numbered.items():
        if len(names) > 1:
            said = f"{' and '.join(names)} have the number {number:02}: commands need the whole name"
            yield Problem(folder, said, note=True)


def _metadata(lesson: Lesson) -> None:
    """What nbgrader asks of its cells."""
    validator = MetadataValidatorV3()
    seen: dict[str, int] = {}
    for place, cell in enumerate(lesson.cells):
        own = nbgrader_of(cell)
        if not own:
            continue
        try:
            validator.validate_cell(nbformat.from_dict(cell))
        except (ValidationError, SchemaMismatchError, KeyError) as error:
            said = error.args[0] if error.args else error
            lesson.add(place, f"nbgrader can't read this cell's settings: {str(said).splitlines()[0]}")
            continue
        if own["grade_id"] in seen:
            other = seen[own["grade_id"]] + 1
            lesson.add(place, f"has the id {own['grade_id']}, as cell {other} has: an id belongs to one cell")
        seen.setdefault(own["grade_id"], place)
        points = own.get("points", 0)
        if (own.get("grade") or own.get("task")) and (not isinstance(points, int | float) or points < 0):
            lesson.add(place, f"has {points!r} points: expected a number that isn't below 0")


def _regions(lesson: Lesson) -> None:
    """Regions are closed, and stand where nbgrader takes them."""
    for place, cell in enumerate(lesson.cells):
        for name, may, kind in REGIONS:
            opened = 0
            for number, line in enumerate(cell["source"].splitlines(), 1):
                if f"BEGIN {name}" in line:
                    if opened:
                        lesson.add(place, f"BEGIN {name} inside another one, of line {opened}", number)
                    opened = number
                    if not may(nbgrader_of(cell)):
                        lesson.add(place, f"BEGIN {name} in a cell that isn't {kind}: nbgrader refuses it", number)
                elif f"END {name}" in line:
                    if not opened:
                        lesson.add(place, f"END {name} without BEGIN {name}", number)
                    opened = 0
            if opened:
                lesson.add(place, f"BEGIN {name} is never closed", opened)


def _syntax(lesson: Lesson) -> None:
    for place, cell in enumerate(lesson.cells):
        if is_code(cell):
            try:
                compile_cell(cell["source"], "<cell>")
            except SyntaxError as error:
                if "await" not in error.msg:  # a notebook may wait at the top level
                    lesson.add(place, f"isn't Python: {error.msg}", error.lineno or 0)
            except ValueError as error:
                lesson.add(place, f"isn't Python: {error}")


def _ids(lesson: Lesson) -> None:
    counted = Counter(cell["id"] for cell in lesson.cells if "id" in cell)
    for place, cell in enumerate(lesson.cells):
        if counted[cell.get("id", "")] > 1:
            lesson.add(place, f"has the cell id {cell['id']}, as another cell has: copy its text into a new cell")


def _exercises(lesson: Lesson, known: Mapping[str, Exercise]) -> None:
    """Every exercise has one answer and, behind it, one check, as nbgrader knows them."""
    places: dict[str, dict[str, list[int]]] = {}
    for place, cell in enumerate(lesson.cells):
        if role_of(cell) in ("solution", "check"):
            places.setdefault(exercise_of(cell), {"solution": [], "check": []})[role_of(cell)].append(place)
    for name, found in places.items():
        answers, checks = found["solution"], found["check"]
        first = min(answers + checks)
        if name not in known:
            lesson.add(first, f"no exercise has the name {name!r}")
        elif not answers:
            lesson.add(first, f"a check of {name} without its exercise: remove the cell, or put the answer's back")
        elif not checks:
            lesson.add(first, f"the answer to {name} has no check cell: nobody gets points for it")
        elif min(checks) < min(answers):
            lesson.add(min(checks), f"the check of {name} stands before its answer, cell {min(answers) + 1}")
        for place in answers[1:] + checks[1:]:
            lesson.add(place, f"is there twice: {name} has one answer and one check")
        for role, ids in (("solution", name), ("check", f"{name}{CHECK}")):
            for place in found[role][:1]:
                own = nbgrader_of(lesson.cells[place])
                flag = "solution" if role == "solution" else "grade"
                if not own.get(flag) or own.get("grade_id") != ids:
                    kind = "Autograded answer" if role == "solution" else "Autograder tests"
                    lesson.add(place, f"is the {role} of {name}: in nbgrader it has to be {kind!r} with the id {ids!r}")


def _needs(lesson: Lesson, known: Mapping[str, Exercise]) -> None:
    """No cell uses what no cell before it defines."""
    told: set[str] = set()
    for place, names in undefined(lesson.cells):
        for name in sorted(names - told):
            hint = f": the exercise is left out. It can stay as given code ({command(lesson.name, name)})"
            later = f"uses {name}, which no cell before it defines"
            lesson.add(place, later + (hint if name in known else ""))
        told |= names


def command(lesson: str, exercise: str) -> str:
    """How an exercise is given."""
    return f"grader course leave-out DIR {lesson} {exercise} --give"


def _points(lesson: Lesson) -> None:
    """What the text says of points is what the cell has: a task's own text, and that of an exercise."""
    worth = dict(checked_exercises(lesson.notebook))
    for place, cell in enumerate(lesson.cells):
        own, source = nbgrader_of(cell), cell["source"]
        if is_code(cell):
            continue
        said = HEADING.search(source)
        if own.get("points") is not None and (own.get("grade") or own.get("task")):
            text, points = source.partition("=== BEGIN")[0], float(own["points"])
        elif said and said[1] in worth:
            text, points = source[said.start() :], worth[said[1]]
        else:
            continue
        for found in POINTS.finditer(text):
            if float(found[1]) != points:
                line = source[: source.index(text) + found.start()].count("\n") + 1
                lesson.add(place, f"says {found[0]}, but nbgrader gives {points:g} here", line)


def _prose(lesson: Lesson, left_out: Sequence[str]) -> None:
    """Text that speaks of an exercise that is left out, for somebody to read."""
    given = {exercise_of(cell) for cell in lesson.cells if role_of(cell) == "given"}
    for place, cell in enumerate(lesson.cells):
        spoken = [name for name in left_out if name not in given and f"`{name}`" in cell["source"]]
        if spoken and not is_code(cell):
            lesson.add(place, f"speaks of {', '.join(spoken)}, which is left out", note=True)


def _released(lesson: Lesson, layout: Any) -> None:
    """Students have the cells and points that the source has now."""
    path = Path(layout.format_path(layout.release_directory, ".", lesson.name)) / lesson.path.name
    if not path.is_file():
        return
    try:
        released = load(path)
    except BrokenNotebook:
        return
    now, then = _graded(lesson.notebook), _graded(released)
    if now == then:
        return
    again = f"`nbgrader generate_assignment {lesson.name} --force` makes it anew"
    for grade_id in sorted(now.keys() | then.keys()):
        if now.get(grade_id) != then.get(grade_id):
            here, there = (f"{worth[grade_id]:g} points" if grade_id in worth else "nothing" for worth in (now, then))
            message = f"{grade_id} has {here} here and {there} in {layout.release_directory}/: {again}"
            lesson.found.append(Problem(lesson.path, message))


def _graded(notebook: Mapping[str, Any]) -> dict[str, float]:
    """The points of each cell that has some."""
    own = [nbgrader_of(cell) for cell in notebook["cells"]]
    return {one["grade_id"]: float(one.get("points") or 0) for one in own if one.get("grade") or one.get("task")}


def judge_of(layout: Any) -> Judge:
    """A judge with the course's limits; `CourseError` where none can start."""
    config = layout.config
    unsafe = bool(config.JudgingExporter.get("unsafe_no_sandbox", False))
    try:
        return Judge(secret_of(Path(layout.root), config), limits_of(config), unsafe)
    except SandboxUnavailable as error:
        raise CourseError(str(error)) from None


def _judged(lesson: Lesson, judge: Judge) -> None:
    """The course's own solutions earn full marks, and a teacher's own tests pass."""
    data = lesson.path.read_bytes()
    result = judge.grade(data, code_of(data), "the course's own solutions")
    places = {nbgrader_of(cell).get("grade_id"): place for place, cell in enumerate(lesson.cells)}
    for one in result.exercises:
        if not one.passed:
            part = next((f": {part.name}: {part.message}" for part in one.parts if not part.passed), "")
            message = f"the answer here earns {one.score:.0%} of the points of {one.name}{part or one.output}"
            lesson.add(places[one.name], message)
    for test in result.tests:
        if not test.passed:
            lesson.add(places[test.grade_id], f"the tests fail with the answers of source/: {test.message}")
