"""Lesson 01, self-attention by hand: scaled dot-product attention (Vaswani et al. 2017, section 3.2.1, equation 1)."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from grader import parts
from grader.cases import equal_sizes, standard
from grader.draw import Draw
from grader.exclusions import FUSED_ATTENTION, MULTIHEAD_ATTENTION
from grader.exercises.lesson_01_quiz import QUIZ
from grader.exercises.lesson_01_softmax import STABLE_SOFTMAX
from grader.exercises.lesson_01_validate import VALIDATE_ATTENTION
from grader.spec import Case, Exercise, Mistake, Output

LESSON = "01_self_attention"
Pair = tuple[Tensor, Tensor]
Triple = tuple[Tensor, Tensor, Tensor]

# --- references -------------------------------------------------------------------------------------------------------


def projections(x: Tensor, w_query: Tensor, w_key: Tensor, w_value: Tensor) -> Triple:
    """Each projection by `F.linear`, whose weight is stored the other way round."""
    return F.linear(x, w_query.mT), F.linear(x, w_key.mT), F.linear(x, w_value.mT)


def dot_products(query: Tensor, key: Tensor) -> Tensor:
    """Every query with every key, by the definition of a dot product."""
    return (query.unsqueeze(-2) * key.unsqueeze(-3)).sum(-1)


def attention(query: Tensor, key: Tensor, value: Tensor) -> Pair:
    """PyTorch's own attention; its weights are what it makes of the identity as value."""
    identity = torch.eye(key.shape[-2], dtype=value.dtype).expand(*key.shape[:-1], key.shape[-2])
    return F.scaled_dot_product_attention(query, key, value), F.scaled_dot_product_attention(query, key, identity)


def attention_of(x: Tensor, w_query: Tensor, w_key: Tensor, w_value: Tensor) -> Pair:
    """Self-attention: project, then attend."""
    return attention(*projections(x, w_query, w_key, w_value))


# --- wrong on purpose -------------------------------------------------------------------------------------------------


def variant(
    scale: Callable[[Tensor, Tensor], float] = lambda q, k: 1 / math.sqrt(q.shape[-1]),
    dim: int = -1,
    after: Callable[[Tensor, Tensor], float] = lambda q, k: 1.0,
    transposed: bool = False,
    shown_before: bool = False,
) -> Callable[[Tensor, Tensor, Tensor], Pair]:
    """An attention that differs from the right one in what is named."""

    def wrong(query: Tensor, key: Tensor, value: Tensor) -> Pair:
        bare = torch.softmax(query @ key.mT * scale(query, key), dim)
        weights = bare * after(query, key)
        return (weights.mT if transposed else weights) @ value, bare if shown_before else weights

    return wrong


def _square_transposed(query: Tensor, key: Tensor, value: Tensor) -> Pair:
    """`.T` on the weights alone, which turns every axis round."""
    weights = attention(query, key, value)[1]
    return weights.permute(*reversed(range(weights.dim()))) @ value, weights


ATTENTION_MISTAKES = (
    Mistake(
        "no-scaling",
        "the scores go into the softmax without being divided by the square root of d_k.",
        (
            "Compare your code with the formula, factor by factor: what stands under the fraction line?",
            "Dot products grow with the width of the vectors; the division by sqrt(d_k) undoes that.",
        ),
        (variant(lambda q, k: 1.0),),
    ),
    Mistake(
        "scaled-by-d_k",
        "the scores are divided by d_k itself, not by its square root.",
        ("Look at the divisor once more: is it d_k or something smaller?", "A square root is missing."),
        (variant(lambda q, k: 1 / q.shape[-1]),),
    ),
    Mistake(
        "scale-multiplied",
        "the scores are multiplied by the square root of d_k where they should be divided.",
        (
            "Your weights are far too sharp: one key gets nearly everything. In which direction does your scale work?",
            "`x / d ** -0.5` multiplies: the two minus signs cancel. Divide by `d ** 0.5` or multiply by `d ** -0.5`.",
        ),
        (variant(lambda q, k: math.sqrt(q.shape[-1])), variant(lambda q, k: float(q.shape[-1]))),
    ),
    Mistake(
        "scaled-after-softmax",
        "the division by the square root of d_k comes after the softmax, so the rows no longer sum to one.",
        (
            "Add up one row of your weights. What should the sum be?",
            "Scale the scores first; the softmax comes last.",
        ),
        tuple(
            variant(lambda q, k: 1.0, after=lambda q, k: 1 / math.sqrt(q.shape[-1]), shown_before=shown)
            for shown in (False, True)
        )
        + tuple(variant(after=lambda q, k: 1 / math.sqrt(q.shape[-1]), shown_before=shown) for shown in (False, True)),
    ),
    Mistake(
        "scaled-by-seq-len",
        "the scores are divided by the square root of the number of tokens, not of d_k.",
        (
            "Which axis does your divisor come from? Print the shape that you take it from.",
            "It is the width of a query or key vector that counts: the last axis, not the one before it.",
        ),
        (variant(lambda q, k: k.shape[-2] ** -0.5), variant(lambda q, k: q.shape[-2] ** -0.5)),
    ),
    Mistake(
        "softmax-over-queries",
        "the softmax runs over the wrong axis: the weights of one query don't sum to one.",
        (
            "Sum your weights over the last axis. Every query should have 1 to share out among the keys.",
            "The keys are the last axis of the scores, whatever axes come before: count from the end.",
        ),
        (variant(dim=-2), variant(dim=0), variant(dim=1)),
    ),
    Mistake(
        "attention-transposed",
        "the transposed weights are multiplied with the values.",
        (
            "Write the shapes under your last product: which axis is summed over?",
            "Row t of the weights belongs to query t and has an entry for every key; the values have a row for every key.",
        ),
        (variant(transposed=True), _square_transposed),
    ),
)


def _projected(*order: int) -> Callable[..., Triple]:
    """The three outputs made from the weights in this order: 0 query, 1 key, 2 value."""
    return lambda x, *w: (x @ w[order[0]], x @ w[order[1]], x @ w[order[2]])


def _transposed(*which: int) -> Callable[..., Triple]:
    return lambda x, *w: tuple(x @ (m.mT if i in which else m) for i, m in enumerate(w))


PROJECTION_MISTAKES = (
    Mistake(
        "weights-transposed",
        "a weight matrix is used the wrong way round, as `x @ w.T`.",
        (
            "Write the two shapes beside each other: which axes meet in the product?",
            "A weight is stored (E, d_k) here: its first axis meets the last axis of x. (`nn.Linear` does it otherwise.)",
        ),
        (_transposed(0, 1, 2), _transposed(0), _transposed(1), _transposed(2)),
    ),
    Mistake(
        "value-from-key",
        "the values are made with the key's weights.",
        (
            "One of the three lines was copied and not changed to the end.",
            "Look at what the value is multiplied with.",
        ),
        (_projected(0, 1, 1),),
    ),
    Mistake(
        "same-projection",
        "one and the same weight matrix makes more than one of query, key and value.",
        (
            "Each of the three has a weight matrix of its own. Is every argument used?",
            "Look at each line: the name on the left and the weight on the right should belong together.",
        ),
        (
            *(_projected(i, i, i) for i in range(3)),
            *(_projected(*order) for order in ((0, 0, 2), (1, 1, 2), (0, 1, 0), (2, 1, 2), (0, 2, 2))),
        ),
    ),
    Mistake(
        "outputs-swapped",
        "the three results are right but stand in another order.",
        ("The order is query, key, value, on the left and on the right.",),
        tuple(_projected(*order) for order in ((0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))),
    ),
)


def _after(project: Callable[..., Triple]) -> Callable[..., Pair]:
    return lambda *args: attention(*project(*args))


def _inside(attend: Callable[..., Pair]) -> Callable[..., Pair]:
    return lambda *args: attend(*projections(*args))


def _no_value_projection(x: Tensor, w_query: Tensor, w_key: Tensor, w_value: Tensor) -> Pair:
    weights = attention_of(x, w_query, w_key, w_value)[1]
    return weights @ x, weights


def _wrapped(mistakes: tuple[Mistake, ...], wrap: Callable[..., Callable[..., Pair]]) -> tuple[Mistake, ...]:
    return tuple(Mistake(m.id, m.symptom, m.hints, tuple(wrap(v) for v in m.variants)) for m in mistakes)


# --- the exercises ----------------------------------------------------------------------------------------------------

QKV = {"x": "... T E", "w_query": "E d_k", "w_key": "E d_k", "w_value": "E d_v"}
QK = {"query": "... Tq D", "key": "... Tk D"}
ATTEND = {**QK, "value": "... Tk d_v"}
WEIGHT_SHARED = {"w_query", "w_key", "w_value"}


def _gentle(draw: Draw, name: str, shape: tuple[int, ...]) -> Tensor:
    """Small weights, so that self-attention spreads over several keys and a mistake shows everywhere."""
    return draw.normal(shape, shape[0] ** -0.5 if name in WEIGHT_SHARED else 1.0)


def _qkv_cases(draw: Draw) -> list[Case]:
    return standard(draw, QKV, _gentle) + equal_sizes(draw, QKV, ("E", "d_k", "d_v"), ("d_k", "d_v"), make=_gentle)


PROJECT_QKV = Exercise(
    name="project_qkv",
    lesson=LESSON,
    points=2,
    signature=tuple(QKV),
    outputs=(Output("query", "... T d_k"), Output("key", "... T d_k"), Output("value", "... T d_v")),
    cases=_qkv_cases,
    reference=projections,
    parts=parts.usual("projects one sequence", 3),
    mistakes=PROJECTION_MISTAKES,
)

ATTENTION_SCORES = Exercise(
    name="attention_scores",
    lesson=LESSON,
    points=2,
    signature=tuple(QK),
    outputs=(Output("scores", "... Tq Tk"),),
    cases=lambda draw: standard(draw, QK) + equal_sizes(draw, QK, ("Tq", "Tk"), ("Tk", "D"), ("Tq", "Tk", "D")),
    reference=dot_products,
    parts=parts.usual("scores one sequence", 3),
    mistakes=(
        Mistake(
            "scores-transposed",
            "rows and columns are swapped: your rows belong to the keys.",
            (
                "Look at the shape for 3 queries and 5 keys: how many rows should the scores have?",
                "Row t should hold what query t gets with every key, so the queries come first in the product.",
            ),
            (lambda query, key: key @ query.mT,),
        ),
        Mistake(
            "elementwise-product",
            "queries and keys are multiplied entry by entry; a dot product adds up as well, for every pair.",
            (
                "How many scores should there be for 3 queries and 5 keys? How many does your product give?",
                "A matrix product of the queries with the transposed keys takes every dot product at once.",
            ),
            (
                lambda query, key: query * key,
                lambda query, key: (query * key).sum(-1),
                lambda query, key: (query * key).sum(-1, keepdim=True),
                lambda query, key: query.unsqueeze(-2) * key.unsqueeze(-3),
            ),
        ),
        Mistake(
            "scaled-too-early",
            "the scores are already divided; here the bare dot products are asked for.",
            (
                "Your numbers are right up to one factor. Where does it come from?",
                "The scale has its place in `scaled_dot_product_attention`, not here.",
            ),
            (
                lambda query, key: query @ key.mT / math.sqrt(query.shape[-1]),
                lambda query, key: query @ key.mT / query.shape[-1],
            ),
        ),
        Mistake(
            "softmax-too-early",
            "the softmax is already applied; here the bare dot products are asked for.",
            ("Scores may be negative and need not sum to one: the softmax comes later.",),
            (
                lambda query, key: torch.softmax(query @ key.mT, -1),
                lambda query, key: torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), -1),
            ),
        ),
        Mistake(
            "transpose-forgotten",
            "queries are multiplied with the keys as they lie, `query @ key`, without turning the keys round.",
            (
                "In a matrix product the inner axes meet: (Tq, D) and what?",
                "Swap the last two axes of the keys.",
            ),
            (lambda query, key: query @ key,),
        ),
    ),
)

SCALED_DOT_PRODUCT_ATTENTION = Exercise(
    name="scaled_dot_product_attention",
    lesson=LESSON,
    points=3,
    signature=tuple(ATTEND),
    outputs=(Output("output", "... Tq d_v"), Output("weights", "... Tq Tk")),
    cases=lambda draw: standard(draw, ATTEND) + equal_sizes(draw, ATTEND, ("Tq", "Tk")),
    reference=attention,
    parts=parts.usual("attends in one sequence", 4, leading=1.5),
    mistakes=ATTENTION_MISTAKES,
    excluded=(FUSED_ATTENTION, MULTIHEAD_ATTENTION),
    builds_on=("attention_scores", "stable_softmax"),
)

SELF_ATTENTION = Exercise(
    name="self_attention",
    lesson=LESSON,
    points=2,
    signature=tuple(QKV),
    outputs=(Output("output", "... T d_v"), Output("weights", "... T T")),
    cases=_qkv_cases,
    reference=attention_of,
    parts=parts.usual("attends in one sequence", 4, leading=1.5),
    mistakes=(
        Mistake(
            "no-value-projection",
            "the weights are multiplied with x itself: the values are never made.",
            (
                "What does the attention take its average of?",
                "The average is taken of the values, and `w_value` makes them from x.",
            ),
            (_no_value_projection,),
        ),
        *_wrapped(PROJECTION_MISTAKES[:3], _after),
        *_wrapped(ATTENTION_MISTAKES, _inside),
    ),
    builds_on=("project_qkv", "attention_scores", "stable_softmax", "scaled_dot_product_attention"),
)

EXERCISES = (
    PROJECT_QKV,
    ATTENTION_SCORES,
    STABLE_SOFTMAX,
    SCALED_DOT_PRODUCT_ATTENTION,
    SELF_ATTENTION,
    VALIDATE_ATTENTION,
    QUIZ,
)
