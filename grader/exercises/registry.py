"""All exercises of the course, in its order. A lesson's specifications are the `EXERCISES` of
`grader/exercises/lesson_NN.py`.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from functools import cache

from grader import exercises as folder
from grader.spec.exercise import Exercise


@cache
def exercises() -> dict[str, Exercise]:
    """Every exercise by name."""
    found: dict[str, Exercise] = {}
    for module in sorted(info.name for info in pkgutil.iter_modules(folder.__path__)):
        if not re.fullmatch(r"lesson_\d\d", module):
            continue
        for exercise in importlib.import_module(f"{folder.__name__}.{module}").EXERCISES:
            if exercise.name in found:
                raise ValueError(f"grader/exercises/{module}.py: the exercise {exercise.name} is specified twice")
            found[exercise.name] = exercise
    return found
