"""What the exercises of lesson 08 share: numbers that a call returns in place of a tensor, and rows up to their eos."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from torch import Tensor

from grader.sentences import say, together
from grader.spec import compare
from grader.spec.exercise import Case, Finding, Part
from grader.spec.session import Session

Number = Callable[..., float]


def number(session: Session, case: Case) -> float | None:
    """The number that the call of a case returned; None if it raised or returned anything else, such as a tensor or a
    bool."""
    outcome = session.call(case)
    return plain_number(outcome.value) if outcome.ok else None


def plain_number(value: object) -> float | None:
    """A number as it is, None for anything else. A whole number too large for a float, such as 2 ** 5000, is infinite:
    Python refuses to compare it with one and to write it out."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return value if isinstance(value, float) or value.bit_length() < 1000 else math.inf


def right(session: Session, case: Case) -> float:
    """The number that the reference gives for a case."""
    assert session.exercise.reference is not None
    return float(session.evaluate(case, session.exercise.reference))


def close(got: float | None, expected: float) -> bool:
    """Whether both agree to four digits: right answers in float32 differ in the seventh. False if `got` is None."""
    return got is not None and math.isclose(got, expected, rel_tol=1e-4, abs_tol=1e-9)


def wrong(session: Session, name: str, hide: bool = False) -> Finding | None:
    """Why the case `name` doesn't pass, None if it does. With `hide` the message leaves out the arguments, which would
    fill a screen."""
    case = session.cases[name]
    outcome = session.call(case)
    finding = compare.no_value(outcome, session.exercise)
    if finding is not None:
        return finding
    got = number(session, case)
    if got is None:
        return no_plain_number(outcome.value, session.exercise.name)
    if not close(got, right(session, case)):
        kind = "wrong-values" if math.isfinite(got) else "not-finite"
        got_words, expected_words = compare.apart(float(got), right(session, case))
        arguments = compare.arguments_in_words(case, session.exercise) if not hide else ""
        said = say(
            "`{name}` returned {got}, expected {expected} ({case}).",
            name=session.exercise.name,
            got=got_words,
            expected=expected_words,
            case=say(name),
        )
        return Finding(kind, together(said, arguments))
    return None


def no_plain_number(value: object, name: str) -> Finding:
    """The finding where the function `name` returned something else than a plain number."""
    what = compare.number_in_words(value)
    said = say("`{name}` returned {what}, expected a plain number (float).", name=name, what=what)
    tip = say("`.item()` takes the number out of a tensor.") if isinstance(value, Tensor) else ""
    return Finding("wrong-type", together(said, tip))


def numbers(title: str, weight: float, *names: str, hide: bool = False) -> Part:
    """A part that passes if the numbers are right in the named cases. With `hide` its messages leave out the
    arguments."""
    return Part(title, weight, lambda s: next((f for name in names if (f := wrong(s, name, hide))), None))


def matches_any(*variants: Number, where: str | None = None) -> Callable[[Session], bool]:
    """A recogniser that says whether all numbers are right or those of one variant, and at least one is the variant's.
    Calls that raised are left out (they may not take widths that differ). `where`: a case in which it has to show."""

    def recognise(session: Session) -> bool:
        cases = {name: case for name, case in session.cases.items() if session.call(case).ok}
        got = {name: number(session, case) for name, case in cases.items()}
        if any(value is None for value in got.values()):
            return False
        wrong_cases = [case for name, case in cases.items() if not close(got[name], right(session, case))]

        def explains(variant: Number) -> bool:
            return all(close(got[case.name], float(session.evaluate(case, variant))) for case in wrong_cases)

        shows = bool(wrong_cases) if where is None else session.cases[where] in wrong_cases
        return shows and any(explains(variant) for variant in variants)

    return recognise


def spoken(row: Sequence[int], eos_idx: int) -> list[int]:
    """A row up to and including its first eos; all of it if there is none."""
    row = [int(token) for token in row]
    return row[: row.index(eos_idx) + 1] if eos_idx in row else row
