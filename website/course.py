"""What the pages are made from: the lessons, their executed notebooks, the exercises, the settings."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from grader.authoring import answers
from grader.authoring.lesson import Lesson, LessonCell, Problem, read_folder
from grader.authoring.notebook import instructors_notebook, loads, without_install_cell
from grader.authoring.prose import DIFFICULTY, Times, describe_pictures, times
from grader.authoring.rules import problems
from grader.authoring.translation.built import notebook_in, translations
from grader.authoring.translation.translate import complete
from grader.authoring.translation.units import translated
from grader.errors import LessonError
from grader.exercises.registry import exercises
from grader.languages import ENGLISH, shown, speaking
from grader.sentences import say
from grader.spec.exercise import Exercise

ROOT = Path(__file__).parents[1]
HERE = Path(__file__).parent
MADE = ROOT / "build" / "website"
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
    """A repository, read once, and how the pages show it."""

    root: Path = ROOT
    solutions: bool = False  # whether they show the model solutions
    with_zip: bool = False  # whether the site has the students' package
    language: str = ENGLISH  # of the pages

    @property
    def is_english(self) -> bool:
        """Whether the pages are in the language of the source: those of another one lie in a folder of their own,
        and share with these what has no words."""
        return self.language == ENGLISH

    @property
    def up(self) -> str:
        """The way from the first page to the folder of the site."""
        return "" if self.is_english else "../"

    @property
    def made(self) -> Path:
        """The folder in which the sources of the pages are made, and the pages."""
        return MADE / self.language

    @cached_property
    def english(self) -> Course:
        """The course as the English pages show it."""
        return self if self.is_english else replace(self, language=ENGLISH)

    def in_language(self, code: str) -> Course:
        """The course as the pages in another language show it."""
        if code == self.language:
            return self
        made = replace(self, language=code)
        vars(made)["english"] = self.english  # which has read the lessons
        return made

    def __getstate__(self) -> dict[str, Any]:
        """What goes to another process: all but the exercises, which are functions."""
        return {name: value for name, value in vars(self).items() if name != "exercises"}

    @cached_property
    def translations(self) -> dict[str, str]:
        """Every text of the course in the language of the pages, by the English one; none for English pages."""
        return {} if self.is_english else translations(self.root, self.language)

    @cached_property
    def languages(self) -> dict[str, str]:
        """The languages that the site has pages in, each with its own name."""
        return {ENGLISH: "English", **{code: one.name for code, one in complete(self.root).items()}}

    @contextmanager
    def speaking(self) -> Iterator[None]:
        """Inside the block `shown` says everything in the language of the pages."""
        with speaking(self.language, self.translations):
            yield

    def prose(self, markdown: str) -> str:
        """A text in markdown, in the language of the pages."""
        return translated(markdown, self.translations.get)

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
        if not self.is_english:
            return self.english.lessons
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
        if not self.is_english:
            return self.english.times
        return {name: times(lesson) for name, lesson in self.lessons.items()}

    def solved(self, lesson: Lesson) -> NotebookNode:
        """The executed notebook, with the lesson's cells and its text in the language of the pages. `LessonError` if
        the lesson has changed since it was executed."""
        if lesson.name not in self._solved:
            self._solved[lesson.name] = self._in_language(lesson, self._built(lesson, "solutions"))
        return self._solved[lesson.name]

    @cached_property
    def _solved(self) -> dict[str, NotebookNode]:
        return {}

    def _in_language(self, lesson: Lesson, notebook: NotebookNode) -> NotebookNode:
        if self.is_english:
            return notebook
        made = notebook_in(notebook, lesson, self.translations.get, self.language)
        answers.put(lesson, made, self.translations.get)
        describe_pictures(made, self.translations.get)
        return made

    def students(self, lesson: Lesson) -> NotebookNode:
        """The students' notebook of a lesson, in English."""
        if lesson.name not in self._handed_out:
            self._handed_out[lesson.name] = self._built(lesson, "notebooks")
        return self._handed_out[lesson.name]

    @cached_property
    def _handed_out(self) -> dict[str, NotebookNode]:
        return {}

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


def title_of(lesson: Lesson) -> str:
    """The title of a lesson, in the language of the pages."""
    heading = f"{lesson.number} · {lesson.title}"
    return shown(heading).partition(" · ")[2]


def points_of(exercise: Exercise) -> str:
    """The points that an exercise is worth, in words."""
    return say("1 point") if exercise.points == 1 else say("{points} points", points=f"{exercise.points:g}")


def line_of(cell: LessonCell, at: int) -> int:
    """The line of the lesson's file that has the character `at` of a cell's source."""
    return cell.first + cell.source.count("\n", 0, at)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")
