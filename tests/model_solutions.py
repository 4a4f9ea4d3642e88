"""The model solutions, taken from the lessons: the only place where they are written."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from grader.spec import Exercise

LESSONS = Path(__file__).parents[1] / "lessons"
CELL = re.compile(r"(?m)^# %%(?P<head>.*)\n(?P<body>(?:(?!# %%).*\n?)*)")


@cache
def cells(lesson: str) -> tuple[tuple[str, str], ...]:
    """The header and the source of every code cell of a lesson."""
    found = CELL.finditer((LESSONS / f"{lesson}.py").read_text())
    return tuple((m["head"].strip(), m["body"]) for m in found if "[markdown]" not in m["head"])


def model_solution(exercise: Exercise) -> str:
    """The lesson's imports, what it takes over as given, and its solutions up to this exercise's."""
    imports: list[str] = []
    chosen: list[str] = []
    for head, body in cells(exercise.lesson):
        imports += [ast.unparse(n) for n in ast.parse(body).body if isinstance(n, ast.Import | ast.ImportFrom)]
        if 'role="given"' in head:
            chosen.append(body)
        if 'role="solution"' in head:
            chosen.append(body)
            if f'exercise="{exercise.name}"' in head:
                return "\n".join([*imports, *chosen])
    raise ValueError(f"lessons/{exercise.lesson}.py has no solution of {exercise.name}")
