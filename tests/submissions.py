"""Reads the files of sample submissions: `tests/exercises/lesson_NN/EXERCISE.py`, a cell for every submission.

A cell opens with `# %% right: TITLE`, `# %% wrong MISTAKE-ID: TITLE` (`-`: nobody listed it; it must fail,
unnamed) or `# %% prelude`, which stands before every other cell of its file.

`prelude.py` beside the files stands before all cells of its lesson: imports, then a cell `# %% EXERCISE` with a right
answer to each exercise that others build on. A file gets what stands before its own exercise.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "exercises"
SHARED = "prelude.py"
MARKER = re.compile(r"^# %% (?P<kind>right|wrong|prelude)(?: (?P<mistake>[\w-]+))?(?:: (?P<title>.+))?$")


@dataclass(frozen=True)
class Submission:
    """One way of solving an exercise, or of getting it wrong. `mistake` is empty for a right one."""

    exercise: str
    title: str
    mistake: str
    source: str

    def __str__(self) -> str:
        return f"{self.exercise}-{self.mistake or 'right'}-{self.title}"


@cache
def submissions() -> tuple[Submission, ...]:
    """Every sample submission of every exercise."""
    return tuple(one for path in sorted(FOLDER.glob("lesson_*/*.py")) if path.name != SHARED for one in read(path))


def read(path: Path) -> list[Submission]:
    """The submissions of one file."""
    found: list[Submission] = []
    shared = prelude = _before(path)
    for chunk in re.split(r"(?m)^(?=# %% )", path.read_text())[1:]:
        head, _, source = chunk.partition("\n")
        match = MARKER.match(head)
        if match is None:
            raise ValueError(f"{path.name}: a cell opens with {head!r}")
        if match["kind"] == "prelude":
            prelude = f"{shared}\n{source}"
            continue
        if not match["title"] or (match["kind"] == "wrong") != bool(match["mistake"]):
            raise ValueError(f"{path.name}: {head!r} needs a title, and a mistake if it is wrong")
        found.append(Submission(path.stem, match["title"], match["mistake"] or "", prelude + "\n" + source))
    return found


def _before(path: Path) -> str:
    """What the lesson's shared prelude holds for one file."""
    shared = path.with_name(SHARED)
    return re.split(rf"(?m)^# %% {path.stem}$", shared.read_text())[0] if shared.exists() else ""
