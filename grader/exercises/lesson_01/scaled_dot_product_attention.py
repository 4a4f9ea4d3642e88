"""`scaled_dot_product_attention` (Vaswani et al. 2017, section 3.2.1, equation 1)."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_01.attention_scores import QK, TRANSPOSE_FORGOTTEN, VIEW_INSTEAD_OF_TRANSPOSE, key_reshaped
from grader.exercises.lesson_01.shared import BATCH_ONLY, LESSON, OVERFLOW, TWO_AXES_ONLY, Pair, cases, usual
from grader.spec.cases import equal_sizes
from grader.spec.exclusions import FUSED_ATTENTION, MULTIHEAD_ATTENTION
from grader.spec.exercise import Exercise, Mistake, Output

ATTEND = {**QK, "value": "... Tk d_v"}
Scale = Callable[[Tensor, Tensor], float]
Attend = Callable[[Tensor, Tensor, Tensor], Pair]


def attention(query: Tensor, key: Tensor, value: Tensor) -> Pair:
    """PyTorch's own attention; its weights are what it makes of the identity as value."""
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
    """Scaled dot-product attention with the given parts changed."""

    def wrong(query: Tensor, key: Tensor, value: Tensor) -> Pair:
        scores = query @ key.mT * scale(query, key)
        bare = torch.softmax(scores, dim(scores))
        weights = bare * after(query, key)
        return (weights.mT if transposed else weights) @ value, bare if shown_before else weights

    return wrong


def _reversed_axes(query: Tensor, key: Tensor, value: Tensor) -> Pair:
    """`.T` on the weights alone, which reverses all axes."""
    weights = attention(query, key, value)[1]
    return weights.permute(*reversed(range(weights.dim()))) @ value, weights


def _both_transposed(query: Tensor, key: Tensor, value: Tensor) -> Pair:
    weights = attention(query, key, value)[1].mT
    return weights @ value, weights


def _from_scores(scores: Callable[[Tensor, Tensor], Tensor]) -> Attend:
    """Right but for the way in which query and key make the scores."""

    def wrong(query: Tensor, key: Tensor, value: Tensor) -> Pair:
        weights = torch.softmax(scores(query, key) * _root(query, key), -1)
        return weights @ value, weights

    return wrong


def _finished(output: Callable[[Tensor, Tensor, Tensor], Tensor], shown: Callable[[Tensor, Tensor], Tensor]) -> Attend:
    """`output` gets the scaled scores, their softmax and the values; `shown` the first two."""

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
    Mistake(
        "no-scaling",
        "the scores go into the softmax without being divided by the square root of d_k.",
        (
            "Compare your code with the formula, factor by factor: what is under the fraction line?",
            "Dot products grow with the width of the vectors. Which step of the formula takes the width out again?",
        ),
        (variant(lambda q, k: 1.0),),
    ),
    Mistake(
        "scaled-by-d_k",
        "the scores are divided by d_k itself, or by twice or half of it, not by its square root.",
        (
            "Print your divisor, or follow it: is it the square root of d_k? And is there only one division?",
            "A square root is missing, or the division happens twice: once before the product, once after it. And "
            "Python takes powers before it divides: what is `9 ** 1/2`?",
        ),
        tuple(variant(lambda q, k, n=n: n / q.shape[-1]) for n in (1, 0.5, 2)),  # type: ignore[misc]
    ),
    Mistake(
        "scale-multiplied",
        "the scores are multiplied by the square root of d_k (or by d_k); they should be divided.",
        (
            "Your weights are far too sharp: one key gets nearly everything. In which direction does your scale work?",
            "Watch the sign of an exponent: `x / d ** -0.5` makes x larger.",
        ),
        (variant(lambda q, k: math.sqrt(q.shape[-1])), variant(lambda q, k: float(q.shape[-1]))),
    ),
    Mistake(
        "scaled-after-softmax",
        "the division by the square root of d_k comes after the softmax, where it spoils the sums.",
        (
            "Add up one row of the weights that you multiply with the values. What should the sum be?",
            "The softmax makes every row sum to one. Which of your steps after it changes that sum?",
        ),
        tuple(
            variant(scale, after=_root, shown_before=shown)
            for scale in (_root, lambda q, k: 1.0)
            for shown in (False, True)
        ),
    ),
    Mistake(
        "scaled-by-seq-len",
        "the scores are divided by the square root of the number of tokens, not of d_k.",
        (
            "Which axis does your divisor come from? Print the shape that you take it from.",
            "It is the width of a query or key vector that counts. Count its axis from the end: a batch may stand "
            "before it.",
        ),
        (
            *(variant(lambda q, k, axis=axis: k.shape[axis] ** -0.5) for axis in (-2, 1, 0)),  # type: ignore[misc]
            *(variant(lambda q, k, axis=axis: q.shape[axis] ** -0.5) for axis in (-2, 1, 0)),  # type: ignore[misc]
        ),
    ),
    Mistake(
        "softmax-over-queries",
        "the softmax runs over the wrong axis: the weights of one query don't sum to one.",
        (
            "Sum your weights over the last axis. What should each row give?",
            "The keys are the last axis of the scores, whatever axes come before: count from the end.",
        ),
        tuple(variant(dim=axis) for axis in WRONG_AXES),
    ),
    Mistake(
        "attention-transposed",
        "the transposed weights are multiplied with the values.",
        (
            "Write the shapes under your last product: which axis is summed over?",
            "Row i of the weights belongs to query i and has an entry for every key. What do the rows of the values "
            "belong to?",
        ),
        (variant(transposed=True), _reversed_axes, _both_transposed),
    ),
)

# Beyond the syllabus.
MORE_ATTENTION_MISTAKES = (
    Mistake(
        "scaled-by-value-width",
        "the scores are divided by the square root of the width of the values, not of the keys.",
        (
            "Print the shapes of query, key and value. Which width is your divisor made from?",
            "The scores are dot products of queries and keys. Whose width makes them grow?",
        ),
        (_divided(lambda q, k, v: v.shape[-1]),),
    ),
    Mistake(
        "scores-transposed",
        "rows and columns of the scores are swapped: a row belongs to a key.",
        (
            "With 3 queries and 5 keys, how many rows do your scores have?",
            "Every row goes through the softmax and belongs to one query. In your product, which factor gives the "
            "rows? If you call a function of your own: in which order does it take query and key?",
        ),
        (_from_scores(lambda q, k: k @ q.mT),),
    ),
    Mistake(*TRANSPOSE_FORGOTTEN, (_from_scores(lambda q, k: q @ k),)),
    Mistake(*VIEW_INSTEAD_OF_TRANSPOSE, (_from_scores(lambda q, k: q @ key_reshaped(k)),)),
    Mistake(
        "scores-returned",
        "the output is right, but the second result holds the scores, not the weights.",
        (
            "What does a row of your second result sum to? What should it?",
            "Look at your `return` line: which of your variables holds what the softmax gave?",
        ),
        (
            _finished(lambda s, w, v: w @ v, lambda s, w: s),
            lambda q, k, v: (attention(q, k, v)[0], q @ k.mT),
        ),
    ),
    Mistake(
        "no-softmax",
        "the scores are used as weights: no softmax acts between them and the values.",
        (
            "What do the rows that you multiply with the values sum to? Is every entry positive?",
            "Follow the formula from the inside out: which function comes between the division and V?",
        ),
        (
            _finished(lambda s, w, v: s @ v, lambda s, w: s),
            _finished(lambda s, w, v: s @ v, lambda s, w: w),
            lambda q, k, v: (q @ k.mT @ v, q @ k.mT),
        ),
    ),
    Mistake(
        "value-before-weights",
        "the factors of the last product are in the wrong order: the values come before the weights.",
        (
            "Write the shapes under your last product: which axes meet, and which are left?",
            "One row of weights mixes the rows of the values. The rows of a product come from its left factor.",
        ),
        (
            _finished(lambda s, w, v: v @ w, lambda s, w: w),
            _finished(lambda s, w, v: v.mT @ w, lambda s, w: w),
            _finished(lambda s, w, v: v.mT @ w.mT, lambda s, w: w),
        ),
    ),
)

SWAPPED = Mistake(
    "output-and-weights-swapped",
    "both results are right, but in the wrong order.",
    ("In which order does the docstring list the two results?", "Look at your `return` line: what comes first?"),
    (lambda *args: attention(*args)[::-1],),
)

EXERCISE = Exercise(
    name="scaled_dot_product_attention",
    lesson=LESSON,
    points=3,
    signature=tuple(ATTEND),
    outputs=(Output("output", "... Tq d_v"), Output("weights", "... Tq Tk")),
    cases=lambda draw: cases(draw, ATTEND) + equal_sizes(draw, ATTEND, ("Tq", "Tk"), ("Tk", "D"), ("Tq", "Tk", "d_v")),
    reference=attention,
    parts=usual("attends in one sequence", 4, leading=1.5),
    mistakes=(
        *ATTENTION_MISTAKES,
        *MORE_ATTENTION_MISTAKES,
        SWAPPED,
        Mistake(
            "key-used-as-value",
            "the weights are multiplied with the keys; what they mix are the values.",
            (
                "How wide is your output? How wide are the values?",
                "Follow `value` through your code: where is it used?",
            ),
            (lambda q, k, v: (attention(q, k, v)[1] @ k, attention(q, k, v)[1]),),
        ),
        OVERFLOW,
        TWO_AXES_ONLY,
        BATCH_ONLY,
    ),
    excluded=(FUSED_ATTENTION, MULTIHEAD_ATTENTION),
    builds_on=("attention_scores", "stable_softmax"),
)
