"""What the exercises of lesson 01 share: their cases, their parts, and mistakes that any of them can have."""

from __future__ import annotations

from torch import Tensor

from grader.spec import compare, parts
from grader.spec.cases import Axes, Make, normal_entries, primitive_axes, standard, tensors
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Part
from grader.spec.session import Session
from grader.spec.words import Words
from grader.subject.values import tensors_in
from grader.tolerance import FLOAT32

mistake = Words(__file__)

X = {"x": "... T E"}
OTHER_SIZES = "one sequence of other sizes"
Pair = tuple[Tensor, Tensor]
Triple = tuple[Tensor, Tensor, Tensor]


def cases(draw: Draw, inputs: Axes, make: Make = normal_entries) -> list[Case]:
    """The standard cases, drawn by `make`, and one more sequence with other sizes: a size written into the code fits
    only one of them."""
    first, *rest = standard(draw, inputs, make)
    names = primitive_axes(inputs)
    turned = {name: first.sizes[names[i - 1]] for i, name in enumerate(names)}
    return [first, tensors(draw, OTHER_SIZES, inputs, {**first.sizes, **turned}, (), make), *rest]


def usual(title: str, weight: float, leading: float = 1) -> tuple[Part, ...]:
    """The parts of `grader.spec.parts.usual`, with the values of `OTHER_SIZES` among those of one sequence. `title` and
    `weight` are those of these values; `leading` is the weight of the values with leading axes."""
    shape, _values, *rest = parts.usual(title, weight, leading)
    return (shape, parts.values(title, weight, "one sequence", OTHER_SIZES), *rest)


def _right(session: Session, cases: list[Case]) -> bool:
    return all(parts.inspect_call(session, case, FLOAT32) is None for case in cases)


def _alone(session: Session) -> list[Case]:
    return [session.cases[name] for name in ("one sequence", OTHER_SIZES) if name in session.cases]


def _shapes(session: Session, case: Case) -> list[tuple[int, ...]]:
    return [tuple(tensor.shape) for tensor in tensors_in(session.call(case).value)]


def _unpacked(session: Session) -> bool:
    """Whether a shape was unpacked into too many or too few names, which `grader.spec.accidents` explains."""
    raised = [session.call(case).raised for case in session.real_cases()]
    return any(error is not None and "values to unpack" in error.message for error in raised)


def two_axes_only(session: Session) -> bool:
    """Whether one sequence of any size is right, and with leading axes every call raises or returns a wrong shape."""
    if not _right(session, _alone(session)) or _unpacked(session):
        return False
    batched = [case for case in session.real_cases() if case.leading and case.comparable]
    if all(_shapes(session, case) == _shapes(session, session.cases["one sequence"]) for case in batched):
        return False  # it returns the same whatever it gets
    findings = [parts.inspect_call(session, case, None) for case in batched]
    return all(finding is not None and finding.kind in ("raised", "wrong-shape") for finding in findings)


def _batch_only(session: Session) -> bool:
    """Whether every batch is right, whatever its sizes, but not one sequence."""
    batches = [case for case in session.real_cases() if len(case.leading) == 1 and case.comparable]
    return _right(session, batches) and not _right(session, _alone(session)[:1]) and not _unpacked(session)


TWO_AXES_ONLY = mistake("two-axes-only", recognise=two_axes_only)

BATCH_ONLY = mistake("batch-only", recognise=_batch_only)


def _overflows(session: Session) -> bool:
    """Whether small entries give right values, and large ones NaN or inf."""
    small = (session.cases[name] for name in ("one sequence", OTHER_SIZES))
    if any(parts.inspect_call(session, case, FLOAT32) is not None for case in small):
        return False
    value = session.call(session.cases["entries up to 50"]).value
    return any(compare.not_finite(tensor, None, "", "") is not None for tensor in tensors_in(value))


OVERFLOW = mistake("overflow", recognise=_overflows)
