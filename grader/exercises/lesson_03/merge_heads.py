"""`merge_heads`: from (H, T, D) back to (T, E) (Vaswani et al. 2017, section 3.2.2)."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.exercises.lesson_01.shared import BATCH_ONLY, TWO_AXES_ONLY
from grader.exercises.lesson_03.shared import (
    VIEW_WITHOUT_CONTIGUOUS,
    merge_by_view,
    numbered,
    two_head_sizes,
    usual,
    with_leading_axes,
)
from grader.spec.draw import Draw
from grader.spec.exercise import Case
from grader.spec.spec import Spec, by_id

spec = Spec(__name__)


def reference(x: Tensor) -> Tensor:
    """(…, H, T, D) → (…, T, H*D): the heads side by side."""
    return torch.cat(x.unbind(-3), -1)


def _cases(draw: Draw) -> list[Case]:
    return with_leading_axes(draw, {"x": "... H T D"}, two_head_sizes(draw, "T"), first=numbered)


EXERCISE = spec.exercise(
    reference,
    points=2,
    outputs={"merged": "... T H*D"},
    cases=_cases,
    parts=usual("merges one sequence", 3, finite=False),
    mistakes={
        "merge-without-transpose": merge_by_view,
        "heads-averaged": (
            lambda x: x.mean(-3),
            lambda x: x.mean(-3, keepdim=True),
            lambda x: x.mean(-3).repeat(*[1] * (x.dim() - 2), x.shape[-3]),
            lambda x: x.mean(-3).repeat_interleave(x.shape[-3], -1),
        ),
        "heads-summed": (
            lambda x: x.sum(-3),
            lambda x: x.sum(-3, keepdim=True),
            lambda x: x.sum(-3).repeat(*[1] * (x.dim() - 2), x.shape[-3]),
            lambda x: x.sum(-3).repeat_interleave(x.shape[-3], -1),
        ),
        "heads-interleaved": lambda x: x.movedim(-3, -1).flatten(-2),
        "not-merged": (lambda x: x.transpose(-3, -2), lambda x: x),
        "tokens-joined": lambda x: x.flatten(-2),
        "heads-below-each-other": lambda x: x.flatten(-3, -2),
        "wrong-axes-swapped": lambda x: x.mT.reshape(*x.shape[:-3], x.shape[-2], -1),
        **by_id(VIEW_WITHOUT_CONTIGUOUS, TWO_AXES_ONLY, BATCH_ONLY),
    },
)
