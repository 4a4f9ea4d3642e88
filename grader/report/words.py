"""The words that a report and a student's feedback share. Without torch: the teacher's commands import it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol, TypeVar

# Kinds of findings that say that there is nothing to judge yet.
UNWRITTEN = frozenset({"not-written", "missing"})
NOT_JUDGED = "not judged yet"
MARKS = {"passed": "ok  ", "failed": "FAIL"}


class JudgedPart(Protocol):
    """What a part of a learner's report and a part of a judge's result have in common."""

    @property
    def passed(self) -> bool: ...
    @property
    def judged(self) -> bool: ...
    @property
    def kind(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def name(self) -> str: ...


P = TypeVar("P", bound=JudgedPart)


def state_of(passed: bool, judged: bool) -> str:
    """The state of a part: "passed", "failed" or "not judged yet"."""
    return "passed" if passed else "failed" if judged else NOT_JUDGED


def first_failure(parts: Sequence[P]) -> P | None:
    """The first part that failed; where nothing has failed yet, the first that did not pass; None if all passed."""
    waiting = [part for part in parts if not part.passed]
    return next((part for part in waiting if part.judged), waiting[0] if waiting else None)


def unwritten(parts: Sequence[P]) -> P | None:
    """The part that says that the code is not written or not defined, if that is all that there is to say; else
    None."""
    first = first_failure(parts)
    if first is None or first.kind not in UNWRITTEN:
        return None
    return None if any(part.passed or (part.judged and part is not first) for part in parts) else first


def grouped(parts: Sequence[P]) -> list[list[P]]:
    """The parts in groups: each by itself, but neighbours that wait for the same thing together."""
    groups: list[list[P]] = []
    for part in parts:
        waits = not part.passed and not part.judged
        if waits and groups and not groups[-1][0].judged and waits_for(groups[-1][0]) == waits_for(part):
            groups[-1].append(part)
        else:
            groups.append([part])
    return groups


def row(parts: Sequence[P]) -> str:
    """A line for a part, or for several that wait for the same thing: the state and the names."""
    first, names = parts[0], "; ".join(part.name for part in parts)
    state = state_of(first.passed, first.judged)
    return f"        {state}, {waits_for(first)}: {names}" if state == NOT_JUDGED else f"  {MARKS[state]}  {names}"


def waits_for(part: JudgedPart) -> str:
    """What a part that is not judged yet waits for: "the values have to be right first"."""
    if part.kind == "not-answered":
        return "there is no answer"
    return re.sub(r"^Not judged( yet)?: ", "", part.message).rstrip(".")


def had_to_come(part: JudgedPart) -> str:
    """What a part of a mark that is final would have waited for: "the values had to be right first"."""
    return re.sub(r"\b(?:has|have) to\b", "had to", waits_for(part))


def looks_like(mistake: str | None, symptom: str) -> str:
    """The sentence that names a mistake by its id: as it is on a terminal, in backquotes for a page."""
    return f"It looks like {mistake}: {symptom}"


def first_fix(exercise: str, first: str, why: str) -> str:
    """The sentence that says that the earlier exercise `first` comes before `exercise`; `why` it does continues the
    name."""
    steps = {"is not defined": "Run its cell, then check again.", "is not written yet": "Write it first."}
    return f"`{exercise}` calls `{first}`, which {why}. {steps.get(why, f'First fix `{first}`.')}"
