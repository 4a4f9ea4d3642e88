"""`pairwise_dot_products`: the dot product of every token with every token."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_01.attention_scores import key_reshaped
from grader.exercises.lesson_01.shared import BATCH_ONLY, TWO_AXES_ONLY, X, cases, usual
from grader.spec import parts
from grader.spec.cases import equal_sizes
from grader.spec.loops import loops, two_lengths, without_loop
from grader.spec.session import Session
from grader.spec.spec import Spec, When, by_id
from grader.tolerance import FLOAT32

spec = Spec(__name__)


def pairwise(x: Tensor) -> Tensor:
    """(…, T, E) → (…, T, T): every token with every token, by the definition of a dot product."""
    return (x.unsqueeze(-2) * x.unsqueeze(-3)).sum(-1)


def cosine(dim: int) -> Callable[[Tensor], Tensor]:
    """A variant of `pairwise` that divides x by its norms along `dim` first: along the features it gives cosines."""
    return lambda x: pairwise(F.normalize(x, dim=dim))


def _loops_and_is_right(session: Session) -> bool:
    return parts.inspect_call(session, session.cases["one sequence"], FLOAT32) is None and loops(session)


def _all_features(x: Tensor) -> Tensor:
    """(…, T, E) → (E, E), wrongly: every feature with every feature, over all tokens of the whole batch."""
    flat = x.flatten(0, -2)
    return flat.mT @ flat


EXERCISE = spec.exercise(
    pairwise,
    points=2,
    outputs={"scores": "... T T"},
    cases=lambda draw: cases(draw, X) + two_lengths(draw, X, "T") + equal_sizes(draw, X, ("T", "E")),
    parts=(
        *usual("compares every token of one sequence with every other", 3),
        without_loop("tokens", 2),
    ),
    mistakes={
        "gram-of-features": (lambda x: x.mT @ x, _all_features),
        "cosine-instead": (cosine(-1), cosine(1)),  # `F.normalize` takes axis 1 if it is told none
        "scaled-anyway": (lambda x: pairwise(x) / math.sqrt(x.shape[-1]), lambda x: pairwise(x) / x.shape[-1]),
        "softmax-too-early": (
            lambda x: torch.softmax(pairwise(x), -1),
            lambda x: torch.softmax(pairwise(x) / math.sqrt(x.shape[-1]), -1),
        ),
        "elementwise-product": (
            lambda x: x * x,
            lambda x: (x * x).sum(-1),
            lambda x: (x * x).sum(-1, keepdim=True),
            lambda x: x.unsqueeze(-2) * x.unsqueeze(-3),
            lambda x: (x.unsqueeze(-2) * x.unsqueeze(-3)).sum(-2),
        ),
        "transpose-forgotten": lambda x: x @ x,
        "view-instead-of-transpose": lambda x: x @ key_reshaped(x),
        "loop-over-tokens": When(_loops_and_is_right),
        **by_id(TWO_AXES_ONLY, BATCH_ONLY),
    },
)
