"""What a course was made from: `DIR/.grader/base/` has each lesson as the release had it, and `made_from.json`

    {"version": "0.2.0", "checks": {"01_self_attention": "9f2c..."}}

the release, and by lesson a digest of the code that its marks depend on. `grader course update` compares with it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grader import __version__
from grader.atomic import write_atomically
from grader.classroom.results_log import FOLDER, folder_of, mode_in
from grader.errors import CourseError
from grader.judge.fingerprint import version_for

NAME, RECORD = "base", "made_from.json"


@dataclass
class Base:
    """The record of a course. Without one every cell that differs from a release counts as the teacher's."""

    course: Path
    version: str = ""
    checks: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, course: Path) -> Base:
        """The one of a course."""
        path = course / FOLDER / NAME / RECORD
        try:
            found: Mapping[str, Any] = json.loads(path.read_bytes())
            return cls(course, str(found["version"]), {str(k): str(v) for k, v in found["checks"].items()})
        except FileNotFoundError:
            return cls(course)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise CourseError(f"{path} can't be read. Without it every change counts as yours: remove it.") from None

    def lesson(self, name: str) -> Path:
        """Where a lesson lies as its release had it."""
        return self.course / FOLDER / NAME / f"{name}.ipynb"

    def keep(self, name: str, notebook: bytes) -> None:
        """Note what a lesson is made from now."""
        folder_of(self.course, NAME)
        write_atomically(self.lesson(name), notebook, mode_in(self.course), durable=False)
        self.checks[name] = version_for(notebook)

    def save(self) -> None:
        """Note the release."""
        self.version = __version__
        record = json.dumps({"version": self.version, "checks": self.checks}, indent=1)
        write_atomically(folder_of(self.course, NAME) / RECORD, record + "\n", mode_in(self.course))
