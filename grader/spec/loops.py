"""Tells a Python loop from work on whole tensors, by counting the operators that torch runs at two lengths of an axis.

A loop over features or sequences is no matter: their number is the same in both cases.
"""

from __future__ import annotations

from grader.spec.draw import Draw
from grader.spec.exercise import Case, Finding, Part, shape_of
from grader.spec.parts import inspect_call
from grader.spec.session import Session
from grader.subject import Request
from grader.tolerance import FLOAT32

SHORT, LONG = 6, 30
NAMES = ("a short one, counted", "a long one, counted")


def two_lengths(draw: Draw, inputs: dict[str, str], axis: str) -> list[Case]:
    """The same sizes twice, with no leading axes, but for `axis`."""
    sizes = draw.sizes(*(name for axes in inputs.values() for name in axes.split() if name not in ("...", axis)))
    cases = []
    for name, length in zip(NAMES, (SHORT, LONG), strict=True):
        these = {**sizes, axis: length}
        args = {arg: draw.normal(shape_of(axes, these)) for arg, axes in inputs.items()}
        cases.append(Case(name, args, these, comparable=False))
    return cases


def counted(session: Session) -> tuple[int, int] | None:
    """How many operators ran on the short case and on the long one; None unless both came to an end."""
    asked = (tuple(session.cases[name].args.values()) for name in NAMES)
    outcomes = [session.ask(Request("call", session.exercise.name, args, watch=True)) for args in asked]
    return (outcomes[0].operations, outcomes[1].operations) if all(o.ok for o in outcomes) else None


def loops(session: Session) -> bool:
    """Whether the work grows with the axis: by at least one operator for every four of its entries."""
    found = counted(session)
    return found is not None and found[1] - found[0] >= (LONG - SHORT) / 4


def without_loop(what: str, weight: float, after: str = "one sequence") -> Part:
    """No Python loop over `what`, such as "tokens"; asked once the values are right."""

    def judge(session: Session) -> Finding | None:
        finding = inspect_call(session, session.cases[after], FLOAT32)
        if finding is not None:
            return Finding("values-first", "Not judged yet: the values come first.")
        found = counted(session)
        if found is None:
            return Finding("values-first", f"Not judged: it does not run with {SHORT} and with {LONG} {what}.")
        if not loops(session):
            return None
        return Finding(
            "python-loop",
            f"Your code asks torch for {found[0]} operations with {SHORT} {what} and for {found[1]} with {LONG}: "
            f"it walks over the {what} in a Python loop. Let one operation handle them all.",
        )

    return Part(f"does without a Python loop over {what}", weight, judge, compares_values=False)
