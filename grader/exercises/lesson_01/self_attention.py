"""`self_attention`: queries, keys and values of the same tokens (Vaswani et al. 2017, section 3.2.1)."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from grader.exercises.lesson_01.project_qkv import PROJECTION_MISTAKES, projections, qkv_cases
from grader.exercises.lesson_01.scaled_dot_product_attention import (
    ATTENTION_MISTAKES,
    MORE_ATTENTION_MISTAKES,
    SWAPPED,
    attention,
)
from grader.exercises.lesson_01.shared import BATCH_ONLY, OVERFLOW, TWO_AXES_ONLY, Pair, Triple, usual
from grader.spec.exercise import Mistake
from grader.spec.spec import Spec, by_id

spec = Spec(__name__)


def attention_of(x: Tensor, w_query: Tensor, w_key: Tensor, w_value: Tensor) -> Pair:
    """The output, (…, T, d_v), and the weights, (…, T, T), of self-attention: project, then attend."""
    return attention(*projections(x, w_query, w_key, w_value))


def _after(project: Callable[..., Triple]) -> Callable[..., Pair]:
    return lambda *args: attention(*project(*args))


def _inside(attend: Callable[..., Pair]) -> Callable[..., Pair]:
    return lambda *args: attend(*projections(*args))


def _no_value_projection(x: Tensor, w_query: Tensor, w_key: Tensor, w_value: Tensor) -> Pair:
    weights = attention_of(x, w_query, w_key, w_value)[1]
    return weights @ x, weights


def _divided_by(size: Callable[[Tensor], int]) -> Callable[..., Pair]:
    def wrong(x: Tensor, w_query: Tensor, w_key: Tensor, w_value: Tensor) -> Pair:
        query, key, value = projections(x, w_query, w_key, w_value)
        weights = torch.softmax(query @ key.mT / math.sqrt(size(x)), -1)
        return weights @ value, weights

    return wrong


def _wrapped(mistakes: tuple[Mistake, ...], wrap: Callable[..., Callable[..., Pair]]) -> tuple[Mistake, ...]:
    return tuple(Mistake(m.id, m.symptom, m.hints, tuple(wrap(v) for v in m.variants)) for m in mistakes)


def _in_order(*order: int) -> Callable[..., Pair]:
    """A variant whose query, key and value are made from the weights in this order: 0 query, 1 key, 2 value."""
    return lambda x, *w: attention(*projections(x, *(w[i] for i in order)))


# Query and key exchanged give the transposed scores, which have a name already.
ROLES_SWAPPED = spec.mistake(
    "roles-swapped", tuple(_in_order(*order) for order in ((0, 2, 1), (1, 2, 0), (2, 0, 1), (2, 1, 0)))
)

EXERCISE = spec.exercise(
    attention_of,
    points=2,
    outputs={"output": "... T d_v", "weights": "... T T"},
    cases=qkv_cases,
    parts=usual("attends in one sequence", 4, leading=1.5),
    mistakes={
        "no-value-projection": _no_value_projection,
        **by_id(*_wrapped(PROJECTION_MISTAKES[:3], _after), *_wrapped(ATTENTION_MISTAKES, _inside)),
        "scaled-by-d_model": (_divided_by(lambda x: x.shape[-1]), _divided_by(lambda x: x.shape[1])),
        **by_id(*_wrapped((*MORE_ATTENTION_MISTAKES, SWAPPED), _inside), ROLES_SWAPPED),
        "not-projected": lambda x, *w: attention(x, x, x),
        **by_id(OVERFLOW, TWO_AXES_ONLY, BATCH_ONLY),
    },
    builds_on=("project_qkv", "attention_scores", "stable_softmax", "scaled_dot_product_attention"),
)
