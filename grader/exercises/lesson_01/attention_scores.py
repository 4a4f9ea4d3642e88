"""`attention_scores`: the dot product of every query with every key."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_01.shared import BATCH_ONLY, LESSON, TWO_AXES_ONLY, cases, usual
from grader.spec.cases import equal_sizes
from grader.spec.exercise import Exercise, Mistake, Output

QK = {"query": "... Tq D", "key": "... Tk D"}


def dot_products(query: Tensor, key: Tensor) -> Tensor:
    """Every query with every key, by the definition of a dot product."""
    return (query.unsqueeze(-2) * key.unsqueeze(-3)).sum(-1)


def key_reshaped(key: Tensor) -> Tensor:
    """Wrongly: the shape of the transpose, but the numbers in their old order."""
    return key.reshape(*key.shape[:-2], key.shape[-1], key.shape[-2])


VIEW_INSTEAD_OF_TRANSPOSE = (
    "view-instead-of-transpose",
    "the keys get their new shape by `view` or `reshape`, which leaves the numbers in their order and transposes "
    "nothing.",
    (
        "Print a small key before and after. Does each row become a column?",
        "`view` and `reshape` only say anew where lines end. Which operation swaps two axes?",
    ),
)

TRANSPOSE_FORGOTTEN = (
    "transpose-forgotten",
    "the queries are multiplied with the keys as they are, `query @ key`; the keys are not transposed.",
    (
        "In a matrix product the inner axes meet: (Tq, D) and what?",
        "Each key is a row. The product needs it as a column.",
    ),
)

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
                "Row i should hold query i against every key. Which factor gives a product its rows? And if you call a "
                "function of your own: in which order does it take its arguments?",
            ),
            (lambda query, key: key @ query.mT,),
        ),
        Mistake(
            "elementwise-product",
            "queries and keys are multiplied entry by entry; a dot product also adds up, and for every pair.",
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
                lambda query, key: query @ key.mT / query.shape[-1] / 2,  # `/ d ** 1 / 2`
            ),
        ),
        Mistake(
            "softmax-too-early",
            "the softmax is already applied; here the bare dot products are asked for.",
            (
                "Add up a row of your result. Should a row of scores sum to one?",
                "Scores may be negative and need not sum to one: the softmax comes later.",
            ),
            (
                lambda query, key: torch.softmax(query @ key.mT, -1),
                lambda query, key: torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), -1),
            ),
        ),
        Mistake(*TRANSPOSE_FORGOTTEN, (lambda query, key: query @ key,)),
        Mistake(*VIEW_INSTEAD_OF_TRANSPOSE, (lambda query, key: query @ key_reshaped(key),)),
        Mistake(
            "gram-of-features",
            "features are compared with features: the sum runs over tokens, and the table is D × D.",
            (
                "How many rows and columns should the table have for 3 queries and 5 keys?",
                "In a matrix product the inner axes disappear. Which axis should disappear here?",
            ),
            (lambda query, key: query.mT @ key, lambda query, key: key.mT @ query),
        ),
        Mistake(
            "one-argument-only",
            "one of the two arguments is used twice, the other not at all.",
            (
                "Where in your code does each argument appear?",
                "With 3 queries and 5 keys: which of the two numbers is missing in your result's shape?",
            ),
            (lambda query, key: query @ query.mT, lambda query, key: key @ key.mT),
        ),
        Mistake(
            "cosine-instead",
            "the vectors are first brought to length 1, so you compute cosines; bare dot products are asked for.",
            (
                "Are all your numbers between -1 and 1? Dot products need not be.",
                "Leave the lengths in: nothing is divided here.",
            ),
            (lambda query, key: F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).mT,),
        ),
        TWO_AXES_ONLY,
        BATCH_ONLY,
    ),
)
