"""`attention_scores`: the dot product of every query with every key."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_01.shared import BATCH_ONLY, TWO_AXES_ONLY, cases, usual
from grader.exercises.lesson_01.shared import mistake as shared_mistake
from grader.spec.cases import equal_sizes
from grader.spec.spec import Spec, by_id

spec = Spec(__name__, shared_mistake)

QK = {"query": "... Tq D", "key": "... Tk D"}


def dot_products(query: Tensor, key: Tensor) -> Tensor:
    """(…, Tq, D) and (…, Tk, D) → (…, Tq, Tk): every query with every key, by the definition of a dot product."""
    return (query.unsqueeze(-2) * key.unsqueeze(-3)).sum(-1)


def key_reshaped(key: Tensor) -> Tensor:
    """(…, Tk, D) → (…, D, Tk), wrongly: the shape of the transpose, but the numbers in their old order."""
    return key.reshape(*key.shape[:-2], key.shape[-1], key.shape[-2])


EXERCISE = spec.exercise(
    dot_products,
    points=2,
    outputs={"scores": "... Tq Tk"},
    cases=lambda draw: cases(draw, QK) + equal_sizes(draw, QK, ("Tq", "Tk"), ("Tk", "D"), ("Tq", "Tk", "D")),
    parts=usual("scores one sequence", 3),
    mistakes={
        "scores-transposed": lambda query, key: key @ query.mT,
        "elementwise-product": (
            lambda query, key: query * key,
            lambda query, key: (query * key).sum(-1),
            lambda query, key: (query * key).sum(-1, keepdim=True),
            lambda query, key: query.unsqueeze(-2) * key.unsqueeze(-3),
            lambda query, key: query * key / math.sqrt(query.shape[-1]),
        ),
        "scaled-too-early": (
            lambda query, key: query @ key.mT / math.sqrt(query.shape[-1]),
            lambda query, key: query @ key.mT / query.shape[-1],
            lambda query, key: query @ key.mT / query.shape[-1] / 2,  # `/ d ** 1 / 2`
        ),
        "softmax-too-early": (
            lambda query, key: torch.softmax(query @ key.mT, -1),
            lambda query, key: torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), -1),
        ),
        "transpose-forgotten": lambda query, key: query @ key,
        "view-instead-of-transpose": lambda query, key: query @ key_reshaped(key),
        "gram-of-features": (lambda query, key: query.mT @ key, lambda query, key: key.mT @ query),
        "one-argument-only": (lambda query, key: query @ query.mT, lambda query, key: key @ key.mT),
        "cosine-instead": lambda query, key: F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).mT,
        **by_id(TWO_AXES_ONLY, BATCH_ONLY),
    },
)
