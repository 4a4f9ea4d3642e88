"""A learner's progress, in one small file that several notebooks can write and a crash can't damage.

The file is `~/.attention-course/progress.json`, or what GRADER_PROGRESS names; GRADER_PROGRESS=off keeps nothing. Every
change takes a lock and replaces the file atomically, so a reader sees the old state or the new one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock

from grader.atomic import write_atomically
from grader.report import Report
from grader.spec.exercise import Exercise

OFF = "off"
TRIES = 3  # before a model solution is shown
# Kinds of findings whose checks don't count as tries.
NOTHING_TRIED = frozenset({"not-written", "missing", "unknown-exercise", "interrupted"})


@dataclass(frozen=True)
class Record:
    """The progress of one exercise. `best` and `last` are scores from 0 to 1; times are UTC, to the second."""

    tries: int = 0
    best: float = 0.0
    last: float = 0.0
    passed_at: str = ""
    checked_at: str = ""
    solution_at: str = ""

    @property
    def state(self) -> str:
        """One of "passed", "started", "not tried"."""
        if self.passed_at:
            return "passed"
        return "started" if self.tries else "not tried"


def location() -> Path | None:
    """The path of the progress file; None if progress is off."""
    named = os.environ.get("GRADER_PROGRESS", "")
    if named == OFF:
        return None
    return Path(named).expanduser() if named else Path.home() / ".attention-course" / "progress.json"


def load(path: Path | None = None) -> dict[str, Record]:
    """The records by exercise; empty if there is no readable file."""
    path = path or location()
    if path is None:
        return {}
    try:
        return _records(_read(path))
    except (OSError, ValueError):
        return {}


def record(report: Report) -> None:
    """Record the result of a check. A full or read-only disk raises nothing."""
    failure = report.first_failure
    if report.broken or (failure is not None and failure.kind in NOTHING_TRIED):
        return

    def change(old: Record) -> dict[str, Any]:
        now = _now()
        passed_at = old.passed_at or (now if report.passed else "")
        score = round(report.score, 4)
        best = max(old.best, score)
        return {"tries": old.tries + 1, "best": best, "last": score, "passed_at": passed_at, "checked_at": now}

    update(report.exercise, change)


def record_solution(name: str) -> None:
    """Record when the model solution was first shown."""
    update(name, lambda old: {"solution_at": old.solution_at or _now()})


def update(name: str, change: Callable[[Record], Mapping[str, Any]]) -> None:
    """Change one exercise's record in the file, under a lock."""

    def edit(document: dict[str, Any]) -> None:
        entry = document["exercises"].get(name, {})
        old = _record(entry)
        document["exercises"][name] = {**entry, **asdict(old), **change(old)}

    _rewrite(edit)


def guesses() -> dict[str, str | float]:
    """The guess at each prediction, by its name: the text of a choice, or a number. Empty without a readable file."""
    path = location()
    try:
        return _guesses(_read(path)) if path is not None else {}
    except (OSError, ValueError):
        return {}


def record_guess(name: str, guess: str | float) -> None:
    """Keep a guess, in place of an earlier one at the same prediction. It earns nothing."""
    _rewrite(lambda document: document.update(guesses={**_guesses(document), name: guess}))


def _guesses(document: Mapping[str, Any]) -> dict[str, str | float]:
    kept = document.get("guesses")
    if not isinstance(kept, dict):
        return {}
    return {name: guess for name, guess in kept.items() if type(guess) in (str, int, float)}


def _rewrite(edit: Callable[[dict[str, Any]], object]) -> None:
    """Change what the file holds, under a lock. What a later version has put there stays."""
    path = location()
    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_suffix(".lock")):
            document = _read_or_put_aside(path)
            edit(document)
            write_atomically(path, json.dumps({"version": 1, **document}, indent=1), mode=0o600)
    except OSError:
        pass  # `grader doctor` reports a file that can't be written


def rows(exercises: Mapping[str, Exercise] | None = None, known: Mapping[str, Record] | None = None) -> list[list[str]]:
    """A row for every exercise of the course: lesson, exercise, state, points, tries."""
    if exercises is None:
        from grader.exercises.registry import exercises as registered

        exercises = registered()
    known = load() if known is None else known
    return [_row(exercise, known.get(exercise.name, Record())) for exercise in exercises.values()]


def _row(exercise: Exercise, record: Record) -> list[str]:
    seen = ", solution seen" if record.solution_at else ""
    points = f"{round(exercise.points * record.best, 2):g} of {exercise.points:g}"
    return [exercise.lesson, exercise.name, record.state + seen, points, str(record.tries)]


def total(exercises: Mapping[str, Exercise], known: Mapping[str, Record]) -> tuple[float, float]:
    """Points earned by each exercise's best check, and points in all."""
    earned = sum(round(e.points * known.get(e.name, Record()).best, 2) for e in exercises.values())
    return round(earned, 2), sum(e.points for e in exercises.values())


def _read(path: Path) -> dict[str, Any]:
    """All that the file holds."""
    document = json.loads(path.read_text(encoding="utf-8"))
    _records(document)  # ValueError if it isn't a progress file
    return dict(document)


def _records(document: Any) -> dict[str, Record]:
    try:
        return {name: _record(entry) for name, entry in document["exercises"].items()}
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError("not a progress file") from error


def _record(entry: Mapping[str, Any]) -> Record:
    """A record of what this version knows of an entry."""
    names = {field.name for field in fields(Record)}
    return Record(**{key: value for key, value in entry.items() if key in names})


def _read_or_put_aside(path: Path) -> dict[str, Any]:
    """What the file holds. A damaged file is renamed, not overwritten."""
    try:
        return _read(path)
    except FileNotFoundError:
        return {"exercises": {}}
    except ValueError:
        os.replace(path, path.with_suffix(f".damaged-{datetime.now(UTC):%Y%m%d%H%M%S}.json"))
        return {"exercises": {}}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
