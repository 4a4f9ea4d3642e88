"""The audit log of a lesson: `DIR/.grader/regrades/LESSON.jsonl`, a line for every acceptance, override and undoing.

    {"format": 1, "id": 3, "action": "accept", "when": "2026-11-20T17:20:05+00:00", "who": "teacher", "course": "0.2.0",
     "version": "77d0...", "changed": ["the specification of first_steps"], "also_down": false, "undoes": 0,
     "students": {"ann": {"before": 0.5, "after": 1.0, "cells": {"first_steps": [0.5, 1.0]}, "why": "...",
                          "keys": ["9f2c...", "a0b1..."], "rows": [{...}, {...}]}}}

`keys` are the results in the log of results, `rows` what the gradebook had and has; notebooks of `autograded/` as they
were are kept in `DIR/.grader/regrades/LESSON/ID/`. With these an acceptance can be undone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from grader import __version__
from grader.course.folder import REGRADES, folder_of
from grader.course.json_lines import append_line, lines_file, read_lines
from grader.course.sharing import user_name
from grader.plain import made

# By exercise, or by a teacher's own cell, the points before and after.
Cells = dict[str, tuple[float, ...]]
ACCEPT, OVERRIDE, UNDO = "accept", "override", "undo"


@dataclass(frozen=True)
class Noted:
    """One student of an entry."""

    before: float  # the mark of the lesson, in points
    after: float
    cells: Cells = field(default_factory=dict)  # of each cell the points before and after
    why: str = ""  # "" if nobody said so
    keys: tuple[str, ...] = ()  # of the results before and after; empty if none were noted
    rows: tuple[dict[str, Any], ...] = ()  # what the gradebook had before and after; empty likewise


@dataclass(frozen=True)
class AuditEntry:
    """One line of the log."""

    id: int
    action: str  # "accept", "override" or "undo"
    when: str  # UTC
    who: str  # the user
    course: str  # the version of the package
    version: str = ""  # of what was graded by
    changed: tuple[str, ...] = ()  # what had changed
    also_down: bool = False  # whether marks could go down
    undoes: int = 0  # the id of the entry that it takes back; 0 for none
    students: dict[str, Noted] = field(default_factory=dict)


def entries(course: Path, lesson: str) -> list[AuditEntry]:
    """All entries of a lesson's log, the oldest first. A line that is torn or of another form is passed over."""
    readable = []
    for _number, line in read_lines(lines_file(course, REGRADES, lesson)):
        with suppress(ValueError):
            readable.append(made(AuditEntry, line, "entry"))
    return readable


def last(course: Path, lesson: str) -> AuditEntry | None:
    """The entry of a lesson that `--undo` would take back; None if there is none left."""
    found = entries(course, lesson)
    undone = {entry.undoes for entry in found}
    return next((entry for entry in reversed(found) if entry.action != UNDO and entry.id not in undone), None)


def next_id(course: Path, lesson: str) -> int:
    """The number that the next entry of a lesson's log will have, from 1."""
    return max((entry.id for entry in entries(course, lesson)), default=0) + 1


def add(course: Path, lesson: str, action: str, students: Mapping[str, Noted], **about: Any) -> AuditEntry:
    """Append an entry and see it on the disk; returns it. `action` is `ACCEPT`, `OVERRIDE` or `UNDO`, `about` has more
    fields of `AuditEntry`."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    number = next_id(course, lesson)
    entry = AuditEntry(number, action, now, user_name(os.getuid()), __version__, students=dict(students), **about)
    append_line(course, REGRADES, lesson, asdict(entry))
    return entry


def notebooks_of(course: Path, lesson: str, number: int = 0) -> Path:
    """The folder of the notebooks as they were before the entry with this number, or with 0 before the next one; it is
    made if it isn't there."""
    folder_of(course, REGRADES)
    folder_of(course, f"{REGRADES}/{lesson}")
    return folder_of(course, f"{REGRADES}/{lesson}/{number or next_id(course, lesson)}")
