"""`masked_softmax`: weights for the visible keys only, zeros where nothing is visible."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_04.shared import MASK_AS_CONDITION
from grader.spec import parts
from grader.spec.cases import LENGTH_ONE, length_one
from grader.spec.diagnose import explains, right
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Finding, Part, not_judged
from grader.spec.session import Session
from grader.spec.spec import Spec, When, by_id
from grader.tolerance import COARSE, FLOAT32

spec = Spec(__name__)

SCORES = {"scores": "... Tq Tk"}
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


# --- recognised by their rows: some mistakes depend on a number that a student chose ----------------------------------


@dataclasses.dataclass(frozen=True)
class Rows:
    """One case; all tensors are (…, Tq, Tk), in float64 but for the mask."""

    name: str
    value: Tensor  # the returned rows
    right: Tensor  # the right ones
    scores: Tensor
    mask: Tensor  # bool, True where a key is visible

    @property
    def empty(self) -> Tensor:
        """Which rows show nothing: bool, (…, Tq)."""
        return ~self.mask.any(-1)

    @property
    def is_right(self) -> Tensor:
        """Which returned rows are right: bool, (…, Tq)."""
        tolerance = COARSE if self.name in OFFSET else FLOAT32
        return tolerance.close(self.value, self.right).all(-1)


def _rows(session: Session) -> list[Rows]:
    """The rows of every case that earns points; none at all if a call raised or returned a wrong shape."""
    rows = []
    for case in session.real_cases():
        value, right = session.call(case).value, session.expected(case)[0]
        if not isinstance(value, Tensor) or value.shape != right.shape:
            return []
        scores, mask = case.args["scores"].double(), case.args["mask"].expand(right.shape)
        rows.append(Rows(case.name, value.double(), right, scores, mask))
    return rows


def _right_but_for_empty(rows: list[Rows]) -> bool:
    return bool(rows) and all(bool((case.is_right | case.empty).all()) for case in rows)


def _wrong_empty(rows: list[Rows]) -> Iterator[Tensor]:
    for case in rows:
        yield from case.value[case.empty & ~case.is_right]


def nan_in_empty_row(session: Session) -> bool:
    """Whether all is right but rows with nothing visible, and these hold NaN, or their gradient does."""
    rows = _rows(session)
    if not _right_but_for_empty(rows):
        return False
    return any(bool(torch.isnan(row).any()) for row in _wrong_empty(rows)) or gradient_is_nan(session)


def shared_out_in_empty_row(session: Session) -> bool:
    """Whether all is right but rows with nothing visible, and these hold weights that sum to one."""
    rows = _rows(session)
    wrong = list(_wrong_empty(rows))
    return _right_but_for_empty(rows) and bool(wrong) and all(abs(float(row.sum()) - 1) < 0.01 for row in wrong)


def leaks(session: Session) -> bool:
    """Whether hidden scores are set to some number, or lowered by one, that is not negative enough."""
    rows = _rows(session)
    low = [case for case in rows if case.name == LOW and not bool(case.is_right.all())]
    if low and _right_on(rows, *USUAL, HIGH):
        return bool(torch.isfinite(low[0].value).all())
    fills: list[float] = []
    lowered: list[float] = []
    for case in rows:
        if case.name in (EMPTY, EMPTY64):
            continue
        if not bool(((case.value.sum(-1) - 1).abs() < 1e-3).all()):
            return False
        # In a row of softmax, log weight minus score is the same for all keys, so a hidden weight reveals its score.
        best = case.value.masked_fill(~case.mask, 0.0).argmax(-1, keepdim=True)
        share, score = case.value.gather(-1, best), case.scores.gather(-1, best)
        known = ~case.mask & (case.value > 1e-12) & (share > 1e-12)
        implied = score + case.value.log() - share.log()
        fills += implied[known].tolist()
        lowered += (implied - case.scores)[known].tolist()
    return _one_number(fills) < -0.5 or _one_number(lowered) < -0.5


def _one_number(numbers: list[float]) -> float:
    """The number that all are equal to, up to rounding; 0 if they differ or there are none."""
    if not numbers or max(numbers) - min(numbers) > 0.05:
        return 0.0
    return numbers[0]


def _right_on(rows: list[Rows], *names: str) -> bool:
    return bool(rows) and all(bool(case.is_right.all()) for case in rows if case.name in names)


def overflows(session: Session) -> bool:
    """Whether the usual cases are right, and scores near 10000 give wrong rows, both alone and beside scores near
    -10000."""
    rows = _rows(session)
    wrong = {case.name for case in rows if not bool(case.is_right.all())}
    return _right_on(rows, *USUAL) and {HIGH, MIXED} <= wrong


def underflows(session: Session) -> bool:
    """Whether rows near 10000 and rows near -10000 are right apart, and some are wrong side by side."""
    rows = _rows(session)
    return _right_on(rows, *USUAL, HIGH, LOW) and not _right_on(rows, MIXED)


def too_small_a_share(session: Session) -> bool:
    """Whether large hidden scores make the visible weights sum to less than one, and all else about them is right."""
    rows = _rows(session)
    loud = [case for case in rows if case.name == LOUD]
    if not _right_on(rows, *USUAL, LOW, HIGH) or not loud:
        return False
    ratio = loud[0].value.sum(-1, keepdim=True)
    scaled = FLOAT32.close(loud[0].value, loud[0].right * ratio)
    return bool(scaled.all()) and bool((ratio < 0.999).all())


def gradient_is_nan(session: Session) -> bool:
    """Whether the gradient of the scores holds NaN if some rows show nothing."""
    gradients = session.call(session.cases[EMPTY], gradients=True).gradients or {}
    gradient = gradients.get("0")
    return gradient is not None and bool(torch.isnan(gradient).any())


# --- reference and cases ----------------------------------------------------------------------------------------------


def reference(scores: Tensor, mask: Tensor) -> Tensor:
    """The weights, (…, Tq, Tk), by PyTorch's own masked attention with the identity as keys and values."""
    identity = torch.eye(scores.shape[-1], dtype=scores.dtype).expand(*scores.shape[:-2], -1, -1)
    return F.scaled_dot_product_attention(scores, identity, identity, attn_mask=mask.expand(scores.shape), scale=1.0)


def _cases(draw: Draw) -> list[Case]:
    first = draw.integer(2, 4)
    sizes = draw.sizes("Tq", "Tk", B=first, H=5 - first)
    matrix, batch = (sizes["Tq"], sizes["Tk"]), (sizes["B"],)
    heads = (*batch, sizes["H"])
    alternating = torch.tensor([10000.0, -10000.0]).repeat(matrix[0])[: matrix[0]].unsqueeze(-1)

    def case(name: str, leading: tuple[int, ...], mask: Tensor, offset: Tensor | float = 0.0) -> Case:
        scores = (2 * draw.normal((*leading, *matrix))).clamp(-10, 10)
        scores[..., :2, :2] = 0.0  # a score may be exactly zero
        scores = (scores + offset).to(torch.float64 if "float64" in name else torch.float32)
        # Offsets cost digits and can hide a fill: mistakes are recognised there by rows, not by variants.
        return Case(name, {"scores": scores, "mask": mask}, sizes, leading, comparable=name not in OFFSET)

    return [
        case(ONE, (), _mask(draw, *matrix)),
        case(ALL, (), torch.ones(matrix, dtype=torch.bool)),
        case(BATCH, batch, _mask(draw, *matrix)),
        case(KEYS, heads, _mask(draw, *batch, 1, 1, matrix[1])),
        case(SENTENCES, heads, _mask(draw, *batch, 1, *matrix)),
        case(FULL, heads, _mask(draw, *heads, *matrix)),
        case("float64", batch, _mask(draw, *matrix)),
        case(HIGH, batch, _mask(draw, *matrix), 10000.0),
        case(LOW, batch, _mask(draw, *matrix), -10000.0),
        case(MIXED, batch, _mask(draw, *matrix), alternating),
        Case(LOUD, _loud(draw, _mask(draw, *matrix)), sizes),
        case(EMPTY, heads, _empty(draw, *batch, 1, *matrix)),
        case(EMPTY64, heads, _empty(draw, *batch, 1, *matrix)),
        *(replace(one, args={**one.args, "mask": _mask_of_one(draw, one)}) for one in length_one(draw, SCORES, sizes)),
    ]


def _mask(draw: Draw, *shape: int) -> Tensor:
    """A random bool mask of this shape, True where a key is visible, with something visible and something hidden in
    every row."""
    mask = draw.uniform(shape) < 0.5
    mask[..., 0], mask[..., 1] = True, False
    return mask


def _mask_of_one(draw: Draw, case: Case) -> Tensor:
    """A mask for all sequences of a case, (Tq, Tk); a single key is visible."""
    shape = case.args["scores"].shape[-2:]
    return _mask(draw, *shape) if shape[-1] > 1 else torch.ones(shape, dtype=torch.bool)


def _empty(draw: Draw, *shape: int) -> Tensor:
    """A mask like that of `_mask`, but nothing is visible in the first row of every matrix and in the whole last
    matrix."""
    mask = _mask(draw, *shape)
    mask[..., 0, :] = False
    mask[-1] = False
    return mask


def _loud(draw: Draw, mask: Tensor) -> dict[str, Tensor]:
    """The mask and scores of its shape: every hidden score lies 26 to 28 above the visible ones of its row."""
    scores = torch.where(mask, draw.uniform(mask.shape, -14, -13), draw.uniform(mask.shape, 13, 14))
    return {"scores": scores, "mask": mask}


# --- parts ------------------------------------------------------------------------------------------------------------


def _gradient_of_empty_rows(weight: float) -> Part:
    usual = parts.gradients(EMPTY)

    def judge(session: Session) -> Finding | None:
        if parts.gradients().judge(session) is not None:
            return not_judged("gradients-first")
        if gradient_is_nan(session) and parts.inspect_call(session, session.cases[EMPTY], FLOAT32) is None:
            return Finding(
                "not-finite",
                "The weights are right, but the gradient of `scores` holds NaN where nothing is visible, "
                "because NaN arose on the way and was replaced only later.",
            )
        return usual.judge(session)

    return Part("has no NaN in the gradient where nothing is visible", weight, judge)


# --- wrong on purpose -------------------------------------------------------------------------------------------------

Variant = Callable[[Tensor, Tensor], Tensor]


def _filled(
    fill: float, dim: int = -1, inverted: bool = False, afterwards: bool = False, zeros: bool = False
) -> Variant:
    """A variant: softmax over `dim` after hidden scores are set to `fill`. `inverted`: the mask is taken the wrong way
    round; `afterwards`: hidden weights become zero in the end; `zeros`: NaN does."""

    def wrong(scores: Tensor, mask: Tensor) -> Tensor:
        shown = ~mask if inverted else mask
        weights = torch.softmax(scores.masked_fill(~shown, fill), dim)
        weights = weights.masked_fill(~shown, 0.0) if afterwards else weights
        return weights.nan_to_num(0.0) if zeros else weights

    return wrong


def _plus_infinity(session: Session) -> bool:
    """Whether hidden scores are set to plus infinity. A sequence with something visible in every row has to be wrong,
    too: in empty rows zeros may have come in another way."""
    variants = (_filled(torch.inf), _filled(torch.inf, zeros=True))
    return not right(session, session.cases[ONE]) and any(explains(session, variant) for variant in variants)


def _all_or_nothing(scores: Tensor, mask: Tensor) -> Tensor:
    """The right weights, but zeros everywhere if a single row shows nothing."""
    return reference(scores, mask) if bool(mask.any(-1).all()) else torch.zeros_like(scores)


def _times_infinity(zeros: bool) -> Variant:
    def wrong(scores: Tensor, mask: Tensor) -> Tensor:
        weights = torch.softmax(scores + (~mask) * -torch.inf, -1)
        return weights.nan_to_num(0.0) if zeros else weights

    return wrong


def _zero_score_hidden(zeros: bool) -> Variant:
    def wrong(scores: Tensor, mask: Tensor) -> Tensor:
        kept = scores * mask
        weights = torch.softmax(kept.masked_fill(kept == 0, -torch.inf), -1)
        return weights.nan_to_num(0.0) if zeros else weights

    return wrong


def _as_index(session: Session) -> bool:
    raised = [session.call(session.cases[name]).raised for name in (BATCH, KEYS)]
    return any(error is not None and "The shape of the mask" in error.message for error in raised)


def _keepdim_forgotten(session: Session) -> bool:
    """Whether a division fails because the sum has lost its axis: torch names the two lengths, Tk and Tq."""
    raised, sizes = session.call(session.cases[ONE]).raised, session.cases[ONE].sizes
    lengths = f"({sizes['Tk']}) must match the size of tensor b ({sizes['Tq']})"
    return raised is not None and lengths in raised.message and "/" in raised.line


FILLS = (-1.0, -10.0, -50.0, -100.0, -1000.0, -9999.0, -10000.0)
NOTHING, LARGE = -torch.inf, -1e9

EXERCISE = spec.exercise(
    reference,
    points=4,
    outputs={"weights": "... Tq Tk"},
    cases=_cases,
    parts=(
        parts.shape(),
        parts.values("makes the weights of the visible keys sum to 1 in every row", 3, ONE, ALL),
        parts.values("takes every mask that broadcasts to the scores", 1.5, BATCH, KEYS, SENTENCES, FULL, *LENGTH_ONE),
        parts.offsets("is right with a common offset of ±10000", 1, HIGH, LOW, MIXED),
        parts.values("is right with hidden scores up to 28 above the visible ones", 0.5, LOUD),
        parts.values("gives only zeros in a row with nothing visible", 2, EMPTY, EMPTY64),
        parts.float64(weight=0.5),
        parts.unchanged(weight=0.5),
        parts.gradients(weight=0.5),
        _gradient_of_empty_rows(1),
    ),
    mistakes={
        "positive-infinity": When(_plus_infinity),
        "one-empty-row-empties-all": _all_or_nothing,
        "zero-times-infinity": (_times_infinity(False), _times_infinity(True)),
        "nan-in-empty-row": When(nan_in_empty_row),
        "uniform-in-empty-row": When(shared_out_in_empty_row),
        "mask-inverted": (
            _filled(NOTHING, inverted=True),
            _filled(NOTHING, inverted=True, zeros=True),
            _filled(LARGE, inverted=True),
            _filled(LARGE, inverted=True, afterwards=True),
            lambda scores, mask: torch.softmax(scores, -1) * ~mask,
            lambda scores, mask: _filled(NOTHING, inverted=True)(scores, mask) * mask,
            lambda scores, mask: _filled(LARGE, inverted=True)(scores, mask) * mask,
            lambda scores, mask: _filled(NOTHING, inverted=True)(scores, mask).masked_fill(~mask, 0.0),
        ),
        "mask-ignored": lambda scores, mask: torch.softmax(scores, -1),
        "mask-after-softmax": (
            lambda scores, mask: torch.softmax(scores, -1) * mask,
            lambda scores, mask: torch.softmax(scores, -1).masked_fill(~mask, NOTHING),
        ),
        "softmax-forgotten": (
            lambda scores, mask: scores.masked_fill(~mask, NOTHING),
            lambda scores, mask: scores.masked_fill(~mask, LARGE),
            lambda scores, mask: scores.masked_fill(~mask, 0.0),
        ),
        "mask-added": lambda scores, mask: torch.softmax(scores + mask, -1),
        "causal-mask-instead": tuple(
            lambda scores, mask, fill=fill: _filled(fill)(scores, torch.ones(scores.shape[-2:]).tril() > 0)
            for fill in (NOTHING, LARGE)
        ),
        "scaled-anyway": tuple(
            lambda scores, mask, axis=axis: reference(scores / scores.shape[axis] ** 0.5, mask) for axis in (-1, -2)
        ),
        "zero-instead-of-minus-infinity": (_filled(0.0), _filled(0.0, afterwards=True)),
        "zero-score-hidden": (_zero_score_hidden(False), _zero_score_hidden(True)),
        "softmax-over-queries": tuple(
            _filled(fill, dim, zeros=zeros)
            for dim in (-2, 0, 1)
            for fill, zeros in ((NOTHING, False), (NOTHING, True), (LARGE, False))
        ),
        "overflow": When(overflows),
        "global-max-underflow": When(underflows),
        "small-negative-fill": When(
            leaks, tuple(_filled(fill, afterwards=after) for fill in FILLS for after in (False, True))
        ),
        "epsilon-in-denominator": When(too_small_a_share),
        **by_id(MASK_AS_CONDITION),
        "mask-as-index": When(_as_index),
        "keepdim-forgotten": When(_keepdim_forgotten),
    },
)
