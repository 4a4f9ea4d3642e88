"""The golden scores: what the first wording of every mistake, every right answer and every wrong one that nobody listed
earns, to the hundredth of a point. `tests/exercises/test_submissions.py` compares.

    python -m tests.exercises.scores [EXERCISE]...

writes tests/exercises/scores.toml anew, or only the scores of these exercises. Read the diff: it is a decision.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from itertools import groupby
from pathlib import Path

from grader.authoring.samples import UNLISTED, Sample, submissions
from grader.exercises.registry import exercises
from grader.report import Report
from grader.spec.evaluate import evaluate
from grader.subject import Request
from grader.subject.local import LocalSubject

FILE = Path(__file__).with_suffix(".toml")
HEAD = "# Points of sample submissions, made by `python -m tests.exercises.scores`: a changed line is a decision.\n"


def first_of_each(wrong: Iterable[Sample]) -> list[Sample]:
    """The first wording of every mistake, and all that nobody listed."""
    found: dict[tuple[str, ...], Sample] = {}
    for one in wrong:
        found.setdefault((one.exercise, one.mistake, one.title if one.mistake == UNLISTED else ""), one)
    return list(found.values())


def title_of(submission: Sample) -> str:
    """What a submission is called in the file."""
    return f"{submission.mistake or 'right'}: {submission.title}"


@cache
def scores() -> dict[str, dict[str, float]]:
    """The points by exercise and title."""
    return tomllib.loads(FILE.read_text("utf-8"))


def judged() -> list[Sample]:
    """The submissions whose scores are kept."""
    return [*(one for one in submissions() if not one.mistake), *first_of_each(filter(_is_wrong, submissions()))]


def _is_wrong(submission: Sample) -> bool:
    return bool(submission.mistake)


def report_on(submission: Sample) -> Report:
    """A learner's own check of a submission."""
    subject = LocalSubject({"__name__": "__main__"})
    subject.ask(Request("run", source=submission.source, seconds=60))
    seconds = 2.0 if submission.mistake == "time-limit" else None
    return evaluate(exercises()[submission.exercise], subject, seconds=seconds, exercises=exercises())


def _lines(names: Collection[str]) -> Iterator[str]:
    """The file's lines. Scores of other exercises than `names` stay as they are; none named means all."""

    def mark(one: Sample) -> float:
        kept = scores().get(one.exercise, {}).get(title_of(one)) if names and one.exercise not in names else None
        return report_on(one).mark if kept is None else kept

    yield HEAD
    in_order = sorted(judged(), key=lambda one: (exercises()[one.exercise].lesson, one.exercise, title_of(one)))
    for exercise, group in groupby(in_order, key=lambda one: one.exercise):
        yield f"[{exercise}]\n"
        yield from (f"{json.dumps(title_of(one), ensure_ascii=False)} = {mark(one):.2f}\n" for one in group)
        yield "\n"


if __name__ == "__main__":
    FILE.write_text("".join(_lines(sys.argv[1:])).rstrip("\n") + "\n", "utf-8")
