"""What a new exercise or lesson still lacks: places marked TODO, and sample submissions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from grader.authoring import samples
from grader.authoring.lesson import Problem
from grader.authoring.repository import Repository
from grader.exercises.own import unfinished
from grader.spec.exercise import Exercise

ROOT = Path(__file__).parents[2]
SPECIFICATIONS = Path("grader/exercises")  # in the repository


def todo(repository: Repository, lesson: str) -> list[Problem]:
    """The places marked TODO in a lesson, in its specifications and their words."""
    folder = repository.root / SPECIFICATIONS / f"lesson_{lesson[:2]}"
    paths = [repository.lessons / f"{lesson}.py", *sorted([*folder.glob("*.py"), *folder.glob("*.md")])]
    return [problem for path in paths for problem in places(repository.root, path)]


def todo_in_specification(exercise: Exercise, root: Path = ROOT) -> list[Problem]:
    """The places marked TODO in one exercise's specification and its words."""
    path = root / SPECIFICATIONS / f"lesson_{exercise.lesson[:2]}" / f"{exercise.name}.py"
    paths = [path, path.with_suffix(".md")]
    return [problem for path in paths if path.exists() for problem in places(root, path)]


def missing_samples(repository: Repository, lesson: str) -> list[Problem]:
    """What the sample submissions of a lesson's exercises lack."""
    exercises = [exercise for exercise in repository.exercises.values() if exercise.lesson == lesson]
    return [problem for exercise in exercises for problem in samples.missing(exercise, repository.root)]


def places(root: Path, path: Path) -> Iterator[Problem]:
    """The places marked TODO in a file."""
    shown = path.relative_to(root).as_posix()
    exercise = path.stem if SPECIFICATIONS in path.relative_to(root).parents and path.stem != "__init__" else ""
    for number, words in unfinished(path.read_text("utf-8")):
        yield Problem(shown, number, exercise, words)
