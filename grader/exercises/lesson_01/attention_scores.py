"""`attention_scores`: the dot product of every query with every key."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from grader.exercises.lesson_01.shared import LESSON, TWO_AXES_ONLY, cases, usual
from grader.spec.cases import equal_sizes
from grader.spec.exercise import Exercise, Mistake, Output

QK = {"query": "... Tq D", "key": "... Tk D"}


def dot_products(query: Tensor, key: Tensor) -> Tensor:
    """Every query with every key, by the definition of a dot product."""
    return (query.unsqueeze(-2) * key.unsqueeze(-3)).sum(-1)


EXERCISE = Exercise(
    name="attention_scores",
    lesson=LESSON,
    points=2,
    signature=tuple(QK),
    outputs=(Output("scores", "... Tq Tk"),),
    cases=lambda draw: cases(draw, QK) + equal_sizes(draw, QK, ("Tq", "Tk"), ("Tk", "D"), ("Tq", "Tk", "D")),
    reference=dot_products,
    parts=usual("scores one sequence", 3),
    mistakes=(
        Mistake(
            "scores-transposed",
            "rows and columns are swapped: your rows belong to the keys.",
            (
                "Look at the shape for 3 queries and 5 keys: how many rows should the scores have?",
                "Row t should hold what query t gets with every key. Which factor gives a product its rows?",
            ),
            (lambda query, key: key @ query.mT,),
        ),
        Mistake(
            "elementwise-product",
            "queries and keys are multiplied entry by entry; a dot product adds up as well, for every pair.",
            (
                "How many scores should there be for 3 queries and 5 keys? How many does your product give?",
                "A matrix product pairs every row of the left with every column of the right, and adds up by itself.",
            ),
            (
                lambda query, key: query * key,
                lambda query, key: (query * key).sum(-1),
                lambda query, key: (query * key).sum(-1, keepdim=True),
                lambda query, key: query.unsqueeze(-2) * key.unsqueeze(-3),
                lambda query, key: query * key / math.sqrt(query.shape[-1]),
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
                "Each key is a row. The product wants it as a column.",
            ),
            (lambda query, key: query @ key,),
        ),
        TWO_AXES_ONLY,
    ),
)
