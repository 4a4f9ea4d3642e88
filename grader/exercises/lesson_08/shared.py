"""What the exercises of lesson 08 share: functions that return a number instead of a tensor."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from torch import Tensor

from grader.spec import compare
from grader.spec.exercise import Case, Finding, Part
from grader.spec.session import Session
from grader.subject import Opaque

LESSON = "08_training"


Number = Callable[..., float]


def number(session: Session, case: Case) -> float | None:
    """The number that came back; None for anything else, a tensor or a bool among them."""
    outcome = session.call(case)
    value = outcome.value if outcome.ok else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def right(session: Session, case: Case) -> float:
    """What the reference gives."""
    assert session.exercise.reference is not None
    return float(session.evaluate(case, session.exercise.reference))


def alike(got: float | None, expected: float) -> bool:
    """To four digits: right answers in float32 differ in the seventh."""
    return got is not None and math.isclose(got, expected, rel_tol=1e-4, abs_tol=1e-9)


def wrong(session: Session, name: str, hide: bool = False) -> Finding | None:
    """Why a case doesn't pass; with `hide` the message leaves out what went in (it would fill a screen)."""
    case = session.cases[name]
    outcome = session.call(case)
    finding = compare.run_error(outcome, session.exercise)
    if finding is not None:
        return finding
    if outcome.value is None:
        return Finding("returns-nothing", f"`{session.exercise.name}` returned None. Does it end with a `return` line?")
    got = number(session, case)
    if got is None:
        said, tip = _in_words(outcome.value), ""
        if isinstance(outcome.value, Tensor):
            tip = " `.item()` takes the number out of a tensor."
        message = f"`{session.exercise.name}` returned {said}, expected a plain number (float).{tip}"
        return Finding("wrong-type", message)
    if not alike(got, right(session, case)):
        kind = "wrong-values" if math.isfinite(got) else "not-finite"
        mine, wanted = compare.apart(float(got), right(session, case))
        told = f" {compare.arguments_in_words(case, session.exercise)}" if not hide else ""
        return Finding(kind, f"`{session.exercise.name}` returned {mine}, expected {wanted} ({name}).{told}")
    return None


def _in_words(value: object) -> str:
    if isinstance(value, Tensor) and value.dim() == 0:
        return "a tensor with one number"
    return f"a value of type {value.type_name}" if isinstance(value, Opaque) else compare.in_words(value)


def numbers(title: str, weight: float, *names: str, hide: bool = False) -> Part:
    """The numbers are right on the named cases."""
    return Part(title, weight, lambda s: next((f for name in names if (f := wrong(s, name, hide))), None))


def told_by(*variants: Number, where: str | None = None) -> Callable[[Session], bool]:
    """Whether all numbers are right or those of one variant, and one at least is the variant's; calls that raised say
    nothing (widths that differ, for one). `where`: a case in which the mistake shows for certain."""

    def recognise(session: Session) -> bool:
        cases = {name: case for name, case in session.cases.items() if session.call(case).ok}
        got = {name: number(session, case) for name, case in cases.items()}
        if any(value is None for value in got.values()):
            return False
        off = [case for name, case in cases.items() if not alike(got[name], right(session, case))]

        def explains(variant: Number) -> bool:
            return all(alike(got[case.name], float(session.evaluate(case, variant))) for case in off)

        shows = bool(off) if where is None else session.cases[where] in off
        return shows and any(explains(variant) for variant in variants)

    return recognise


def unchanged(names: tuple[str, ...], weight: float = 0.5) -> Part:
    """The arguments are as they were; judged once all values are right, since any constant would pass."""

    def judge(session: Session) -> Finding | None:
        for name, case in session.cases.items():
            if session.call(case).changed:
                changed = list(case.args)[session.call(case).changed[0]]
                return Finding(
                    "changes-argument",
                    f"`{session.exercise.name}` changed its argument `{changed}` in place ({name}). Assignments such "
                    f"as `{changed}[...] = ...` and operations that end in `_` do that: make a new tensor instead.",
                )
        if any(wrong(session, name) for name in names):
            return Finding("values-first", "Not judged yet: the values come first.")
        return None

    return Part("leaves its arguments as they were", weight, judge, compares_values=False)


def spoken(row: Sequence[int], eos_idx: int) -> list[int]:
    """A row up to and including its first eos; all of it if there is none."""
    row = [int(token) for token in row]
    return row[: row.index(eos_idx) + 1] if eos_idx in row else row
