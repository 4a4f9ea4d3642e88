"""Recognises a Python loop by counting the operators that torch runs at two lengths of an axis.

Loops over other axes don't matter: their sizes are the same in both cases.
"""

from __future__ import annotations

from grader.sentences import say
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Finding, Part, not_judged, shape_of
from grader.spec.parts import inspect_call
from grader.spec.session import Session
from grader.subject import Request
from grader.tolerance import FLOAT32

SHORT, LONG = 6, 30
NAMES = ("a short one, counted", "a long one, counted")


def two_lengths(draw: Draw, inputs: dict[str, str], axis: str) -> list[Case]:
    """Two cases, short and long, that differ only in the length of `axis` and have no leading axes."""
    sizes = draw.sizes(*(name for axes in inputs.values() for name in axes.split() if name not in ("...", axis)))
    cases = []
    for name, length in zip(NAMES, (SHORT, LONG), strict=True):
        case_sizes = {**sizes, axis: length}
        args = {arg: draw.normal(shape_of(axes, case_sizes)) for arg, axes in inputs.items()}
        cases.append(Case(name, args, case_sizes, comparable=False))
    return cases


def counted(session: Session) -> tuple[int, int] | None:
    """How many operators torch ran on the short and on the long case; None unless both calls ended without an error."""
    argument_lists = (tuple(session.cases[name].args.values()) for name in NAMES)
    outcomes = [session.ask(Request("call", session.exercise.name, args, watch=True)) for args in argument_lists]
    return (outcomes[0].operations, outcomes[1].operations) if all(o.ok for o in outcomes) else None


def loops(session: Session) -> bool:
    """Whether the work grows with the axis, by at least one operator for every four entries."""
    counts = counted(session)
    return counts is not None and counts[1] - counts[0] >= (LONG - SHORT) / 4


def without_loop(what: str, weight: float, after: str = "one sequence") -> Part:
    """The part that passes if there is no Python loop over `what`, such as "tokens"; judged once the values on the case
    `after` are right."""

    def judge(session: Session) -> Finding | None:
        finding = inspect_call(session, session.cases[after], FLOAT32)
        if finding is not None:
            return not_judged("values-first")
        counts = counted(session)
        if counts is None:
            return not_judged("runs-longer-first")
        if not loops(session):
            return None
        said = say(
            "Your code asks torch for {few} operations with {short} {what}, but for {many} with {long} {what}, so it "
            "goes through the {what} in a Python loop. Let one operation handle them all.",
            what=say(what),
            few=counts[0],
            short=SHORT,
            many=counts[1],
            long=LONG,
        )
        return Finding("python-loop", said)

    title = say("does without a Python loop over {what}", what=say(what))
    return Part(title, weight, judge, compares_values=False)
