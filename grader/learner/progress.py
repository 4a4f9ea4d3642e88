"""A learner's progress, in one small file that several notebooks can write and a crash can't damage.

The file is `~/.attention-course/progress.json`, or what GRADER_PROGRESS names; GRADER_PROGRESS=off keeps nothing. A
notebook that a program runs, as nbval does, is nobody's progress: nothing is kept, and nothing that is kept is read.
Every change takes a lock and replaces the file atomically, so a reader sees the old state or the new one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from filelock import FileLock

from grader.atomic import write_atomically
from grader.kernel import progress_file
from grader.languages import shown
from grader.learner import here
from grader.plain import made
from grader.report import Report
from grader.sentences import say, together
from grader.spec.exercise import Exercise

OWN = "own"  # in place of a lesson's name: a teacher's own exercise, which may be in any
LOCK_SECONDS = 10  # a write takes a hundredth of one: who holds the lock for longer must not stop a check
TRIES = 3  # before a model solution is shown
# Kinds of findings whose checks don't count as tries.
NOTHING_TRIED = frozenset({"not-written", "missing", "unknown-exercise", "interrupted", "not-answered"})


# What the states of an exercise are called, by their ids; the view has the same table in its JavaScript.
STATES = {
    "passed": say("passed"),
    "passed-seen": say("passed, solution seen"),
    "started": say("started"),
    "started-seen": say("started, solution seen"),
    "not-tried": say("not tried"),
    "not-tried-seen": say("not tried, solution seen"),
}
HEADS = (say("lesson"), say("exercise"), say("state"), say("points"), say("tries"))


@dataclass(frozen=True)
class Record:
    """The progress of one exercise. Times are UTC, to the second, "" for never."""

    tries: int = 0  # checks so far
    best: float = 0.0  # score, 0 to 1
    last: float = 0.0  # score, 0 to 1
    passed_at: str = ""  # for the first time
    checked_at: str = ""  # for the last time
    solution_at: str = ""  # when it was first seen

    def __post_init__(self) -> None:
        if min(self.tries, self.best, self.last) < 0 or max(self.best, self.last) > 1:
            raise ValueError(f"got {self.tries} tries, best {self.best}, last {self.last}; scores are from 0 to 1")

    @property
    def state(self) -> str:
        """Its id in `STATES`."""
        state = "passed" if self.passed_at else "started" if self.tries else "not-tried"
        return f"{state}-seen" if self.solution_at else state


def unmounted(path: Path) -> str:
    """What is wrong with a place whose folder can't be made because the one above isn't there, as on a drive that isn't
    mounted; empty if that is not so. To make them all would keep the progress beside the drive."""
    above = path.parent.parent
    return "" if path.parent.is_dir() or above.is_dir() else say("{folder} is not there", folder=above)


def load(path: Path | None = None) -> dict[str, Record]:
    """The records by exercise, without anything in the file that is not as it should be; empty if there is no readable
    file."""
    path = path or progress_file()
    try:
        return {} if path is None else read(path)[0]
    except OSError:
        return {}


def record(report: Report) -> None:
    """Record the result of a check, unless the check itself failed or nothing was tried. A full or read-only disk
    raises nothing."""
    failure = report.first_failure
    if report.broken or (failure is not None and failure.kind in NOTHING_TRIED):
        return

    def change(old: Record) -> dict[str, Any]:
        now = _now()
        passed_at = old.passed_at or (now if report.passed else "")
        score = round(report.score, 4)
        best = max(old.best, score)
        return {"tries": old.tries + 1, "best": best, "last": score, "passed_at": passed_at, "checked_at": now}

    update(report.name, change)


def record_solution(name: str) -> None:
    """Record when the model solution was first shown."""
    update(name, lambda old: {"solution_at": old.solution_at or _now()})


def update(name: str, change: Callable[[Record], Mapping[str, Any]]) -> None:
    """Change one exercise's record in the file, under a lock: `change` returns the fields that are new."""

    def edit(document: dict[str, Any]) -> None:
        entry = document["exercises"].get(name, {})
        old = made(Record, entry, name)
        document["exercises"][name] = {**entry, **asdict(old), **change(old)}

    _rewrite(edit)


def guesses() -> dict[str, str | float]:
    """The guess at each prediction, by its name: the text of a choice, or a number. Empty without a readable file."""
    return _of_file("guesses", str, int, float)


def sureness() -> dict[str, int]:
    """How sure somebody was of a guess, from 0 to 100, by the prediction's name; only where they said it."""
    return _of_file("sure", int)


def outcomes() -> dict[str, bool | None]:
    """Whether the guess was right, for each prediction whose outcome was seen; None if it was seen without a guess."""
    return _of_file("outcomes", bool, type(None))


def record_guess(name: str, guess: str | float, sure: int | None = None) -> None:
    """Keep a guess, in place of an earlier one at the same prediction, and how sure somebody was of it, from 0 to 100
    (None: not said). It earns nothing."""

    def edit(document: dict[str, Any]) -> None:
        document["guesses"] = {**_entries(document, "guesses", str, int, float), name: guess}
        document["sure"] = {**_entries(document, "sure", int), **({} if sure is None else {name: sure})}

    _rewrite(edit)


def record_outcome(name: str, is_right: bool | None) -> None:
    """Keep that an outcome was seen, and whether the guess was right (None: there was no guess). Only the first time
    counts."""
    if name not in outcomes():
        _rewrite(
            lambda document: document.update(
                outcomes={name: is_right, **_entries(document, "outcomes", bool, type(None))}
            )
        )


def predictions() -> str:
    """How often guesses were right and how sure somebody was, as a sentence; empty before the first outcome was
    seen."""
    right = {name: is_right for name, is_right in outcomes().items() if is_right is not None}
    if not right:
        return ""
    said = say("Predictions: {right} of {total} guesses were right.", right=sum(right.values()), total=len(right))
    sure = {name: percent for name, percent in sureness().items() if name in right}
    if not sure:
        return said
    share = sum(right[name] for name in sure) / len(sure)
    mean = sum(sure.values()) / len(sure)
    confidence = say(
        "Where you gave your confidence, you were {sure} % sure on average and right {right} % of the time.",
        sure=f"{mean:.0f}",
        right=f"{100 * share:.0f}",
    )
    return together(said, confidence)


def _of_file(key: str, *kinds: type) -> dict[str, Any]:
    path = progress_file()
    try:
        return {} if path is None else _entries(json.loads(path.read_text(encoding="utf-8")), key, *kinds)
    except (OSError, ValueError, RecursionError):
        return {}


def _entries(document: Any, key: str, *kinds: type) -> dict[str, Any]:
    """The entries that a file's `document` holds by name under `key`, those whose value has one of the types
    `kinds`."""
    kept = document.get(key) if isinstance(document, dict) else None
    return {name: value for name, value in kept.items() if type(value) in kinds} if isinstance(kept, dict) else {}


def _rewrite(edit: Callable[[dict[str, Any]], object]) -> None:
    """Change what the file holds by `edit`, under a lock. What a later version has put there stays. Where the file
    can't be written, a sentence says so, once."""
    path = progress_file()
    if path is None:
        return
    if reason := unmounted(path):
        _tell(
            say(
                "Your progress is not kept: {reason}. Mount the drive, or name another file in GRADER_PROGRESS.",
                reason=say(reason),
            )
        )
        return
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        with FileLock(path.with_suffix(".lock"), timeout=LOCK_SECONDS):
            document = _read_or_put_aside(path)
            edit(document)
            write_atomically(path, json.dumps({"version": 1, **document}, indent=1), mode=0o600)
    except (OSError, NotImplementedError) as error:  # the latter where a file system has no locks
        why = getattr(error, "strerror", None) or error
        _tell(
            say(
                "Your progress is not kept in {path}: {why}. Run `!grader doctor` in a cell to see more.",
                path=path,
                why=why,
            )
        )


@cache
def _tell(sentence: str) -> None:
    print(shown(sentence))


def rows(exercises: Mapping[str, Exercise] | None = None, known: Mapping[str, Record] | None = None) -> list[list[str]]:
    """A row for every exercise of the course, as this notebook knows it: lesson, exercise, the id of its state, points
    reached and possible, tries; where the possible ones aren't known they are "", and those reached a share. A
    teacher's own come last: those that the notebook tells of, with their points, and those that have been tried.
    Without `exercises` these are all that are registered, without `known` the records are read from the file."""
    from grader.exercises.registry import exercises as registered

    course, points = registered(), here.course()
    if exercises is None:
        exercises = _of_course(course, points)
    known = load() if known is None else known
    own = [name for name in {**points, **known} if name not in course]
    return [
        *(
            _row(exercise.lesson, name, known.get(name, Record()), exercise.points)
            for name, exercise in exercises.items()
        ),
        *(_row(OWN, name, known.get(name, Record()), points.get(name)) for name in own),
    ]


def _of_course(registered: Mapping[str, Exercise], points: Mapping[str, float]) -> dict[str, Exercise]:
    """The registered exercises without those that a teacher has left out, and with the points that they give, if the
    notebook says them."""
    points = points or {name: exercise.points for name, exercise in registered.items()}
    return {name: replace(exercise, points=points[name]) for name, exercise in registered.items() if name in points}


def _row(lesson: str, name: str, record: Record, points: float | None) -> list[str]:
    """The row of an exercise. Without `points` (None), what was reached is shown as a share."""
    reached = f"{record.best:.0%}" if points is None else f"{round(points * record.best, 2):g}"
    return [lesson, name, record.state, reached, "" if points is None else f"{points:g}", str(record.tries)]


def in_words(row: list[str]) -> list[str]:
    """A row as somebody reads it, under HEADS.

    >>> in_words(["00_start_here", "first_steps", "not-tried", "0", "1", "0"])[2:]
    ['not tried', '0 of 1', '0']
    """
    lesson, name, state, reached, points, tries = row
    return [
        lesson,
        name,
        STATES[state],
        say("{reached} of {points}", reached=reached, points=points) if points else reached,
        tries,
    ]


def total(exercises: Mapping[str, Exercise], known: Mapping[str, Record]) -> tuple[float, float]:
    """The points earned by each exercise's best check, added up, and the points of all exercises."""
    earned = sum(round(e.points * known.get(e.name, Record()).best, 2) for e in exercises.values())
    return round(earned, 2), sum(e.points for e in exercises.values())


def summed(exercises: Mapping[str, Exercise], known: Mapping[str, Record]) -> str:
    """The points earned so far, in words."""
    earned, possible = (f"{points:g}" for points in total(exercises, known))
    if progress_file() is None:
        return say(
            "{earned} of {possible} points (GRADER_PROGRESS=off: nothing is kept)", earned=earned, possible=possible
        )
    return say("{earned} of {possible} points", earned=earned, possible=possible)


def read(path: Path) -> tuple[dict[str, Record], list[str]]:
    """The records by exercise that a file holds, and a sentence for each entry that is not as it should be; both empty
    where there is no file. `OSError` if it can't be read."""
    try:
        records = json.loads(path.read_text(encoding="utf-8"))["exercises"].items()
    except FileNotFoundError:
        return {}, []
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return {}, ["It isn't a progress file."]
    known, odd = {}, []
    for name, entry in records:
        try:
            known[name] = made(Record, entry, name)
        except ValueError as error:
            odd.append(str(error))
    return known, odd


def _read_or_put_aside(path: Path) -> dict[str, Any]:
    """The document that the file holds. A file in which anything is not as it should be is renamed, so that nothing of
    it is lost."""
    known, odd = read(path)
    if not odd:
        return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {"exercises": {}}
    kept = {"guesses": guesses(), "sure": sureness(), "outcomes": outcomes()}
    os.replace(path, path.with_suffix(f".damaged-{datetime.now(UTC):%Y%m%d%H%M%S}.json"))
    return {"exercises": {name: asdict(record) for name, record in known.items()}, **kept}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
