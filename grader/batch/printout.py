"""What a run says at its end: a table for a reader, or one JSON document."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from grader.batch.run import ClassOutcome
from grader.insights.page import table
from grader.insights.summary import Summary, summarise
from grader.judge.clean_text import printable
from grader.judge.result import UNSAFE


def summary_of(outcome: ClassOutcome) -> Summary:
    """The class in numbers."""
    return summarise([record.result for record in outcome.records.values()])


def as_text(outcome: ClassOutcome) -> str:
    """For a terminal."""
    kept = len(outcome.records) - outcome.graded
    lines = [f"{outcome.lesson}: {outcome.graded} graded now, {kept} graded before, in {outcome.seconds:.1f} s"]
    if any(record.result.confinement == UNSAFE for record in outcome.records.values()):
        lines.append("Graded without a sandbox.")
    lines += [table(summary_of(outcome))] if outcome.records else ["Nobody has a mark yet."]
    if outcome.problems:
        lines += ["", f"{len(outcome.problems)} could not be graded as they should:"]
        lines += [f"  {student}: {printable(why)}" for student, why in sorted(outcome.problems.items())]
    return "\n".join([*lines, *([outcome.stopped] if outcome.stopped else [])])


def as_json(outcome: ClassOutcome) -> dict[str, Any]:
    """The same as plain data, with every student's mark. `summary` is `grader.insights.summary.Summary`."""
    summary = asdict(summary_of(outcome))
    return {
        "lesson": outcome.lesson,
        "graded_now": outcome.graded,
        "seconds": outcome.seconds,
        "stopped": outcome.stopped,
        "summary": summary,
        "marks": {student: record.result.mark for student, record in sorted(outcome.records.items())},
        "confinement": {student: record.result.confinement for student, record in sorted(outcome.records.items())},
        "problems": [{"student": student, "why": why} for student, why in sorted(outcome.problems.items())],
    }
