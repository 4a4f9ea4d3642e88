"""All exercises of the course, in its order: lesson by lesson, each lesson's in the order of its `NAMES`. Behind them
stand a teacher's own, each from the text of a file `exercises/NAME.py` (docs/own-exercises.md)."""

from __future__ import annotations

import importlib
import linecache
import pkgutil
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from grader import exercises as package
from grader.errors import CourseError
from grader.exercises.own import OwnFiles, file_of, refuse_taken
from grader.spec.exercise import Exercise
from grader.spec.spec import OWN, Spec
from grader.spec.words import Words
from grader.subject.settings import under_torchs_own


def exercises(own: OwnFiles = ()) -> dict[str, Exercise]:
    """Every exercise by name, with a teacher's `own` ones last. `CourseError` where one of these doesn't load."""
    return _exercises(own)


@lru_cache(maxsize=8)
@under_torchs_own
def _exercises(own: OwnFiles) -> dict[str, Exercise]:
    if not own:
        return read_exercises(package)
    return {**exercises(), **{name: _own_exercise(name, text) for name, text in own}}


def files_for(name: str, find: Callable[[str], str | None]) -> OwnFiles:
    """The files of a teacher's own exercise and of those that it builds on; `find` gives a file's text by the
    exercise's name, or None. Empty if there is none for `name`; `CourseError` where the file doesn't load."""
    text = find(name)
    if text is None:
        return ()
    needed = exercises(((name, text),))[name].builds_on
    more = ((name, find(name)) for name in needed if name not in exercises())
    return ((name, text), *((name, found) for name, found in more if found is not None))


def _own_exercise(name: str, text: str) -> Exercise:
    """The `EXERCISE` of a teacher's own file with this text. `CourseError`, with its line, where it doesn't load, binds
    no `Exercise`, or one of another name, or has a name that a lesson of this package has taken."""
    refuse_taken(name, text)
    path = file_of(name)
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)  # for tracebacks
    module = ModuleType(f"{OWN}{name}")
    try:
        exec(compile(text, path, "exec"), module.__dict__)
    except SyntaxError as error:
        raise CourseError(f"{path}:{error.lineno or 1}: {type(error).__name__}: {error.msg}") from None
    except Exception as error:
        here = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
        raise CourseError(f"{path}:{(here or [1])[-1]}: {type(error).__name__}: {error}") from None
    line = next((i for i, line in enumerate(text.splitlines(), 1) if re.match(r"EXERCISE\b", line)), 1)
    exercise = getattr(module, "EXERCISE", None)
    if not isinstance(exercise, Exercise):
        raise CourseError(f"{path}:{line}: expected EXERCISE = spec.exercise(...), got {type(exercise).__name__}")
    if exercise.name != name:
        raise CourseError(f"{path}:{line}: the file of the exercise {exercise.name} must be {file_of(exercise.name)}")
    return exercise


def read_exercises(package: ModuleType) -> dict[str, Exercise]:
    """The exercises of a package's lessons by name. ValueError where a lesson's `NAMES` and its files don't fit
    together, `CourseError` where mistakes and their words don't."""
    registered: dict[str, Exercise] = {}
    folders = [name for name in _names_in(package) if re.fullmatch(r"lesson_\d\d", name)]
    lessons = [importlib.import_module(f"{package.__name__}.{folder}") for folder in folders]
    for lesson in lessons:
        if not hasattr(lesson, "NAMES"):
            raise ValueError(
                f"{_path(lesson, '__init__')}: it has no NAMES, the list of the lesson's exercises in order"
            )
        _check_every_exercise_is_listed(lesson)
        for name in lesson.NAMES:
            if name in registered:
                raise ValueError(f"{_path(lesson, name)}: the exercise {name} is specified twice")
            registered[name] = _read_exercise(lesson, name)
    unused = [problem for lesson in lessons for problem in _unused_words(lesson)]
    if unused:
        raise CourseError("\n".join(unused))
    return registered


def _read_exercise(lesson: ModuleType, name: str) -> Exercise:
    """The `EXERCISE` of a lesson's module `name`. ValueError if there is no such file, or it binds no exercise of this
    name."""
    if name not in _names_in(lesson):
        raise ValueError(f"{_path(lesson, '__init__')}: NAMES lists {name}, but there is no file {name}.py")
    exercise = getattr(importlib.import_module(f"{lesson.__name__}.{name}"), "EXERCISE", None)
    if not isinstance(exercise, Exercise):
        raise ValueError(
            f"{_path(lesson, name)}: expected EXERCISE = spec.exercise(...), got {type(exercise).__name__}"
        )
    if exercise.name != name:
        raise ValueError(f"{_path(lesson, name)}: the file of the exercise {exercise.name} must be {exercise.name}.py")
    return exercise


def _check_every_exercise_is_listed(lesson: ModuleType) -> None:
    """Raises ValueError if a file of the lesson binds `EXERCISE` without being in `NAMES`."""
    for name in _names_in(lesson):
        if name not in lesson.NAMES and hasattr(importlib.import_module(f"{lesson.__name__}.{name}"), "EXERCISE"):
            raise ValueError(
                f"{_path(lesson, name)}: it defines EXERCISE, but NAMES in __init__.py doesn't list {name}"
            )


def _unused_words(lesson: ModuleType) -> Iterator[str]:
    """Messages about words that no specification has a mistake for, and about Markdown that no module reads. All
    lessons have to be imported before: a later one may have the mistake."""
    for path in sorted(path for folder in lesson.__path__ for path in Path(folder).glob("*.md")):
        if "." in path.stem:  # in another language: NAME.ko.md
            continue
        words = next((words for words in _read_by(f"{lesson.__name__}.{path.stem}") if words.path == path), None)
        if words is not None:
            yield from words.unused()
        else:
            yield f"{_path(lesson, path.name)}:1 {path.stem}: no {path.stem}.py reads it with Spec or Words"


def _read_by(module: str) -> list[Words]:
    """The words that a specification has in its `spec`, or a module of shared mistakes in its `mistake`."""
    bound = vars(sys.modules[module]).values() if module in sys.modules else ()
    specs = (words for value in bound if isinstance(value, Spec) for words in value.words)
    return [*specs, *(value for value in bound if isinstance(value, Words))]


def _names_in(package: ModuleType) -> list[str]:
    """The names of the modules and packages in a package's folder, sorted."""
    return sorted(module.name for module in pkgutil.iter_modules(package.__path__))


def _path(lesson: ModuleType, name: str) -> str:
    """The path of a lesson's module `name`, or of a file if `name` has an ending, as messages write it."""
    return f"{lesson.__name__.replace('.', '/')}/{name if '.' in name else f'{name}.py'}"
