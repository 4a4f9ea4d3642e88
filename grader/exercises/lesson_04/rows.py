"""Tells the mistakes of `masked_softmax` by what each row holds: some depend on a number that a student chose."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import torch
from torch import Tensor

from grader.spec.session import Session
from grader.tolerance import COARSE, FLOAT32

ONE, ALL, BATCH, KEYS, SENTENCES, FULL = (
    "one sequence",
    "nothing hidden",
    "a batch, one mask for all",
    "batch and heads, a mask of the padding",
    "batch and heads, a mask for every sentence",
    "batch and heads, a mask for every head",
)
HIGH, LOW, MIXED, LOUD = "scores near 10000", "scores near -10000", "rows near 10000 and -10000", "large hidden scores"
EMPTY, EMPTY64 = "rows with nothing visible", "rows with nothing visible, float64"
OFFSET = (HIGH, LOW, MIXED)
USUAL = (ONE, ALL, BATCH, KEYS, SENTENCES, FULL)


@dataclasses.dataclass(frozen=True)
class Rows:
    """A case, row by row: what came back, what is right, the scores and the mask, and which rows see nothing."""

    case: str
    value: Tensor
    right: Tensor
    scores: Tensor
    mask: Tensor

    @property
    def empty(self) -> Tensor:
        return ~self.mask.any(-1)

    @property
    def is_right(self) -> Tensor:
        tolerance = COARSE if self.case in OFFSET else FLOAT32
        return tolerance.close(self.value, self.right).all(-1)


def _rows(session: Session) -> list[Rows]:
    """Every case, or none if one of them raised or came back in a wrong shape."""
    found = []
    for case in session.real_cases():
        value, right = session.call(case).value, session.expected(case)[0]
        if not isinstance(value, Tensor) or value.shape != right.shape:
            return []
        scores, mask = case.args["scores"].double(), case.args["mask"].expand(right.shape)
        found.append(Rows(case.name, value.double(), right, scores, mask))
    return found


def _right_but_for_empty(rows: list[Rows]) -> bool:
    return bool(rows) and all(bool((one.is_right | one.empty).all()) for one in rows)


def _wrong_empty(rows: list[Rows]) -> Iterator[Tensor]:
    for one in rows:
        yield from one.value[one.empty & ~one.is_right]


def nan_in_empty_row(session: Session) -> bool:
    rows = _rows(session)
    if not _right_but_for_empty(rows):
        return False
    return any(bool(torch.isnan(row).any()) for row in _wrong_empty(rows)) or gradient_is_nan(session)


def shared_out_in_empty_row(session: Session) -> bool:
    rows = _rows(session)
    wrong = list(_wrong_empty(rows))
    return _right_but_for_empty(rows) and bool(wrong) and all(abs(float(row.sum()) - 1) < 0.01 for row in wrong)


def leaks(session: Session) -> bool:
    """Hidden scores are set to a number, or lowered by one, that is not negative enough, whatever the number is."""
    rows = _rows(session)
    low = [one for one in rows if one.case == LOW and not bool(one.is_right.all())]
    if low and _right_on(rows, *USUAL, HIGH):
        return bool(torch.isfinite(low[0].value).all())
    fills: list[float] = []
    lowered: list[float] = []
    for one in rows:
        if one.case in (EMPTY, EMPTY64):
            continue
        if not bool(((one.value.sum(-1) - 1).abs() < 1e-3).all()):
            return False
        # In a row of softmax, log weight minus score is the same for all keys: so a hidden weight tells its score.
        best = one.value.masked_fill(~one.mask, 0.0).argmax(-1, keepdim=True)
        share, score = one.value.gather(-1, best), one.scores.gather(-1, best)
        told = ~one.mask & (one.value > 1e-12) & (share > 1e-12)
        implied = score + one.value.log() - share.log()
        fills += implied[told].tolist()
        lowered += (implied - one.scores)[told].tolist()
    return _one_number(fills) < -0.5 or _one_number(lowered) < -0.5


def _one_number(numbers: list[float]) -> float:
    """What all of them are, up to rounding; 0 if they differ or there are none."""
    if not numbers or max(numbers) - min(numbers) > 0.05:
        return 0.0
    return numbers[0]


def _right_on(rows: list[Rows], *names: str) -> bool:
    return bool(rows) and all(bool(one.is_right.all()) for one in rows if one.case in names)


def overflows(session: Session) -> bool:
    rows = _rows(session)
    wrong = {one.case for one in rows if not bool(one.is_right.all())}
    return _right_on(rows, *USUAL) and {HIGH, MIXED} <= wrong


def underflows(session: Session) -> bool:
    rows = _rows(session)
    return _right_on(rows, *USUAL, HIGH, LOW) and not _right_on(rows, MIXED)


def too_small_a_share(session: Session) -> bool:
    rows = _rows(session)
    loud = [one for one in rows if one.case == LOUD]
    if not _right_on(rows, *USUAL, LOW, HIGH) or not loud:
        return False
    ratio = loud[0].value.sum(-1, keepdim=True)
    scaled = FLOAT32.close(loud[0].value, loud[0].right * ratio)
    return bool(scaled.all()) and bool((ratio < 0.999).all())


def gradient_is_nan(session: Session) -> bool:
    found = session.call(session.cases[EMPTY], gradients=True).gradients or {}
    gradient = found.get("0")
    return gradient is not None and bool(torch.isnan(gradient).any())
