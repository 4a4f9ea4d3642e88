"""Names the mistake behind wrong outputs: runs known-wrong variants on the same inputs and compares outputs.

With distinct sizes two mistakes hardly ever give the same numbers. A variant that can't run on distinct sizes (a
forgotten transpose raises there) is compared on the diagnostic cases, where it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from grader.spec.exercise import Case, Mistake
from grader.spec.session import Session
from grader.subject.values import tensors_in
from grader.tolerance import Tolerance

# Looser than in parts: a student's code may reach the same wrong number with other rounding.
CLOSE_TO_VARIANT = Tolerance(relative=1e-3, absolute=1e-4)
RIGHT = Tolerance(relative=1e-4, absolute=1e-5)


def diagnose(session: Session) -> Mistake | None:
    """The first mistake in the exercise's list that explains the outputs of the student's code, or None."""
    mistakes = session.exercise.mistakes
    real = comparable(session)
    if real and all(right(session, case) for case in real):
        return next((m for m in mistakes if m.recognise is not None and m.recognise(session)), None)
    for mistake in mistakes:
        if mistake.recognise is not None and mistake.recognise(session):
            return mistake
        if any(matches(session, variant, real) for variant in mistake.variants):
            return mistake
    return next((m for m in mistakes if any(_where_it_runs(session, variant, real) for variant in m.variants)), None)


def explains(session: Session, variant: Callable[..., Any]) -> bool:
    """Whether the student's outputs are those of `variant`, on the cases that earn points or on diagnostic ones."""
    real = comparable(session)
    return matches(session, variant, real) or _where_it_runs(session, variant, real)


def comparable(session: Session) -> list[Case]:
    """The comparable cases that earn points, wrong ones first."""
    return sorted((case for case in session.real_cases() if case.comparable), key=lambda case: right(session, case))


def _where_it_runs(session: Session, variant: Callable[..., Any], real: list[Case]) -> bool:
    diagnostic = [case for case in session.diagnostic_cases() if case.comparable]
    return matches(session, variant, diagnostic) and not _contradicts(session, variant, real)


def right(session: Session, case: Case) -> bool:
    """Whether the student's code gives the right values on a case. They are compared once."""
    return session.once(("right", case.name), lambda: _is_right(session, case))


def _is_right(session: Session, case: Case) -> bool:
    outcome = session.call(case)
    if not outcome.ok or not session.exercise.outputs:
        return False
    got, right = tensors_in(outcome.value), session.expected(case)
    return len(got) == len(right) and all(_close(g, r, RIGHT) for g, r in zip(got, right, strict=True))


def _contradicts(session: Session, variant: Callable[..., Any], cases: list[Case]) -> bool:
    """Whether the student's code gives other wrong outputs than `variant` on one of these cases."""
    for case in cases:
        outcome = session.call(case)
        if outcome.ok and not right(session, case) and not matches(session, variant, [case]):
            return True
    return False


def matches(session: Session, variant: Callable[..., Any], cases: list[Case]) -> bool:
    """Whether every output on every case is either right or the variant's, and at least one is the variant's.

    Cases on which the student's code or the variant raises don't count. A case on which the student's code is right
    and the variant is not says that it is another mistake: where sizes coincide, many mistakes give the same numbers.
    """
    seen = False
    for case in cases:
        outcome = session.call(case)
        if not outcome.ok:
            continue
        wrong = _variant_outputs(session, variant, case)
        if wrong is None:
            continue
        expected = session.expected(case) if session.exercise.outputs else []
        verdict = _agree(tensors_in(outcome.value), wrong, expected)
        if verdict is None:
            return False
        if not verdict and not all(_close(w, e, CLOSE_TO_VARIANT) for w, e in zip(wrong, expected, strict=False)):
            return False
        seen = seen or verdict
    return seen


def _variant_outputs(session: Session, variant: Callable[..., Any], case: Case) -> list[Tensor] | None:
    try:
        with torch.no_grad():
            return tensors_in(session.evaluate(case, variant))
    except (RuntimeError, IndexError, ValueError, TypeError, AssertionError):
        return None  # it can't run on these sizes; the diagnostic cases have others


def _agree(got: list[Tensor], wrong: list[Tensor], right: list[Tensor]) -> bool | None:
    """How outputs compare: True if they are the variant's outputs `wrong`, False if they are `right`, None if
    neither."""
    if not got or len(got) != len(wrong):
        return None
    verdict = False
    for i, (student, mistaken) in enumerate(zip(got, wrong, strict=True)):
        if len(right) == len(got) and _close(student, right[i], RIGHT):
            continue
        if not _close(student, mistaken, CLOSE_TO_VARIANT):
            return None
        # An output that the mistake leaves right is no evidence, even if the student's is slightly off.
        verdict = verdict or len(right) != len(got) or not _close(mistaken, right[i], CLOSE_TO_VARIANT)
    return verdict


def _close(left: Tensor, right: Tensor, tolerance: Tolerance) -> bool:
    if left.shape != right.shape:
        return False
    if tolerance.all_close(left, right):
        return True
    both_nan = torch.isnan(left) & torch.isnan(right)
    return bool(both_nan.any()) and bool((tolerance.close(left, right) | both_nan).all())
