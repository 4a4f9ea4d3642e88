"""Where the lessons and the built notebooks lie, and which lessons a command means."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.errors import CourseError
from grader.lesson_names import choose
from grader.spec.exercise import Exercise

LESSON_FILE = re.compile(r"\d\d_[a-z0-9_]+\.py")


@dataclass(frozen=True)
class Repository:
    """A repository's folders and the specifications of its exercises."""

    root: Path
    exercises: Mapping[str, Exercise]

    @property
    def lessons(self) -> Path:
        """The folder of the lessons' sources, `lessons/`."""
        return self.root / "lessons"

    @property
    def solutions(self) -> Path:
        """The folder of the instructor's notebooks, executed."""
        return self.root / "solutions"

    @property
    def notebooks(self) -> Path:
        """The folder of the students' notebooks."""
        return self.root / "notebooks"

    @property
    def states(self) -> Path:
        """The folder of the files with what the lessons' views show, for the site."""
        return self.root / "website" / "states"

    @property
    def answers(self) -> Path:
        """The folder of the files with the texts of the predictions' answers, by the lessons' numbers."""
        return self.root / "grader" / "learner" / "answers"

    @property
    def words(self) -> Path:
        """The folder of the words of other languages that the package has."""
        return self.root / "grader" / "words"

    @property
    def cache(self) -> Path:
        """The folder in which the build keeps what executing the lessons gave."""
        return self.root / ".cache" / "build"

    @property
    def wheel(self) -> str:
        """The address at which notebooks that are opened without the course find its wheel; empty if there is none."""
        project = tomllib.loads((self.root / "pyproject.toml").read_text(encoding="utf-8"))
        return str(project.get("tool", {}).get("attention-course", {}).get("wheel", ""))

    def names(self) -> list[str]:
        """The names of all lessons, in order. `CourseError` for a file that is not named like a lesson, which would be
        left out in silence."""
        files = sorted(path.name for path in self.lessons.glob("*.py"))
        misnamed = [
            f"lessons/{name}:1: a lesson's file name must look like 01_self_attention.py"
            for name in files
            if not _is_lesson(name)
        ]
        if misnamed:
            raise CourseError("\n".join(misnamed))
        return [name.removesuffix(".py") for name in files]

    def choose(self, wanted: Iterable[str]) -> list[str]:
        """The lessons meant by names, numbers or files, in the course's order; all of them if none is given.
        `CourseError` for one that isn't there."""
        known = self.names()
        chosen = {self._choose(text, known) for text in wanted}
        return [name for name in known if name in chosen or not chosen]

    def _choose(self, wanted: str, known: list[str]) -> str:
        name = choose(wanted, known)
        if name is None:
            raise CourseError(f"There is no lesson {wanted!r}. The lessons are: {', '.join(known) or 'none'}.")
        return name


def _is_lesson(name: str) -> bool:
    return LESSON_FILE.fullmatch(name) is not None


def find_root(start: Path) -> Path:
    """The repository that `start` lies in: the nearest folder upwards with `lessons/` and `pyproject.toml`.
    `CourseError` if there is none."""
    for folder in (start, *start.parents):
        if (folder / "lessons").is_dir() and (folder / "pyproject.toml").is_file():
            return folder
    raise CourseError(
        f"{start} isn't in the course's repository, since neither it nor a folder above it has lessons/ and "
        "pyproject.toml."
    )
