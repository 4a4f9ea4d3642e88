"""`causal_multi_head_attention`: many heads with a causal mask (Vaswani et al. 2017, section 3.2.3)."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_01.shared import BATCH_ONLY, TWO_AXES_ONLY
from grader.exercises.lesson_03.multi_head_attention import INPUTS, PROJECTION_MISTAKES
from grader.exercises.lesson_03.shared import (
    FURTHER,
    MERGE_WITHOUT_TRANSPOSE,
    NO_OUTPUT_PROJECTION,
    NO_SCALING,
    ONE_HEAD_ONLY,
    SCALED_BY_D_MODEL,
    VIEW_WITHOUT_CONTIGUOUS,
    VIEW_WITHOUT_TRANSPOSE,
    Core,
    Pair,
    core,
    filled_too_high,
    split,
    two_head_sizes,
    usual,
    with_leading_axes,
    wrapped,
)
from grader.exercises.lesson_04.shared import LESSON, triangle
from grader.exercises.lesson_04.shared import mistake as shared_mistake
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Exercise, Mistake, Output
from grader.spec.session import Session
from grader.spec.words import Words

mistake = Words(__file__)

Variant = Callable[..., Pair]
RIGHT_MASK = triangle(0)


def reference(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, num_heads: int) -> Pair:
    """The output, (…, T, E), and the weights, (…, H, T, T), of PyTorch's own causal attention per head; the weights are
    what it makes of the identity as values."""
    query, key, value = (split(F.linear(x, w.mT), num_heads) for w in (w_q, w_k, w_v))
    identity = torch.eye(x.shape[-2], dtype=x.dtype).expand(*key.shape[:-1], -1)
    heads = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    weights = F.scaled_dot_product_attention(query, key, identity, is_causal=True)
    return F.linear(heads.transpose(-2, -3).flatten(-2), w_o.mT), weights


# --- wrong on purpose -------------------------------------------------------------------------------------------------


def causally(attend: Core, visible: Callable[[int], Tensor] = RIGHT_MASK) -> Variant:
    """A variant of causal multi-head attention that attends by `attend`; `visible` makes its mask of the number of
    tokens."""

    def variant(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, num_heads: int) -> Pair:
        return attend(x @ w_q, x @ w_k, x @ w_v, lambda mixed: mixed @ w_o, num_heads, visible(x.shape[-2]))

    return variant


def _from_weights(*order: int, turned: tuple[int, ...] = ()) -> Variant:
    """A variant whose query, key, value and output are made with these weights (0 w_q, 1 w_k, 2 w_v, 3 w_o), of which
    those in `turned` are transposed."""

    def variant(x: Tensor, *weights_and_heads: Any) -> Pair:
        weights = [w.mT if i in turned else w for i, w in enumerate(weights_and_heads[:4])]
        return causally(core())(x, *(weights[i] for i in order), weights_and_heads[4])

    return variant


def _values_are_x(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, num_heads: int) -> Pair:
    return causally(core())(x, w_q, w_k, torch.eye(x.shape[-1], dtype=x.dtype), w_o, num_heads)


PROJECTIONS = {
    "weights-transposed": tuple(
        _from_weights(0, 1, 2, 3, turned=turned) for turned in ((0, 1, 2, 3), (0, 1, 2), (3,), (0,), (1,), (2,))
    ),
    "value-from-key": (_from_weights(0, 1, 1, 3),),
    "same-projection": tuple(_from_weights(*order, 3) for order in ((0, 0, 0), (0, 0, 2), (1, 1, 2), (0, 1, 0))),
    "no-value-projection": (_values_are_x,),
}


def _fill(scores: Tensor, mask: Tensor, fill: float) -> Tensor:
    return scores.masked_fill(~mask, fill)


def _mask_weights(weights: Tensor, mask: Tensor | None) -> Tensor:
    return weights if mask is None else weights * mask


def _unhidden(scores: Tensor, _mask: Tensor) -> Tensor:
    return scores


def _leaks(session: Session) -> bool:
    cases = [case for case in session.real_cases() if case.comparable]
    return filled_too_high(session, cases, lambda case: ~RIGHT_MASK(case.sizes["T"]))


def _showing(*visible: Callable[[int], Tensor]) -> tuple[Variant, ...]:
    """Variants with these masks, each with every way of treating a row in which no key is visible: NaN, zeros, or equal
    weights."""
    ways = (
        core(),
        core(after=lambda weights, mask: weights.nan_to_num(0.0)),
        core(hide=functools.partial(_fill, fill=-1e9)),
    )
    return tuple(causally(way, shown) for shown in visible for way in ways)


MISTAKES = (
    mistake("mask-ignored", (causally(core(hide=_unhidden)),)),
    mistake("mask-after-softmax", (causally(core(hide=_unhidden, after=_mask_weights)),)),
    mistake(
        "zero-instead-of-minus-infinity",
        (
            causally(core(hide=functools.partial(_fill, fill=0.0))),
            causally(core(hide=functools.partial(_fill, fill=0.0), after=_mask_weights)),
        ),
    ),
    shared_mistake("mask-inverted", _showing(triangle(1, upper=True), triangle(0, upper=True))),
    mistake("mask-added", (causally(core(hide=lambda scores, mask: scores + mask)),)),
    mistake("zero-times-infinity", (causally(core(hide=lambda scores, mask: scores + ~mask * -math.inf)),)),
    mistake("small-negative-fill", recognise=_leaks),
    shared_mistake("diagonal-hidden", _showing(triangle(-1))),
    shared_mistake("one-future-token-visible", _showing(triangle(1))),
    *wrapped(
        causally,
        SCALED_BY_D_MODEL,
        NO_OUTPUT_PROJECTION,
        VIEW_WITHOUT_TRANSPOSE,
        MERGE_WITHOUT_TRANSPOSE,
        ONE_HEAD_ONLY,
        NO_SCALING,
        *FURTHER,
    ),
    *(Mistake(m.id, m.symptom, m.hints, PROJECTIONS[m.id]) for m in PROJECTION_MISTAKES),
    VIEW_WITHOUT_CONTIGUOUS,
    TWO_AXES_ONLY,
    BATCH_ONLY,
)


# --- the exercise -----------------------------------------------------------------------------------------------------


def _gentle(draw: Draw, name: str, shape: tuple[int, ...]) -> Tensor:
    """Standard normal entries for x, and weights small enough that attention spreads over several keys and a mistake
    shows everywhere."""
    return draw.normal(shape, 1.0 if name == "x" else 1.2 * shape[0] ** -0.5)


def _cases(draw: Draw) -> list[Case]:
    return with_leading_axes(draw, INPUTS, two_head_sizes(draw, "T"), _gentle, numbers={"num_heads": "H"}, square=True)


EXERCISE = Exercise(
    name="causal_multi_head_attention",
    lesson=LESSON,
    points=3,
    signature=(*INPUTS, "num_heads"),
    outputs=(Output("output", "... T E"), Output("weights", "... H T T")),
    cases=_cases,
    reference=reference,
    parts=usual("attends in one sequence, but to no later token", 4, leading=1.5),
    mistakes=MISTAKES,
    builds_on=("causal_mask", "masked_softmax"),
)
