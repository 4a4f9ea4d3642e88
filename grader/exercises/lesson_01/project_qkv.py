"""`project_qkv`: queries, keys and values, each a matrix product with weights of its own."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, permutations, product

import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_01.shared import BATCH_ONLY, LESSON, TWO_AXES_ONLY, Triple, cases, usual
from grader.spec.cases import equal_sizes
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Exercise, Mistake, Output

QKV = {"x": "... T E", "w_query": "E d_k", "w_key": "E d_k", "w_value": "E d_v"}


def projections(x: Tensor, w_query: Tensor, w_key: Tensor, w_value: Tensor) -> Triple:
    """PyTorch's own `F.linear`, whose weight is the transpose of ours."""
    return F.linear(x, w_query.mT), F.linear(x, w_key.mT), F.linear(x, w_value.mT)


def _gentle(draw: Draw, name: str, shape: tuple[int, ...]) -> Tensor:
    """Small weights, so that self-attention spreads over several keys and a mistake shows everywhere."""
    return draw.normal(shape, 1.0 if name == "x" else shape[0] ** -0.5)


def qkv_cases(draw: Draw) -> list[Case]:
    """Tokens and three weight matrices, also square ones, with which a transposed weight runs."""
    groups = ("E", "d_k", "d_v"), ("d_k", "d_v"), ("T", "d_k", "d_v")
    return cases(draw, QKV, _gentle) + equal_sizes(draw, QKV, *groups, make=_gentle)


def _projected(*order: int) -> Callable[..., Triple]:
    """The three outputs made from the weights in this order: 0 query, 1 key, 2 value."""
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
    Mistake(
        "weights-transposed",
        "a weight matrix is transposed, as in `x @ w.T`.",
        (
            "Write the two shapes beside each other: which axes meet in the product?",
            "A weight is stored as (E, d_k) here. (`nn.Linear` stores its weight as (d_k, E).)",
        ),
        tuple(_transposed(*which) for which in SUBSETS),
    ),
    Mistake(
        "value-from-key",
        "the values are made with the key's weights.",
        (
            "Is one of the three lines a copy that was only half changed?",
            "Look at the line for the values: which weight matrix does it use?",
        ),
        (_projected(0, 1, 1),),
    ),
    Mistake(
        "same-projection",
        "the same weight matrix makes more than one of query, key and value.",
        (
            "Each of the three has a weight matrix of its own. Is every argument used?",
            "Look at each line: do the name on the left and the weight on the right belong together?",
        ),
        tuple(_projected(*order) for order in REPEATED),
    ),
    Mistake(
        "outputs-swapped",
        "the three results are right, but in another order.",
        (
            "In which order does the docstring list the three results?",
            "Query, key, value: is that the order of your `return` line, and of the lines above it?",
        ),
        tuple(_projected(*order) for order in permutations(range(3)) if order != (0, 1, 2)),
    ),
)

EXERCISE = Exercise(
    name="project_qkv",
    lesson=LESSON,
    points=2,
    signature=tuple(QKV),
    outputs=(Output("query", "... T d_k"), Output("key", "... T d_k"), Output("value", "... T d_v")),
    cases=qkv_cases,
    reference=projections,
    parts=usual("projects one sequence", 3),
    mistakes=(
        *PROJECTION_MISTAKES,
        Mistake(
            "tokens-in-columns",
            "every token became a column of the result; it should be a row.",
            (
                "For 3 tokens of width 4 and a query of width 2: which shape do you get, and which one is expected?",
                "In a product the rows come from the left factor. Which factor has a row for each token?",
            ),
            (lambda x, *w: tuple(m.mT @ x.mT for m in w), lambda x, *w: tuple((x @ m).mT for m in w)),
        ),
        Mistake(
            "factors-swapped",
            "the factors of the product are in the wrong order: the weight matrix comes before x.",
            (
                "Write the two shapes beside each other, in the order of your product: which axes meet?",
                "The last axis of the left factor meets the first axis of the weight matrix. Which factor ends in E?",
            ),
            (lambda x, *w: tuple(m @ x for m in w),),
        ),
        Mistake(
            "chained-projections",
            "a weight matrix is applied to the result of another one; each should be applied to x.",
            (
                "What does each of your three lines multiply with its weight matrix?",
                "Query, key and value don't build on each other. What do they all start from?",
            ),
            (
                lambda x, q, k, v: (x @ q, x @ q @ k, x @ q @ k @ v),
                lambda x, q, k, v: (x @ q, x @ q @ k, x @ q @ v),
                lambda x, q, k, v: (x @ q, x @ k, x @ k @ v),
            ),
        ),
        Mistake(
            "not-projected",
            "x itself comes back where its projection is expected.",
            (
                "Which of your results has the width of x? Should it?",
                "Each of the three weight matrices is used once. Which one is missing?",
            ),
            (
                lambda x, q, k, v: (x @ q, x @ k, x),
                lambda x, q, k, v: (x, x @ k, x @ v),
                lambda x, q, k, v: (x @ q, x, x @ v),
                lambda x, q, k, v: (x, x, x),
            ),
        ),
        TWO_AXES_ONLY,
        BATCH_ONLY,
    ),
)
