"""`grader course check`: what in a course's `source/` doesn't fit together, before a student or nbgrader finds it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.course.class_directory import outline_of, secret_of
from grader.course.settings import settings_of
from grader.errors import BrokenNotebook, CourseError, SandboxUnavailable
from grader.judge.judge import Judge
from grader.lesson_names import NUMBER
from grader.source.notebook import checked_exercises, load, nbgrader_of
from grader.source.rules import CourseLesson, SourceProblem, check_lesson, points_of
from grader.spec.exercise import Exercise

PATTERN = re.compile(r"[\w .-]+")


@dataclass(frozen=True)
class Checked:
    """What a check of a course found: what doesn't fit; by lesson the cells that earn points, and how many each; the
    names of the course's exercises that are left out."""

    problems: tuple[SourceProblem, ...]
    lessons: Mapping[str, Mapping[str, float]]
    left_out: tuple[str, ...]


def source_of(layout: Any) -> Path:
    """The folder in which a course's lessons lie. `layout` is nbgrader's own `CourseDirectory`."""
    return Path(layout.format_path(layout.source_directory, ".", ".")).resolve()


def check(layout: Any, known: Mapping[str, Exercise], judge: Judge | None = None, only: str = "") -> Checked:
    """Check the lessons of a course, or `only` the one of this name. `known` are the course's exercises by name; a
    `judge` judges the course's own solutions too. What is wrong is returned, not raised."""
    folder, root = source_of(layout), Path(layout.root)
    problems: list[SourceProblem] = []
    lessons: list[CourseLesson] = []
    folders = (path for path in folder.glob(only or "*") if path.is_dir() and not path.name.startswith("."))
    for lesson_folder in sorted(folders):
        notebook = lesson_folder / f"{lesson_folder.name}.ipynb"
        wrong = list(_names(lesson_folder))
        problems += wrong
        try:
            if not wrong:
                lessons.append(CourseLesson(notebook, load(notebook)))
        except BrokenNotebook as error:
            problems.append(SourceProblem(notebook, error.why, line=error.line))
    problems += _same_numbers(folder, lessons)
    here = {name for lesson in lessons for name, _points in checked_exercises(lesson.notebook)}
    left_out = [
        name for name, exercise in known.items() if name not in here and any(exercise.lesson == x.name for x in lessons)
    ]
    for lesson in lessons:
        check_lesson(lesson, known, left_out, root)
        _released(lesson, layout)
        if judge is not None and all(problem.note for problem in lesson.found):
            _judged(lesson, judge, root)
        problems += lesson.found
    worth = {lesson.name: _graded(lesson.notebook) for lesson in lessons}
    return Checked(tuple(_relative(problem, folder.parent) for problem in problems), worth, tuple(left_out))


def _relative(problem: SourceProblem, root: Path) -> SourceProblem:
    return SourceProblem(**{**vars(problem), "path": problem.path.relative_to(root)})


def _names(folder: Path) -> Iterator[SourceProblem]:
    """What is wrong with the names of a lesson's folder and notebooks: nbgrader takes every notebook of the folder, the
    judge the one that has the folder's name."""
    notebooks = sorted(path.name for path in folder.glob("*.ipynb"))
    if "+" in folder.name:
        yield SourceProblem(
            folder, "nbgrader refuses a + in the name of an assignment; rename the folder and its notebook"
        )
    elif not PATTERN.fullmatch(folder.name):
        yield SourceProblem(
            folder, "nbgrader can't find it; a lesson's name may only have letters, digits, '_', '-', '.' and spaces"
        )
    elif notebooks != [f"{folder.name}.ipynb"]:
        there = ", ".join(notebooks) or "none"
        yield SourceProblem(folder, f"expected one notebook here ({folder.name}.ipynb), got {there}")


def _same_numbers(folder: Path, lessons: Sequence[CourseLesson]) -> Iterator[SourceProblem]:
    numbered = defaultdict(list)
    for lesson in lessons:
        if match := NUMBER.match(lesson.name):
            numbered[int(match[1])].append(lesson.name)
    for number, names in numbered.items():
        if len(names) > 1:
            said = f"{' and '.join(names)} have the number {number:02}, so commands need the whole name"
            yield SourceProblem(folder, said, note=True)


def _released(lesson: CourseLesson, layout: Any) -> None:
    """Note the cells that have other points in the source than students have in `release/`."""
    again = f"`nbgrader generate_assignment {lesson.name} --force` makes the students' notebook again"
    said = other_points(lesson.notebook, layout, lesson.name)
    lesson.found += [SourceProblem(lesson.path, f"{sentence}: {again}") for sentence in said]


def other_points(notebook: Mapping[str, Any], layout: Any, name: str) -> list[str]:
    """Which cells of an instructor's notebook, called `name`, have other points than students have in `release/`, in
    sentences; none if nothing is released."""
    path = Path(layout.format_path(layout.release_directory, ".", name)) / f"{name}.ipynb"
    try:
        released = load(path)
    except BrokenNotebook:  # it isn't there, or it is nobody's work
        return []
    now, then = _graded(notebook), _graded(released)
    said = []
    for grade_id in sorted(
        grade_id for grade_id in now.keys() | then.keys() if now.get(grade_id) != then.get(grade_id)
    ):
        here, there = (
            f"{worth[grade_id]:g} point{'s' * (worth[grade_id] != 1)}" if grade_id in worth else "no points"
            for worth in (now, then)
        )
        said.append(f"{grade_id} has {here} in {layout.source_directory}/ and {there} in {layout.release_directory}/")
    return said


def _graded(notebook: Mapping[str, Any]) -> dict[str, float]:
    """The points of each cell that nbgrader gives points for, by grade_id."""
    own = [nbgrader_of(cell) for cell in notebook["cells"]]
    return {
        str(metadata.get("grade_id")): points_of(metadata)
        for metadata in own
        if metadata.get("grade") or metadata.get("task")
    }


def judge_of(layout: Any) -> Judge:
    """A judge with the course's limits and secret; `CourseError` where none can start."""
    mine = settings_of(layout.config)
    try:
        return Judge(secret_of(Path(layout.root), layout.config), mine.limits, mine.unsafe_no_sandbox)
    except SandboxUnavailable as error:
        raise CourseError(str(error)) from None


def _judged(lesson: CourseLesson, judge: Judge, root: Path) -> None:
    """Judge the course's own solutions, and note those that don't earn full marks and the teacher's own tests that
    don't pass."""
    data = lesson.path.read_bytes()
    result = judge.grade(data, outline_of(data, root, lesson.name), "the course's own solutions")
    places = {nbgrader_of(cell).get("grade_id"): index for index, cell in enumerate(lesson.cells)}
    for exercise in result.exercises:
        if not exercise.passed:
            part = next((f": {part.name}: {part.message}" for part in exercise.parts if not part.passed), "")
            message = (
                f"the answer here earns {exercise.score:.0%} of the points for {exercise.name}{part or exercise.output}"
            )
            lesson.add(places[exercise.name], message)
    for test in result.tests:
        if not test.passed:
            lesson.add(places[test.grade_id], f"the tests fail with the answers in source/: {test.message}")
