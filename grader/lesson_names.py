"""Which lesson is meant: in every command a lesson may be named, numbered, or given by its file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

FILE = re.compile(r"\.(ipynb|py)$")
NUMBER = re.compile(r"(\d+)_", re.ASCII)


def choose(wanted: str, lessons: Sequence[str]) -> str | None:
    """The lesson meant by `wanted`: its name, the beginning of its name up to a `_`, its number or its file; None if
    that is no lesson or more than one.

    >>> lessons = ["01_self_attention", "02_trainable_attention"]
    >>> {choose(wanted, lessons) for wanted in ("1", "01", "01_self", "01_self_attention", "01_self_attention.ipynb")}
    {'01_self_attention'}
    """
    names = [wanted, FILE.sub("", PurePath(wanted).name)]
    for name in names:
        if name in lessons:
            return name
    for name in names:
        found = [lesson for lesson in lessons if lesson.startswith(f"{name}_") or _has_number(lesson, name)]
        if len(found) == 1:
            return found[0]
    return None


def _has_number(lesson: str, number: str) -> bool:
    match = NUMBER.match(lesson)
    return match is not None and number.isascii() and number.isdigit() and int(match[1]) == int(number)
