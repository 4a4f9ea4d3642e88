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
from grader.exercises.lesson_03 import shared as lesson_03
from grader.exercises.lesson_03.multi_head_attention import INPUTS, PROJECTION_MISTAKES
from grader.exercises.lesson_04.shared import mistake as shared_mistake
from grader.exercises.lesson_04.shared import triangle
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Mistake
from grader.spec.session import Session
from grader.spec.spec import Spec, When, by_id

spec = Spec(__name__, shared_mistake)

Variant = Callable[..., lesson_03.Pair]
RIGHT_MASK = triangle(0)


def reference(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, num_heads: int) -> lesson_03.Pair:
    """The output, (…, T, E), and the weights, (…, H, T, T), of PyTorch's own causal attention per head; the weights are
    what it makes of the identity as values."""
    query, key, value = (lesson_03.split(F.linear(x, w.mT), num_heads) for w in (w_q, w_k, w_v))
    identity = torch.eye(x.shape[-2], dtype=x.dtype).expand(*key.shape[:-1], -1)
    heads = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    weights = F.scaled_dot_product_attention(query, key, identity, is_causal=True)
    return F.linear(heads.transpose(-2, -3).flatten(-2), w_o.mT), weights


# --- wrong on purpose -------------------------------------------------------------------------------------------------


def causally(attend: lesson_03.Core, visible: Callable[[int], Tensor] = RIGHT_MASK) -> Variant:
    """A variant of causal multi-head attention that attends by `attend`; `visible` makes its mask of the number of
    tokens."""

    def variant(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, num_heads: int) -> lesson_03.Pair:
        return attend(x @ w_q, x @ w_k, x @ w_v, lambda mixed: mixed @ w_o, num_heads, visible(x.shape[-2]))

    return variant


def _from_weights(*order: int, turned: tuple[int, ...] = ()) -> Variant:
    """A variant whose query, key, value and output are made with these weights (0 w_q, 1 w_k, 2 w_v, 3 w_o), of which
    those in `turned` are transposed."""

    def variant(x: Tensor, *weights_and_heads: Any) -> lesson_03.Pair:
        weights = [w.mT if i in turned else w for i, w in enumerate(weights_and_heads[:4])]
        return causally(lesson_03.core())(x, *(weights[i] for i in order), weights_and_heads[4])

    return variant


def _values_are_x(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, num_heads: int) -> lesson_03.Pair:
    return causally(lesson_03.core())(x, w_q, w_k, torch.eye(x.shape[-1], dtype=x.dtype), w_o, num_heads)


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
    return lesson_03.filled_too_high(session, cases, lambda case: ~RIGHT_MASK(case.sizes["T"]))


def _showing(*visible: Callable[[int], Tensor]) -> tuple[Variant, ...]:
    """Variants with these masks, each with every way of treating a row in which no key is visible: NaN, zeros, or equal
    weights."""
    ways = (
        lesson_03.core(),
        lesson_03.core(after=lambda weights, mask: weights.nan_to_num(0.0)),
        lesson_03.core(hide=functools.partial(_fill, fill=-1e9)),
    )
    return tuple(causally(way, shown) for shown in visible for way in ways)


# --- the exercise -----------------------------------------------------------------------------------------------------


def _gentle(draw: Draw, name: str, shape: tuple[int, ...]) -> Tensor:
    """Standard normal entries for x, and weights small enough that attention spreads over several keys and a mistake
    shows everywhere."""
    return draw.normal(shape, 1.0 if name == "x" else 1.2 * shape[0] ** -0.5)


def _cases(draw: Draw) -> list[Case]:
    return lesson_03.with_leading_axes(
        draw, INPUTS, lesson_03.two_head_sizes(draw, "T"), _gentle, numbers={"num_heads": "H"}, square=True
    )


EXERCISE = spec.exercise(
    reference,
    points=3,
    outputs={"output": "... T E", "weights": "... H T T"},
    cases=_cases,
    parts=lesson_03.usual("attends in one sequence, but to no later token", 4, leading=1.5),
    mistakes={
        "mask-ignored": causally(lesson_03.core(hide=_unhidden)),
        "mask-after-softmax": causally(lesson_03.core(hide=_unhidden, after=_mask_weights)),
        "zero-instead-of-minus-infinity": (
            causally(lesson_03.core(hide=functools.partial(_fill, fill=0.0))),
            causally(lesson_03.core(hide=functools.partial(_fill, fill=0.0), after=_mask_weights)),
        ),
        "mask-inverted": _showing(triangle(1, upper=True), triangle(0, upper=True)),
        "mask-added": causally(lesson_03.core(hide=lambda scores, mask: scores + mask)),
        "zero-times-infinity": causally(lesson_03.core(hide=lambda scores, mask: scores + ~mask * -math.inf)),
        "small-negative-fill": When(_leaks),
        "diagonal-hidden": _showing(triangle(-1)),
        "one-future-token-visible": _showing(triangle(1)),
        **by_id(
            *lesson_03.wrapped(
                causally,
                lesson_03.SCALED_BY_D_MODEL,
                lesson_03.NO_OUTPUT_PROJECTION,
                lesson_03.VIEW_WITHOUT_TRANSPOSE,
                lesson_03.MERGE_WITHOUT_TRANSPOSE,
                lesson_03.ONE_HEAD_ONLY,
                lesson_03.NO_SCALING,
                *lesson_03.FURTHER,
            ),
            *(Mistake(m.id, m.symptom, m.hints, PROJECTIONS[m.id]) for m in PROJECTION_MISTAKES),
            lesson_03.VIEW_WITHOUT_CONTIGUOUS,
            TWO_AXES_ONLY,
            BATCH_ONLY,
        ),
    },
    builds_on=("causal_mask", "masked_softmax"),
)
