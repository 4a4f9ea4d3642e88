"""All exercises of the course, in its order: lesson by lesson, each lesson's in the order of its `NAMES`."""

from __future__ import annotations

import importlib
import pkgutil
import re
from functools import cache
from types import ModuleType

from grader import exercises as package
from grader.spec.exercise import Exercise


@cache
def exercises() -> dict[str, Exercise]:
    """Every exercise by name."""
    return read_exercises(package)


def read_exercises(package: ModuleType) -> dict[str, Exercise]:
    """The exercises of a package's lessons by name. ValueError where lists and files don't fit together."""
    registered: dict[str, Exercise] = {}
    for folder in _names_in(package):
        if not re.fullmatch(r"lesson_\d\d", folder):
            continue
        lesson = importlib.import_module(f"{package.__name__}.{folder}")
        if not hasattr(lesson, "NAMES"):
            raise ValueError(f"{_path(lesson, '__init__')}: NAMES is missing, the lesson's exercises in order")
        _check_every_exercise_is_listed(lesson)
        for name in lesson.NAMES:
            if name in registered:
                raise ValueError(f"{_path(lesson, name)}: the exercise {name} is specified twice")
            registered[name] = _read_exercise(lesson, name)
    return registered


def _read_exercise(lesson: ModuleType, name: str) -> Exercise:
    """The `EXERCISE` of a lesson's module `name`."""
    if name not in _names_in(lesson):
        raise ValueError(f"{_path(lesson, '__init__')}: NAMES lists {name}, but there is no file {name}.py")
    exercise = getattr(importlib.import_module(f"{lesson.__name__}.{name}"), "EXERCISE", None)
    if not isinstance(exercise, Exercise):
        raise ValueError(f"{_path(lesson, name)}: expected EXERCISE = Exercise(...), got {type(exercise).__name__}")
    if exercise.name != name:
        raise ValueError(f"{_path(lesson, name)}: the file of the exercise {exercise.name} is {exercise.name}.py")
    return exercise


def _check_every_exercise_is_listed(lesson: ModuleType) -> None:
    """No file of the lesson binds `EXERCISE` without being in `NAMES`."""
    for name in _names_in(lesson):
        if name not in lesson.NAMES and hasattr(importlib.import_module(f"{lesson.__name__}.{name}"), "EXERCISE"):
            raise ValueError(f"{_path(lesson, name)}: binds EXERCISE, but NAMES in __init__.py doesn't list {name}")


def _names_in(package: ModuleType) -> list[str]:
    """The modules and packages in a package's folder, sorted."""
    return sorted(module.name for module in pkgutil.iter_modules(package.__path__))


def _path(lesson: ModuleType, name: str) -> str:
    """Where a lesson's module is, as messages write it."""
    return f"{lesson.__name__.replace('.', '/')}/{name}.py"
