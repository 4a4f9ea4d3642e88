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
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Exercise, Finding, Mistake, Output, Part
from grader.spec.session import Session
from grader.tolerance import COARSE, FLOAT32

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
    """One case: the returned rows, the right ones, the scores and the mask."""

    name: str
    value: Tensor
    right: Tensor
    scores: Tensor
    mask: Tensor

    @property
    def empty(self) -> Tensor:
        return ~self.mask.any(-1)

    @property
    def is_right(self) -> Tensor:
        tolerance = COARSE if self.name in OFFSET else FLOAT32
        return tolerance.close(self.value, self.right).all(-1)


def _rows(session: Session) -> list[Rows]:
    """Every case; none if a call raised or returned a wrong shape."""
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
    rows = _rows(session)
    if not _right_but_for_empty(rows):
        return False
    return any(bool(torch.isnan(row).any()) for row in _wrong_empty(rows)) or gradient_is_nan(session)


def shared_out_in_empty_row(session: Session) -> bool:
    rows = _rows(session)
    wrong = list(_wrong_empty(rows))
    return _right_but_for_empty(rows) and bool(wrong) and all(abs(float(row.sum()) - 1) < 0.01 for row in wrong)


def leaks(session: Session) -> bool:
    """Hidden scores are set to some number, or lowered by one, that is not negative enough."""
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
    rows = _rows(session)
    wrong = {case.name for case in rows if not bool(case.is_right.all())}
    return _right_on(rows, *USUAL) and {HIGH, MIXED} <= wrong


def underflows(session: Session) -> bool:
    rows = _rows(session)
    return _right_on(rows, *USUAL, HIGH, LOW) and not _right_on(rows, MIXED)


def too_small_a_share(session: Session) -> bool:
    rows = _rows(session)
    loud = [case for case in rows if case.name == LOUD]
    if not _right_on(rows, *USUAL, LOW, HIGH) or not loud:
        return False
    ratio = loud[0].value.sum(-1, keepdim=True)
    scaled = FLOAT32.close(loud[0].value, loud[0].right * ratio)
    return bool(scaled.all()) and bool((ratio < 0.999).all())


def gradient_is_nan(session: Session) -> bool:
    gradients = session.call(session.cases[EMPTY], gradients=True).gradients or {}
    gradient = gradients.get("0")
    return gradient is not None and bool(torch.isnan(gradient).any())


# --- reference and cases ----------------------------------------------------------------------------------------------


def reference(scores: Tensor, mask: Tensor) -> Tensor:
    """PyTorch's own masked attention with the identity as keys and values."""
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
    """Random, with something visible and something hidden in every row."""
    mask = draw.uniform(shape) < 0.5
    mask[..., 0], mask[..., 1] = True, False
    return mask


def _mask_of_one(draw: Draw, case: Case) -> Tensor:
    """A mask for all sequences; a single key is visible."""
    shape = case.args["scores"].shape[-2:]
    return _mask(draw, *shape) if shape[-1] > 1 else torch.ones(shape, dtype=torch.bool)


def _empty(draw: Draw, *shape: int) -> Tensor:
    """The same, but nothing is visible in the first row of every matrix and in the whole last matrix."""
    mask = _mask(draw, *shape)
    mask[..., 0, :] = False
    mask[-1] = False
    return mask


def _loud(draw: Draw, mask: Tensor) -> dict[str, Tensor]:
    """Every hidden score lies 26 to 28 above the visible ones of its row."""
    scores = torch.where(mask, draw.uniform(mask.shape, -14, -13), draw.uniform(mask.shape, 13, 14))
    return {"scores": scores, "mask": mask}


# --- parts ------------------------------------------------------------------------------------------------------------


def _gradient_of_empty_rows(weight: float) -> Part:
    usual = parts.gradients(EMPTY)

    def judge(session: Session) -> Finding | None:
        if parts.gradients().judge(session) is not None:
            return Finding("not-judged", "Not judged yet: gradients have to flow where every row shows something.")
        if gradient_is_nan(session) and parts.inspect_call(session, session.cases[EMPTY], FLOAT32) is None:
            return Finding(
                "not-finite",
                "The weights are right, but the gradient of `scores` holds NaN where nothing is visible: "
                "it was NaN on the way, and what replaced it came later.",
            )
        return usual.judge(session)

    return Part("has no NaN in the gradient where nothing is visible", weight, judge)


# --- wrong on purpose -------------------------------------------------------------------------------------------------

Variant = Callable[[Tensor, Tensor], Tensor]


def _filled(
    fill: float, dim: int = -1, inverted: bool = False, afterwards: bool = False, zeros: bool = False
) -> Variant:
    """Softmax over `dim` after hidden scores are set to `fill`; then hidden weights, or NaN, to zero if asked for."""

    def wrong(scores: Tensor, mask: Tensor) -> Tensor:
        shown = ~mask if inverted else mask
        weights = torch.softmax(scores.masked_fill(~shown, fill), dim)
        weights = weights.masked_fill(~shown, 0.0) if afterwards else weights
        return weights.nan_to_num(0.0) if zeros else weights

    return wrong


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
    """A division that fails because the sum has lost its axis: torch names the two lengths, Tk and Tq."""
    raised, sizes = session.call(session.cases[ONE]).raised, session.cases[ONE].sizes
    lengths = f"({sizes['Tk']}) must match the size of tensor b ({sizes['Tq']})"
    return raised is not None and lengths in raised.message and "/" in raised.line


FILLS = (-1.0, -10.0, -50.0, -100.0, -1000.0, -9999.0, -10000.0)
NOTHING, LARGE = -torch.inf, -1e9

EXERCISE = Exercise(
    name="masked_softmax",
    lesson="04_masking",
    points=4,
    signature=("scores", "mask"),
    outputs=(Output("weights", "... Tq Tk"),),
    cases=_cases,
    reference=reference,
    parts=(
        parts.shape(),
        parts.values("shares out 1 among the visible keys of every row", 3, ONE, ALL),
        parts.values("takes every mask that stretches to the scores", 1.5, BATCH, KEYS, SENTENCES, FULL, *LENGTH_ONE),
        parts.offsets("minds no common offset of ±10000", 1, HIGH, LOW, MIXED),
        parts.values("minds no hidden score, even 28 above the visible ones", 0.5, LOUD),
        parts.values("gives a row with nothing visible zeros", 2, EMPTY, EMPTY64),
        parts.float64(weight=0.5),
        parts.unchanged(weight=0.5),
        parts.gradients(weight=0.5),
        _gradient_of_empty_rows(1),
    ),
    mistakes=(
        Mistake(
            "positive-infinity",
            "hidden scores are set to plus infinity, or to NaN, and then the whole row becomes NaN.",
            (
                "Try `torch.tensor([1.0, float('inf')]).softmax(-1)`. What comes out?",
                "A hidden key should get the weight 0. Which score gives that?",
            ),
            (_filled(torch.inf), _filled(torch.inf, zeros=True)),
        ),
        Mistake(
            "zero-times-infinity",
            "visible scores become NaN, as when minus infinity is multiplied by the mask's zeros: 0 · inf is NaN.",
            (
                "Try `torch.tensor(0.0) * float('-inf')`. Which entries of your product become that?",
                "Don't compute with infinity: choose, entry by entry, between the score and minus infinity.",
            ),
            (_times_infinity(False), _times_infinity(True)),
        ),
        Mistake(
            "nan-in-empty-row",
            "a row with nothing visible becomes NaN, in the weights or in their gradient.",
            (
                "Follow such a row through your code. Which step gives NaN: minus infinity minus its own maximum, "
                "or a sum of 0 that something is divided by?",
                "Such a row needs harmless numbers before that step, or its NaN has to be replaced. Then look at the "
                "gradient too: the mask should cut off what flows back to hidden scores.",
            ),
            recognise=nan_in_empty_row,
        ),
        Mistake(
            "uniform-in-empty-row",
            "a row with nothing visible still gives hidden keys weight, 1 in all.",
            (
                "Filled with one number, all scores of such a row are equal. What does softmax make of equal scores?",
                "Which weights may be other than zero? The mask knows, also after the softmax.",
            ),
            recognise=shared_out_in_empty_row,
        ),
        Mistake(
            "mask-inverted",
            "what should be hidden is visible, and the other way round.",
            (
                "In this course True means *may attend*. What does `masked_fill` do where its mask is True?",
                "Where does `masked_fill` have to fill here: where the mask is True, or where it is False?",
            ),
            (
                _filled(NOTHING, inverted=True),
                _filled(NOTHING, inverted=True, zeros=True),
                _filled(LARGE, inverted=True),
                _filled(LARGE, inverted=True, afterwards=True),
                lambda scores, mask: torch.softmax(scores, -1) * ~mask,
                lambda scores, mask: _filled(NOTHING, inverted=True)(scores, mask).masked_fill(~mask, 0.0),
            ),
        ),
        Mistake(
            "mask-ignored",
            "the mask has no effect.",
            (
                "Change one entry of the mask. Where in your code should that make a difference?",
                "`masked_fill` returns a new tensor. Is it the one that you go on with?",
            ),
            (lambda scores, mask: torch.softmax(scores, -1),),
        ),
        Mistake(
            "mask-after-softmax",
            "weights are hidden after the softmax, so a row no longer sums to one.",
            (
                "Add up one row of your weights. What happened to the share that the hidden keys had got?",
                "What gives a row its sum of one? Does it come before or after you hide?",
            ),
            (
                lambda scores, mask: torch.softmax(scores, -1) * mask,
                lambda scores, mask: torch.softmax(scores, -1).masked_fill(~mask, NOTHING),
            ),
        ),
        Mistake(
            "softmax-forgotten",
            "the masked scores come back; the softmax is missing.",
            (
                "Add up one row of your result. What should it give?",
                "Which step turns scores into weights?",
            ),
            (
                lambda scores, mask: scores.masked_fill(~mask, NOTHING),
                lambda scores, mask: scores.masked_fill(~mask, LARGE),
                lambda scores, mask: scores.masked_fill(~mask, 0.0),
            ),
        ),
        Mistake(
            "mask-added",
            "the mask is added to the scores as 0 and 1, which changes them only a little.",
            (
                "A hidden key's score gets 0 added. What is its weight then?",
                "A mask of True and False says where to look, not how much to add. What must a hidden score become?",
            ),
            (lambda scores, mask: torch.softmax(scores + mask, -1),),
        ),
        Mistake(
            "causal-mask-instead",
            "a causal mask of your own is used; the argument `mask` makes no difference.",
            (
                "Call it with a mask that is True everywhere. What should be hidden then?",
                "Which keys are hidden is the caller's choice. Where does your code use the argument `mask`?",
            ),
            tuple(
                lambda scores, mask, fill=fill: _filled(fill)(scores, torch.ones(scores.shape[-2:]).tril() > 0)
                for fill in (NOTHING, LARGE)
            ),
        ),
        Mistake(
            "scaled-anyway",
            "the scores are divided by the square root of a size; here they are taken as they are.",
            (
                "Read the docstring once more: hide, softmax, zeros. Which step of yours is not among them?",
                "The scores may be scaled already. Who does it in `causal_multi_head_attention`?",
            ),
            tuple(
                lambda scores, mask, axis=axis: reference(scores / scores.shape[axis] ** 0.5, mask) for axis in (-1, -2)
            ),
        ),
        Mistake(
            "zero-instead-of-minus-infinity",
            "hidden scores are set to 0, and exp(0) is 1: hidden keys still get weight.",
            (
                "Which score gives the weight 0? Try some in `torch.exp`.",
                "0 is a score like any other. It takes a score far below every other one.",
            ),
            (_filled(0.0), _filled(0.0, afterwards=True)),
        ),
        Mistake(
            "zero-score-hidden",
            "a visible score that happens to be exactly 0 is taken for a hidden one.",
            (
                "How does your code know that a score is hidden? Can a visible one look the same?",
                "Ask the mask what is hidden, not the scores.",
            ),
            (_zero_score_hidden(False), _zero_score_hidden(True)),
        ),
        Mistake(
            "softmax-over-queries",
            "the softmax runs over the wrong axis: the weights of one query don't sum to one.",
            (
                "Sum your weights over the last axis. What should every row with something visible give?",
                "The keys are the last axis of the scores, whatever axes come before: count from the end.",
            ),
            tuple(
                _filled(fill, dim, zeros=zeros)
                for dim in (-2, 0, 1)
                for fill, zeros in ((NOTHING, False), (NOTHING, True), (LARGE, False))
            ),
        ),
        Mistake(
            "overflow",
            "large scores overflow: `exp` of them is inf, and inf divided by inf is NaN.",
            (
                "Try `torch.exp(torch.tensor(10000.0))`. What comes out?",
                "What did lesson 01 subtract from every row before the exponential? torch's softmax does so by itself.",
            ),
            recognise=overflows,
        ),
        Mistake(
            "global-max-underflow",
            "one maximum is taken of everything, so in rows far below it every exponential is 0.",
            (
                "Think of two rows, one near 10000 and one near -10000. What happens to the second if you subtract "
                "10000?",
                "Rows don't share their weights. Should they share a maximum?",
            ),
            recognise=underflows,
        ),
        Mistake(
            "small-negative-fill",
            "the number that marks hidden scores is not negative enough: hidden keys get weight.",
            (
                "Scores may lie near -10000. What happens when a visible score is about as low as your number?",
                "There is a score below every other one, whatever they are.",
            ),
            tuple(_filled(fill, afterwards=after) for fill in FILLS for after in (False, True)),
            recognise=leaks,
        ),
        Mistake(
            "epsilon-in-denominator",
            "a small number in the denominator is too large for rows whose visible scores lie far below the hidden "
            "ones.",
            (
                "Before you divide, the visible keys may have a share of 1e-12. What does your number do to the sum?",
                "The share is that small because the hidden keys took part in the softmax. Could they be hidden "
                "before it?",
            ),
            recognise=too_small_a_share,
        ),
        MASK_AS_CONDITION,
        Mistake(
            "mask-as-index",
            "the mask is used as an index, which works only where it has the full shape of the scores.",
            (
                "Which shapes may the mask have? The report shows one that fails.",
                "Indexing doesn't stretch a mask. Which functions of this lesson do, and choose entry by entry?",
            ),
            recognise=_as_index,
        ),
        Mistake(
            "keepdim-forgotten",
            "the sum over an axis removes that axis, so the division lines up the wrong axes.",
            (
                "Print the shapes of what you divide and of what you divide by.",
                "Look up `keepdim` of `Tensor.sum`.",
            ),
            recognise=_keepdim_forgotten,
        ),
    ),
)
