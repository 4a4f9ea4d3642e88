"""`scaled_dot_product_attention` (Vaswani et al. 2017, section 3.2.1, equation 1)."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_01.attention_scores import QK, key_reshaped
from grader.exercises.lesson_01.shared import BATCH_ONLY, OVERFLOW, TWO_AXES_ONLY, Pair, cases, usual
from grader.exercises.lesson_01.shared import mistake as shared_mistake
from grader.spec.cases import equal_sizes
from grader.spec.exclusions import FUSED_ATTENTION, MULTIHEAD_ATTENTION
from grader.spec.spec import Spec, by_id

spec = Spec(__name__, shared_mistake)

ATTEND = {**QK, "value": "... Tk d_v"}
Scale = Callable[[Tensor, Tensor], float]
Attend = Callable[[Tensor, Tensor, Tensor], Pair]


def attention(query: Tensor, key: Tensor, value: Tensor) -> Pair:
    """The output, (…, Tq, d_v), and the weights, (…, Tq, Tk), of PyTorch's own attention; its weights are what it makes
    of the identity as value."""
    identity = torch.eye(key.shape[-2], dtype=value.dtype).expand(*key.shape[:-1], key.shape[-2])
    return F.scaled_dot_product_attention(query, key, value), F.scaled_dot_product_attention(query, key, identity)


# --- wrong on purpose -------------------------------------------------------------------------------------------------


def _root(query: Tensor, _key: Tensor) -> float:
    return 1 / math.sqrt(query.shape[-1])


def variant(
    scale: Scale = _root,
    dim: Callable[[Tensor], int] = lambda scores: -1,
    after: Scale = lambda q, k: 1.0,
    transposed: bool = False,
    shown_before: bool = False,
) -> Attend:
    """Scaled dot-product attention with the given parts changed. `scale` gives a factor for the scores, `dim` the
    softmax's axis for given scores, `after` a factor for the weights. With `transposed` the values meet the transposed
    weights, with `shown_before` the returned weights are those before `after`."""

    def wrong(query: Tensor, key: Tensor, value: Tensor) -> Pair:
        scores = query @ key.mT * scale(query, key)
        bare = torch.softmax(scores, dim(scores))
        weights = bare * after(query, key)
        return (weights.mT if transposed else weights) @ value, bare if shown_before else weights

    return wrong


def _reversed_axes(query: Tensor, key: Tensor, value: Tensor) -> Pair:
    """A wrong attention: the values meet `.T` of the weights, which reverses all axes; the returned weights are
    right."""
    weights = attention(query, key, value)[1]
    return weights.permute(*reversed(range(weights.dim()))) @ value, weights


def _both_transposed(query: Tensor, key: Tensor, value: Tensor) -> Pair:
    weights = attention(query, key, value)[1].mT
    return weights @ value, weights


def _from_scores(scores: Callable[[Tensor, Tensor], Tensor]) -> Attend:
    """A variant that is right but for `scores`, by which query and key make the scores."""

    def wrong(query: Tensor, key: Tensor, value: Tensor) -> Pair:
        weights = torch.softmax(scores(query, key) * _root(query, key), -1)
        return weights @ value, weights

    return wrong


def _finished(output: Callable[[Tensor, Tensor, Tensor], Tensor], shown: Callable[[Tensor, Tensor], Tensor]) -> Attend:
    """A variant with its own last steps: `output` makes the output of the scaled scores, their softmax and the values;
    `shown` makes the returned weights of the first two."""

    def wrong(query: Tensor, key: Tensor, value: Tensor) -> Pair:
        scores = query @ key.mT * _root(query, key)
        weights = torch.softmax(scores, -1)
        return output(scores, weights, value), shown(scores, weights)

    return wrong


def _divided(size: Callable[[Tensor, Tensor, Tensor], int]) -> Attend:
    return lambda q, k, v: variant(lambda _q, _k: size(q, k, v) ** -0.5)(q, k, v)


# `F.softmax` without a `dim` picks one by the number of axes.
WRONG_AXES: tuple[Callable[[Tensor], int], ...] = (
    lambda scores: -2,
    lambda scores: 0,
    lambda scores: 1,
    lambda scores: 0 if scores.dim() == 3 else 1,
)

ATTENTION_MISTAKES = (
    spec.mistake("no-scaling", (variant(lambda q, k: 1.0),)),
    spec.mistake(
        "scaled-by-d_k",
        tuple(variant(lambda q, k, n=n: n / q.shape[-1]) for n in (1, 0.5, 2)),  # type: ignore[misc]
    ),
    spec.mistake(
        "scale-multiplied", (variant(lambda q, k: math.sqrt(q.shape[-1])), variant(lambda q, k: float(q.shape[-1])))
    ),
    spec.mistake(
        "scaled-after-softmax",
        tuple(
            variant(scale, after=_root, shown_before=shown)
            for scale in (_root, lambda q, k: 1.0)
            for shown in (False, True)
        ),
    ),
    spec.mistake(
        "scaled-by-seq-len",
        (
            *(variant(lambda q, k, axis=axis: k.shape[axis] ** -0.5) for axis in (-2, 1, 0)),  # type: ignore[misc]
            *(variant(lambda q, k, axis=axis: q.shape[axis] ** -0.5) for axis in (-2, 1, 0)),  # type: ignore[misc]
        ),
    ),
    spec.mistake("softmax-over-queries", tuple(variant(dim=axis) for axis in WRONG_AXES)),
    spec.mistake("attention-transposed", (variant(transposed=True), _reversed_axes, _both_transposed)),
)

# Beyond the syllabus.
MORE_ATTENTION_MISTAKES = (
    spec.mistake("scaled-by-value-width", (_divided(lambda q, k, v: v.shape[-1]),)),
    spec.mistake("scores-transposed", (_from_scores(lambda q, k: k @ q.mT),)),
    spec.mistake("transpose-forgotten", (_from_scores(lambda q, k: q @ k),)),
    spec.mistake("view-instead-of-transpose", (_from_scores(lambda q, k: q @ key_reshaped(k)),)),
    spec.mistake(
        "scores-returned",
        (
            _finished(lambda s, w, v: w @ v, lambda s, w: s),
            lambda q, k, v: (attention(q, k, v)[0], q @ k.mT),
        ),
    ),
    spec.mistake(
        "no-softmax",
        (
            _finished(lambda s, w, v: s @ v, lambda s, w: s),
            _finished(lambda s, w, v: s @ v, lambda s, w: w),
            lambda q, k, v: (q @ k.mT @ v, q @ k.mT),
        ),
    ),
    spec.mistake(
        "value-before-weights",
        (
            _finished(lambda s, w, v: v @ w, lambda s, w: w),
            _finished(lambda s, w, v: v.mT @ w, lambda s, w: w),
            _finished(lambda s, w, v: v.mT @ w.mT, lambda s, w: w),
        ),
    ),
)

SWAPPED = spec.mistake("output-and-weights-swapped", (lambda *args: attention(*args)[::-1],))

EXERCISE = spec.exercise(
    attention,
    points=3,
    outputs={"output": "... Tq d_v", "weights": "... Tq Tk"},
    cases=lambda draw: cases(draw, ATTEND) + equal_sizes(draw, ATTEND, ("Tq", "Tk"), ("Tk", "D"), ("Tq", "Tk", "d_v")),
    parts=usual("attends in one sequence", 4, leading=1.5),
    mistakes={
        **by_id(*ATTENTION_MISTAKES, *MORE_ATTENTION_MISTAKES, SWAPPED),
        "key-used-as-value": lambda q, k, v: (attention(q, k, v)[1] @ k, attention(q, k, v)[1]),
        **by_id(OVERFLOW, TWO_AXES_ONLY, BATCH_ONLY),
    },
    excluded=(FUSED_ATTENTION, MULTIHEAD_ATTENTION),
    builds_on=("attention_scores", "stable_softmax"),
)
