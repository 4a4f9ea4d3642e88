"""Names the mistake behind wrong outputs: the known-wrong variants run on the same inputs, and outputs are compared.

With all sizes distinct hardly two mistakes give the same numbers. Where a variant can't run on distinct sizes (a
forgotten transpose raises there), the student's code is tried on the diagnostic cases, where both run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from grader.compare import Tolerance
from grader.session import Session
from grader.spec import Case, Mistake
from grader.subject.values import tensors_in

# Looser than a part's: a student's way to the same wrong number may round differently.
ALIKE = Tolerance(relative=1e-3, absolute=1e-4)
RIGHT = Tolerance(relative=1e-4, absolute=1e-5)


def diagnose(session: Session) -> Mistake | None:
    """The first mistake of the exercise's list that explains what the student's code gave, or None."""
    mistakes = session.exercise.mistakes
    for mistake in mistakes:
        if mistake.recognise is not None and mistake.recognise(session):
            return mistake
        if _explains(session, mistake, session.real_cases()):
            return mistake
    for mistake in mistakes:
        if _explains(session, mistake, session.diagnostic_cases()):
            return mistake
    return None


def _explains(session: Session, mistake: Mistake, cases: list[Case]) -> bool:
    usable = [case for case in cases if case.comparable]
    return any(matches(session, variant, usable) for variant in mistake.variants)


def matches(session: Session, variant: Callable[..., Any], cases: list[Case]) -> bool:
    """Whether every output on every case is either right or what `variant` gives, and one at least is the variant's.

    A case on which either of them raises says nothing.
    """
    seen = False
    for case in cases:
        outcome = session.call(case)
        if not outcome.ok:
            continue
        wrong = _variant_outputs(session, variant, case)
        if wrong is None:
            continue
        verdict = _agree(tensors_in(outcome.value), wrong, session.expected(case) if session.exercise.outputs else [])
        if verdict is None:
            return False
        seen = seen or verdict
    return seen


def _variant_outputs(session: Session, variant: Callable[..., Any], case: Case) -> list[Tensor] | None:
    try:
        with torch.no_grad():
            return tensors_in(session.evaluate(case, variant))
    except (RuntimeError, IndexError, ValueError, TypeError):
        return None  # it can't run on these sizes: that is what diagnostic cases are for


def _agree(got: list[Tensor], wrong: list[Tensor], right: list[Tensor]) -> bool | None:
    """True: the variant's outputs; False: right ones; None: neither."""
    if not got or len(got) != len(wrong):
        return None
    verdict = False
    for i, (mine, theirs) in enumerate(zip(got, wrong, strict=True)):
        if len(right) == len(got) and _alike(mine, right[i], RIGHT):
            continue
        if not _alike(mine, theirs, ALIKE):
            return None
        verdict = True
    return verdict


def _alike(left: Tensor, right: Tensor, tolerance: Tolerance) -> bool:
    if left.shape != right.shape:
        return False
    both_nan = torch.isnan(left) & torch.isnan(right)
    return bool((tolerance.close(left, right) | both_nan).all())
