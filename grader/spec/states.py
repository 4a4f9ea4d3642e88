"""Passed, failed or not judged yet: one fault fails one part, and what it hides from view is not judged."""

from __future__ import annotations

from collections.abc import Sequence

from grader.report.data import UNWRITTEN
from grader.sentences import say
from grader.spec.exercise import Finding, not_judged
from grader.spec.session import Session

# What another finding of the same kind says after the first, by kind: it is the same fault, met again.
AFTER = {
    "raised": "runs-first",
    "misbuilt": "runs-first",
    "helper-not-written": "runs-first",
    "interrupted": "not-run",
    "time-limit": "not-run",
    "waited": "not-run",
    "died": "not-run",
    "returns-nothing": "shape-first",
    "wrong-type": "shape-first",
    "wrong-shape": "shape-first",
    "wrong-values": "values-first",
    "not-finite": "values-first",
}


def hide_consequences(session: Session, findings: Sequence[Finding | None]) -> list[Finding | None]:
    """The findings of all parts, in order, None for one that passed. What a first fault explains becomes "not judged
    yet"; so does everything that did not pass while the code isn't written."""
    unwritten = _unwritten(session, findings)
    settled: list[Finding | None] = []
    met: set[str] = set()
    for finding in findings:
        if finding is not None and unwritten is not None:
            finding = not_judged("written-first") if met else unwritten
        elif finding is not None and finding.kind in met and finding.kind in AFTER and not _are_questions(session):
            finding = not_judged(AFTER[finding.kind])
        met |= {finding.kind} if finding is not None else set()
        settled.append(finding)
    return settled


def _any_right(session: Session, findings: Sequence[Finding | None]) -> bool:
    """Whether a part passed that compares values: a class may do its work in what it inherits."""
    parts = zip(session.exercise.parts, findings, strict=True)
    return any(part.compares_values and finding is None for part, finding in parts)


def _are_questions(session: Session) -> bool:
    """Whether the exercise's parts are questions, which don't depend on each other."""
    return session.exercise.kind == "answers"


def _unwritten(session: Session, findings: Sequence[Finding | None]) -> Finding | None:
    """The finding that there is nothing to judge, since the code isn't written or defined; None if there is
    something."""
    found = [finding for finding in findings if finding is not None]
    name = session.exercise.name
    if _are_questions(session):
        if len(found) == len(findings) and all(finding.kind == "not-answered" for finding in found):
            said = say("`{name}` has no answers yet: write them, run the cell, and check again.", name=name)
            return Finding("not-written", said)
    elif found and session.stopped is None and session.description.get("empty") and not _any_right(session, findings):
        said = say("`{name}` is not written yet: put your code into it, run the cell, and check again.", name=name)
        return Finding("not-written", said)
    return next((finding for finding in found if finding.kind in UNWRITTEN), None)
