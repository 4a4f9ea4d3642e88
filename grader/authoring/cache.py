"""Remembers what executing a lesson gave, so that an unchanged lesson is not run again."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from grader.atomic import write_atomically

LOCK = "requirements.lock"


def surroundings(root: Path) -> str:
    """A digest of all that a lesson's outputs depend on besides its text: the package's files, the locked versions, the
    Python."""
    digest = hashlib.sha256(sys.version.encode())
    for path in [root / LOCK, *_code(root)]:
        content = path.read_bytes()
        digest.update(f"\n{path.relative_to(root).as_posix()} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def _code(root: Path) -> Iterable[Path]:
    """The package's files, without the texts of answers, which the build makes from the lessons."""
    files = [path for path in (root / "grader").rglob("*") if path.is_file()]
    return sorted(path for path in files if not {"__pycache__", "answers"} & set(path.parts))


class Executed(NamedTuple):
    """What executing a lesson gave, as the texts of two files: the notebook, and the states of its views."""

    notebook: str
    states: str


class Cache:
    """What executing lessons gave, in one file a lesson under `folder`. An entry that can't be read, or was made in
    other `surroundings`, is as good as none."""

    def __init__(self, folder: Path, surroundings: str) -> None:
        self._folder = folder
        self._surroundings = surroundings

    def get(self, name: str, lesson_text: str) -> Executed | None:
        """What this lesson text gave when it was executed; None if that isn't kept, or was made by another state of
        the code."""
        try:
            entry = json.loads((self._folder / f"{name}.json").read_text("utf-8"))
            executed = Executed(entry["notebook"], entry["states"])
            sound = entry["key"] == self._key(lesson_text) and entry["digest"] == _digest("".join(executed))
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None
        return executed if sound else None

    def put(self, name: str, lesson_text: str, executed: Executed) -> None:
        """Keep what executing this lesson text gave, in place of what the lesson gave before."""
        entry = {"key": self._key(lesson_text), "digest": _digest("".join(executed)), **executed._asdict()}
        self._folder.mkdir(parents=True, exist_ok=True)
        write_atomically(self._folder / f"{name}.json", json.dumps(entry))

    def _key(self, lesson_text: str) -> str:
        return _digest(f"{self._surroundings}\n{lesson_text}")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
