"""What a right answer doesn't notice: that an input isn't contiguous, and that there was a call before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from grader.report import PartReport
from grader.sentences import say, together
from grader.spec import compare
from grader.spec.exercise import Case, Finding
from grader.spec.parts import changed_in_place
from grader.spec.session import Conditions, Session
from grader.subject import Outcome
from grader.subject.values import same, tensors_in
from grader.tolerance import FLOAT32

NOT_CONTIGUOUS, LATER_CALL, CHANGES_EARLIER = "not-contiguous", "later-call", "changes-earlier"
KINDS = (NOT_CONTIGUOUS, LATER_CALL, CHANGES_EARLIER)


class Noticed(NamedTuple):
    """A part that is told only where it fails: its name, its weight, and what was found."""

    name: str
    weight: float
    finding: Finding


def noticed(session: Session, judge: Callable[[Session], PartReport | None]) -> Noticed | None:
    """Which condition of its calls an answer notices that is right without them; None if neither alone makes a part
    fail. `judge` gives the first part that fails in a check."""
    failed = judge(session.under(Conditions(strided=True)))
    if failed is not None:
        return Noticed("takes inputs that aren't contiguous", 0.5, _not_contiguous(session, failed))
    failed = judge(session.under(Conditions(reused=True)))
    if failed is not None:
        return Noticed("gives the right result on a later call too", 1, _later_in_a_module(session, failed))
    return None


def _not_contiguous(session: Session, failed: PartReport) -> Finding:
    return Finding(
        NOT_CONTIGUOUS,
        together(
            say("`{name}` is right where its inputs are contiguous in memory.", name=session.exercise.name),
            say(
                "With the same numbers in tensors that aren't, as after a transpose or a slice, the part “{part}” "
                "fails: {message}",
                part=say(failed.name),
                message=failed.message,
            ),
        ),
        hints=(
            "Which lines depend on how a tensor lies in memory, and not only on its shape and its numbers?",
            "`.view` needs a memory layout that fits the new shape, and `.as_strided` and `.data_ptr` read memory "
            "directly. `.reshape` copies where it has to, and so does `.contiguous()`.",
        ),
    )


def _later_in_a_module(session: Session, failed: PartReport) -> Finding:
    return Finding(
        LATER_CALL,
        say(
            "A new `{name}` gives the right results. In one that was called before, with other inputs, the part "
            "“{part}” fails: {message}",
            name=session.exercise.name,
            part=say(failed.name),
            message=failed.message,
        ),
        hints=_WHAT_IS_KEPT,
    )


_WHAT_IS_KEPT = (
    "What does your code keep from one call to the next: an attribute of `self`, a name outside of the function, or a "
    "default argument that is a list, a dict or a tensor?",
    "Whatever depends on the inputs has to be made anew in every call, or to be looked up by all that it depends on.",
)


def after_right_answers(session: Session) -> Noticed | None:
    """What goes wrong in two more calls, one with arguments that an answer could confuse with those of an earlier call,
    and one with the same arguments; or that a call has written into a tensor of others."""
    case = _case(session)
    found = None
    if case is not None:
        other = _other_arguments(session, case) if session.exercise.reference is not None else case
        found = _compared(session, case, other) or _compared(session, case, case)
        if found is None and not tensors_in(list(case.args.values())):  # now the results' shapes agree
            found = _compared(session, case, case)
    return found or _changes_tensors(session)


def _case(session: Session) -> Case | None:
    """A case that was right and in which the numbers matter, with as many arguments as any; a module has been called
    with it last."""
    called = [case for case, outcome in session.called() if outcome.ok and case.comparable]
    chosen = max(called, key=lambda case: len(case.args), default=None)  # the first of these
    latest = session.latest
    if chosen is None or (latest is not None and latest.comparable and len(latest.args) == len(chosen.args)):
        return latest if latest is not None and latest.comparable else None
    if chosen.setup is not None:
        session.call_anew(chosen)
    return chosen


def _other_arguments(session: Session, case: Case) -> Case:
    """The rows of a case in another order, so that shapes stay and numbers change. Where there are no tensors, the
    first argument of this case and the others of another one: it agrees with each of them in part."""
    if tensors_in(list(case.args.values())):
        name = say("{case}, rows in another order", case=say(case.name))
        return replace(case, name=name, args={key: _rolled(value) for key, value in case.args.items()})
    first = next(iter(case.args), None)
    others = [other for other, _ in session.called() if other.args.keys() == case.args.keys() and other is not case]
    if first is None or len(case.args) < 2 or not others:
        return case
    other = max(others, key=lambda other: sum(other.args[key] != case.args[key] for key in case.args))
    name = say("{one} and {other}, mixed", one=say(case.name), other=say(other.name))
    return replace(case, name=name, args={**other.args, first: case.args[first]})


def _rolled(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return type(value)(map(_rolled, value))
    return value.roll(1, 0) if isinstance(value, Tensor) and value.dim() else value


def _compared(session: Session, first: Case, case: Case) -> Noticed | None:
    """What is wrong with another call after that on the case `first`."""
    outcome = session.call_again(case)
    finding = compare.run_error(outcome, session.exercise) or _wrong(session, first, case, outcome)
    if finding is None or outcome.status in ("waited", "not-run"):
        return None
    kept = case is not first and same(outcome.value, session.call(first).value)
    template = (
        "The first result of `{name}` was right, and a later one, with the same arguments, was wrong."
        if case is first
        else "The first result of `{name}` was right, and a later one, with other arguments, was wrong."
    )
    said = say("It returned the result of the earlier call.") if kept else finding.message
    return Noticed(
        "gives the right result on a later call too",
        1,
        Finding(
            LATER_CALL,
            together(say(template, name=session.exercise.name), said),
            None if kept else finding.got,
            None if kept else finding.expected,
            _WHAT_IS_KEPT,
        ),
    )


def _wrong(session: Session, first: Case, case: Case, outcome: Outcome) -> Finding | None:
    exercise, right = session.exercise, session.call(first).value
    if exercise.reference is None or not exercise.outputs:
        if exercise.reference is not None and case is not first:
            right = session.evaluate(case, exercise.reference)
        if _close(outcome.value, right):
            return None
        return _returned(outcome)
    values, right = tensors_in(outcome.value), session.expected(case)
    if [value.shape for value in values] != [value.shape for value in right]:
        return _returned(outcome)
    return compare.values_close(values, right, exercise, case, FLOAT32)


def _returned(outcome: Outcome) -> Finding:
    return Finding(LATER_CALL, say("It returned {what}.", what=compare.in_words(outcome.value)))


def _close(got: Any, right: Any) -> bool:
    """Whether two values that may hold numbers and tensors are the same but for rounding."""
    if type(got) is type(right) is int:
        return bool(got == right)
    if isinstance(got, int | float | Tensor) and isinstance(right, int | float | Tensor):
        got, right = torch.as_tensor(got), torch.as_tensor(right)
        return got.shape == right.shape and FLOAT32.all_close(got, right)
    if isinstance(got, tuple | list) and isinstance(right, tuple | list):
        return len(got) == len(right) and all(map(_close, got, right))
    return same(got, right)


def _changes_tensors(session: Session) -> Noticed | None:
    """What is found where a call wrote into its arguments, or into what an earlier one took or gave."""
    for case, outcome in session.called():
        if outcome.changed:
            finding = changed_in_place(session, list(case.args)[outcome.changed[0]], case.name)
            return Noticed("leaves its arguments as they were", 0.5, finding)
    if not session.changed_earlier:
        return None
    finding = Finding(
        CHANGES_EARLIER,
        say(
            "A call of `{name}` changed a tensor that an earlier call had been given or had returned. Whoever still "
            "uses that tensor finds other numbers in it.",
            name=session.exercise.name,
        ),
        hints=_WHAT_IS_KEPT,
    )
    return Noticed("leaves what earlier calls took and gave as it was", 0.5, finding)
