"""`attention_scores`: the dot product of every query with every key."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_01.shared import BATCH_ONLY, LESSON, TWO_AXES_ONLY, cases, usual
from grader.exercises.lesson_01.shared import mistake as shared_mistake
from grader.spec.cases import equal_sizes
from grader.spec.exercise import Exercise, Output
from grader.spec.words import Words

mistake = Words(__file__)

QK = {"query": "... Tq D", "key": "... Tk D"}


def dot_products(query: Tensor, key: Tensor) -> Tensor:
    """(…, Tq, D) and (…, Tk, D) → (…, Tq, Tk): every query with every key, by the definition of a dot product."""
    return (query.unsqueeze(-2) * key.unsqueeze(-3)).sum(-1)


def key_reshaped(key: Tensor) -> Tensor:
    """(…, Tk, D) → (…, D, Tk), wrongly: the shape of the transpose, but the numbers in their old order."""
    return key.reshape(*key.shape[:-2], key.shape[-1], key.shape[-2])


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
        mistake("scores-transposed", (lambda query, key: key @ query.mT,)),
        mistake(
            "elementwise-product",
            (
                lambda query, key: query * key,
                lambda query, key: (query * key).sum(-1),
                lambda query, key: (query * key).sum(-1, keepdim=True),
                lambda query, key: query.unsqueeze(-2) * key.unsqueeze(-3),
                lambda query, key: query * key / math.sqrt(query.shape[-1]),
            ),
        ),
        mistake(
            "scaled-too-early",
            (
                lambda query, key: query @ key.mT / math.sqrt(query.shape[-1]),
                lambda query, key: query @ key.mT / query.shape[-1],
                lambda query, key: query @ key.mT / query.shape[-1] / 2,  # `/ d ** 1 / 2`
            ),
        ),
        mistake(
            "softmax-too-early",
            (
                lambda query, key: torch.softmax(query @ key.mT, -1),
                lambda query, key: torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), -1),
            ),
        ),
        shared_mistake("transpose-forgotten", (lambda query, key: query @ key,)),
        shared_mistake("view-instead-of-transpose", (lambda query, key: query @ key_reshaped(key),)),
        mistake("gram-of-features", (lambda query, key: query.mT @ key, lambda query, key: key.mT @ query)),
        mistake("one-argument-only", (lambda query, key: query @ query.mT, lambda query, key: key @ key.mT)),
        mistake("cosine-instead", (lambda query, key: F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).mT,)),
        TWO_AXES_ONLY,
        BATCH_ONLY,
    ),
)
