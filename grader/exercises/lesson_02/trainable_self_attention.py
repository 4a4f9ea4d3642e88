"""`trainable_self_attention`: weights as `nn.Linear` stores them (Vaswani et al. 2017, section 3.2.1)."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_01.attention_scores import key_reshaped
from grader.exercises.lesson_01.project_qkv import PROJECTION_MISTAKES
from grader.exercises.lesson_01.scaled_dot_product_attention import (
    ATTENTION_MISTAKES,
    MORE_ATTENTION_MISTAKES,
    SWAPPED,
    attention,
)
from grader.exercises.lesson_01.self_attention import ROLES_SWAPPED
from grader.exercises.lesson_01.shared import BATCH_ONLY, TWO_AXES_ONLY, Pair, Triple, X, cases, usual
from grader.spec.cases import equal_sizes
from grader.spec.diagnose import right
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Mistake
from grader.spec.session import Session
from grader.spec.spec import Spec, When, by_id

spec = Spec(__name__)

XU = {**X, "u_query": "d_k E", "u_key": "d_k E", "u_value": "d_v E"}


def trained(x: Tensor, u_query: Tensor, u_key: Tensor, u_value: Tensor) -> Pair:
    """The output, (…, T, d_v), and the weights, (…, T, T), of x, (…, T, E): `F.linear`, which stores its weight as
    here, (d_k, E) or (d_v, E), then PyTorch's own attention."""
    return attention(F.linear(x, u_query), F.linear(x, u_key), F.linear(x, u_value))


def _gentle(draw: Draw, name: str, shape: tuple[int, ...]) -> Tensor:
    """Standard normal entries for x, smaller ones for weights, so that the attention spreads over several keys and a
    mistake shows everywhere."""
    return draw.normal(shape, shape[-1] ** -0.5 if name in XU and name != "x" else 1.0)


def _projecting(project: Callable[..., Triple]) -> Callable[..., Pair]:
    """A variant that projects as one of lesson 01 does and attends rightly. Those of lesson 01 apply `x @ w`, so it
    gets the transposed weights."""
    return lambda x, *u: attention(*project(x, *(weight.mT for weight in u)))


def _attending(attend: Callable[..., Pair]) -> Callable[..., Pair]:
    return lambda x, *u: attend(*(F.linear(x, weight) for weight in u))


def _as_they_lie(*which: int) -> Callable[..., Pair]:
    """A variant with `x @ u`, without a transpose, for these weights: 0 query, 1 key, 2 value."""
    return lambda x, *u: attention(*(x @ m if i in which else x @ m.mT for i, m in enumerate(u)))


def _divided(divisor: Callable[[Tensor], float]) -> Callable[..., Pair]:
    def wrong(x: Tensor, u_query: Tensor, u_key: Tensor, u_value: Tensor) -> Pair:
        weights = torch.softmax(x @ u_query.mT @ (x @ u_key.mT).mT / divisor(x), -1)
        return weights @ (x @ u_value.mT), weights

    return wrong


def _in_columns(axis: int) -> Callable[..., Pair]:
    """A variant that takes `u @ x.mT` as it comes out, one column for every token, and divides the scores by the root
    of the length of `axis` in it."""

    def wrong(x: Tensor, u_query: Tensor, u_key: Tensor, u_value: Tensor) -> Pair:
        query, key, value = u_query @ x.mT, u_key @ x.mT, u_value @ x.mT
        weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[axis]), -1)
        return weights @ value, weights

    return wrong


def _tokens_mixed(x: Tensor, u_query: Tensor, u_key: Tensor, _u_value: Tensor) -> Pair:
    weights = trained(x, u_query, u_key, u_key)[1]
    return weights @ x, weights


def _unused(session: Session) -> bool:
    """Whether none of the three matrices has a part in the result: no gradient reaches them, and the values are
    wrong."""
    case = session.cases["one sequence"]
    outcome = session.call(case, gradients=True)
    if not outcome.ok or right(session, case) or outcome.gradients is None:
        return False
    return all(outcome.gradients.get(str(place)) is None for place in (1, 2, 3))


def _inherited(mistakes: tuple[Mistake, ...], wrap: Callable[..., Callable[..., Pair]]) -> tuple[Mistake, ...]:
    return tuple(Mistake(m.id, m.symptom, m.hints, tuple(wrap(v) for v in m.variants)) for m in mistakes)


def _trained_cases(draw: Draw) -> list[Case]:
    groups = [("E", "d_k", "d_v"), ("E", "d_k"), ("E", "d_v"), ("d_k", "d_v")]
    groups += [("T", "d_k", "d_v"), ("T", "E", "d_k", "d_v")]
    return cases(draw, XU, _gentle) + equal_sizes(draw, XU, *groups, make=_gentle)


EXERCISE = spec.exercise(
    trained,
    points=3,
    outputs={"output": "... T d_v", "weights": "... T T"},
    cases=_trained_cases,
    parts=usual("attends in one sequence", 4, leading=1.5),
    mistakes={
        "weights-unused": When(_unused),
        "weights-not-transposed": tuple(_as_they_lie(*which) for n in (3, 2, 1) for which in combinations(range(3), n)),
        "weights-reshaped": lambda x, *u: attention(*(x @ key_reshaped(weight) for weight in u)),
        "no-value-projection": _tokens_mixed,
        **by_id(
            *_inherited(
                tuple(m for m in PROJECTION_MISTAKES if m.id in ("value-from-key", "same-projection")), _projecting
            ),
            *_inherited((ROLES_SWAPPED,), lambda variant: lambda x, *u: variant(x, *(weight.mT for weight in u))),
        ),
        "scaled-by-d_model": (
            _divided(lambda x: math.sqrt(x.shape[-1])),
            _divided(lambda x: x.shape[-1]),
            _divided(lambda x: math.sqrt(x.shape[1])),  # of a batch it is the number of tokens
        ),
        **by_id(*_inherited((*ATTENTION_MISTAKES, *MORE_ATTENTION_MISTAKES, SWAPPED), _attending)),
        "tokens-in-columns": (_in_columns(-2), _in_columns(-1)),
        "factors-swapped": lambda x, *u: attention(*(weight @ x for weight in u)),
        **by_id(TWO_AXES_ONLY, BATCH_ONLY),
    },
)
