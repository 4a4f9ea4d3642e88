"""`project_qkv`: queries, keys and values, each a matrix product with weights of its own."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, permutations, product

import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_01.shared import BATCH_ONLY, TWO_AXES_ONLY, Triple, cases, usual
from grader.spec.cases import equal_sizes
from grader.spec.draw import Draw
from grader.spec.exercise import Case
from grader.spec.spec import Spec, by_id

spec = Spec(__name__)

QKV = {"x": "... T E", "w_query": "E d_k", "w_key": "E d_k", "w_value": "E d_v"}


def projections(x: Tensor, w_query: Tensor, w_key: Tensor, w_value: Tensor) -> Triple:
    """Queries and keys, (…, T, d_k), and values, (…, T, d_v), of x, (…, T, E), and weights (E, d_k) or (E, d_v):
    PyTorch's own `F.linear`, whose weight is the transpose of ours."""
    return F.linear(x, w_query.mT), F.linear(x, w_key.mT), F.linear(x, w_value.mT)


def _gentle(draw: Draw, name: str, shape: tuple[int, ...]) -> Tensor:
    """Standard normal entries for x, smaller ones for weights, so that self-attention spreads over several keys and a
    mistake shows everywhere."""
    return draw.normal(shape, 1.0 if name == "x" else shape[0] ** -0.5)


def qkv_cases(draw: Draw) -> list[Case]:
    """Cases of x and three weight matrices; some matrices are square, because there a transposed weight runs."""
    groups = ("E", "d_k", "d_v"), ("d_k", "d_v"), ("T", "d_k", "d_v")
    return cases(draw, QKV, _gentle) + equal_sizes(draw, QKV, *groups, make=_gentle)


def _projected(*order: int) -> Callable[..., Triple]:
    """A variant whose three outputs are made from the weights in this order: 0 query, 1 key, 2 value."""
    return lambda x, *w: (x @ w[order[0]], x @ w[order[1]], x @ w[order[2]])


def _transposed(*which: int) -> Callable[..., Triple]:
    return lambda x, *w: tuple(x @ (m.mT if i in which else m) for i, m in enumerate(w))


SUBSETS = tuple(which for n in (3, 2, 1) for which in combinations(range(3), n))

# Exchanged weights belong to `outputs-swapped`.
REPEATED = tuple(
    order
    for order in product(range(3), repeat=3)
    if len(set(order)) < 3 and order != (0, 1, 1) and not any(order[j] == i != j for i, j in enumerate(order))
)

PROJECTION_MISTAKES = (
    spec.mistake("weights-transposed", tuple(_transposed(*which) for which in SUBSETS)),
    spec.mistake("value-from-key", (_projected(0, 1, 1),)),
    spec.mistake("same-projection", tuple(_projected(*order) for order in REPEATED)),
    spec.mistake(
        "outputs-swapped", tuple(_projected(*order) for order in permutations(range(3)) if order != (0, 1, 2))
    ),
)

EXERCISE = spec.exercise(
    projections,
    points=2,
    outputs={"query": "... T d_k", "key": "... T d_k", "value": "... T d_v"},
    cases=qkv_cases,
    parts=usual("projects one sequence", 3),
    mistakes={
        **by_id(*PROJECTION_MISTAKES),
        "tokens-in-columns": (lambda x, *w: tuple(m.mT @ x.mT for m in w), lambda x, *w: tuple((x @ m).mT for m in w)),
        "factors-swapped": lambda x, *w: tuple(m @ x for m in w),
        "chained-projections": (
            lambda x, q, k, v: (x @ q, x @ q @ k, x @ q @ k @ v),
            lambda x, q, k, v: (x @ q, x @ q @ k, x @ q @ v),
            lambda x, q, k, v: (x @ q, x @ k, x @ k @ v),
        ),
        "not-projected": (
            lambda x, q, k, v: (x @ q, x @ k, x),
            lambda x, q, k, v: (x, x @ k, x @ v),
            lambda x, q, k, v: (x @ q, x, x @ v),
            lambda x, q, k, v: (x, x, x),
        ),
        **by_id(TWO_AXES_ONLY, BATCH_ONLY),
    },
)
