"""What the pages are made from: the lessons, their executed notebooks, the exercises, the settings."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from grader.authoring.lesson import Lesson, LessonCell, Problem, read_folder
from grader.authoring.notebook import instructors_notebook, loads, without_install_cell
from grader.authoring.prose import DIFFICULTY, Times, times
from grader.authoring.rules import problems
from grader.errors import LessonError
from grader.exercises.registry import exercises
from grader.sentences import say
from grader.spec.exercise import Exercise

ROOT = Path(__file__).parents[1]
HERE = Path(__file__).parent
GLOSSARY, SETTINGS = "website/glossary.toml", "website/settings.toml"
# The keys of settings.toml, and what may stand in braces there.
OF_REPOSITORY = ("{repository}", "{name}")
ADDRESSES = {
    "repository": (),
    "site": (),
    "files": OF_REPOSITORY,
    "issues": (*OF_REPOSITORY, "{page}"),
    "colab": (*OF_REPOSITORY, "{lesson}"),
    "binder": (*OF_REPOSITORY, "{lesson}"),
}


@dataclass(frozen=True)
class Course:
    """A repository, read once. `solutions`: whether the pages show the model solutions.
    `with_zip`: whether the site has the students' package."""

    root: Path = ROOT
    solutions: bool = False
    with_zip: bool = False

    @cached_property
    def settings(self) -> Mapping[str, str]:
        """The addresses of settings.toml by name; one that follows from the repository's is empty where that is.
        `LessonError` with every one that is wrong."""
        found = self._toml(SETTINGS)
        wrong = [(key, said) for key, value in found.items() if (said := _wrong_setting(key, value))]
        if wrong:
            raise LessonError([Problem(SETTINGS, self.line_in(SETTINGS, key), "", said) for key, said in wrong])
        repository = found.get("repository", "").rstrip("/")
        return {key: _address(value, repository) for key, value in found.items()}

    @cached_property
    def exercises(self) -> dict[str, Exercise]:
        """All exercises by name, in the course's order."""
        return exercises()

    @cached_property
    def lessons(self) -> dict[str, Lesson]:
        """All lessons by name, in order. `LessonError` with every line that is wrong."""
        found = read_folder(self.root / "lessons")
        wrong = [one for lesson in found.values() for one in problems(lesson, self.exercises)]
        if wrong:
            raise LessonError(wrong)
        return found

    @cached_property
    def by_number(self) -> dict[str, Lesson]:
        """All lessons by their two digits, as text."""
        return {lesson.number: lesson for lesson in self.lessons.values()}

    @cached_property
    def terms(self) -> dict[str, dict[str, Any]]:
        """The glossary by term. An entry has its meaning, the lesson that introduces it, and the words that it has
        there."""
        return self._toml(GLOSSARY)

    def _toml(self, name: str) -> dict[str, Any]:
        try:
            return tomllib.loads(_read(self.root / name))
        except (OSError, ValueError) as error:
            place = re.search(r"at line (\d+)", str(error))
            message = f"it can't be read as TOML: {error}"
            raise LessonError([Problem(name, int(place[1]) if place else 1, "", message)]) from None

    def line_in(self, name: str, key: str) -> int:
        """The line in the TOML file `name` at which a key or its table begins."""
        begin = re.compile(rf"""\[?(["']?){re.escape(key)}\1\s*[\]=]""")
        lines = _read(self.root / name).splitlines()
        return next((number for number, line in enumerate(lines, 1) if begin.match(line)), 1)

    @cached_property
    def times(self) -> dict[str, Times]:
        """How long each lesson takes, in minutes, by name."""
        return {name: times(lesson) for name, lesson in self.lessons.items()}

    def solved(self, lesson: Lesson) -> NotebookNode:
        """The executed notebook, with the lesson's cells. `LessonError` if the lesson has changed since it was
        executed."""
        return self._built(lesson, "solutions")

    def students(self, lesson: Lesson) -> NotebookNode:
        """The students' notebook of a lesson."""
        return self._built(lesson, "notebooks")

    def _built(self, lesson: Lesson, folder: str) -> NotebookNode:
        stale = f"{folder}/{lesson.name}.ipynb isn't what a build would make: run `grader build {lesson.number}`"
        try:
            notebook = without_install_cell(loads(_read(self.root / folder / f"{lesson.name}.ipynb")))
        except FileNotFoundError:
            raise LessonError([Problem(lesson.path, 1, "", stale)]) from None
        fresh = instructors_notebook(lesson, self.exercises)
        if len(fresh.cells) != len(notebook.cells):
            raise LessonError([Problem(lesson.path, 1, "", stale)])
        for cell, built, made in zip(lesson.in_notebook, notebook.cells, fresh.cells, strict=True):
            if built.id != made.id or (folder == "solutions" and built.source != made.source):
                raise LessonError([lesson.problem(cell, stale)])
        return notebook

    def level(self, exercise: Exercise) -> int:
        """The difficulty of an exercise, from 1 to 5."""
        text = "\n".join(cell.source for cell in self.lessons[exercise.lesson].cells if not cell.is_code)
        return next((int(level) for _, name, level in DIFFICULTY.findall(text) if name == exercise.name), 1)


def _wrong_setting(key: str, value: object) -> str:
    """What is wrong with a setting; empty if nothing is."""
    if key not in ADDRESSES:
        return f"there is no setting {key!r}, only {', '.join(ADDRESSES)}"
    if not isinstance(value, str):
        return f"{key}: an address is text in quotes, not {value!r}"
    allowed, left = ADDRESSES[key], value
    for name in allowed:
        left = left.replace(name, "")
    if re.search(r"[{}]", left):
        said = f"what is in braces can only be {' or '.join(allowed)}" if allowed else "there can be no braces"
        return f"{key}: {said}: {value}"
    return ""


def _address(value: str, repository: str) -> str:
    """An address with the repository's in it; empty where it would need one and there is none."""
    if not repository and any(name in value for name in OF_REPOSITORY):
        return ""
    name = repository.partition("://")[2].partition("/")[2]
    return value.replace("{repository}", repository).replace("{name}", name)


def points_of(exercise: Exercise) -> str:
    """The points that an exercise is worth, in words."""
    return say("1 point") if exercise.points == 1 else say("{points} points", points=f"{exercise.points:g}")


def line_of(cell: LessonCell, at: int) -> int:
    """The line of the lesson's file that has the character `at` of a cell's source."""
    return cell.first + cell.source.count("\n", 0, at)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")
