"""`merge_heads`: from (H, T, D) back to (T, E) (Vaswani et al. 2017, section 3.2.2)."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.exercises.lesson_01.shared import BATCH_ONLY, TWO_AXES_ONLY
from grader.exercises.lesson_03.shared import (
    LESSON,
    VIEW_WITHOUT_CONTIGUOUS,
    merge_by_view,
    numbered,
    two_head_sizes,
    usual,
    with_leading_axes,
)
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Exercise, Output
from grader.spec.words import Words

mistake = Words(__file__)


def reference(x: Tensor) -> Tensor:
    """(…, H, T, D) → (…, T, H*D): the heads side by side."""
    return torch.cat(x.unbind(-3), -1)


def _cases(draw: Draw) -> list[Case]:
    return with_leading_axes(draw, {"x": "... H T D"}, two_head_sizes(draw, "T"), first=numbered)


EXERCISE = Exercise(
    name="merge_heads",
    lesson=LESSON,
    points=2,
    signature=("x",),
    outputs=(Output("merged", "... T H*D"),),
    cases=_cases,
    reference=reference,
    parts=usual("merges one sequence", 3, finite=False),
    mistakes=(
        mistake("merge-without-transpose", (merge_by_view,)),
        mistake(
            "heads-averaged",
            (
                lambda x: x.mean(-3),
                lambda x: x.mean(-3, keepdim=True),
                lambda x: x.mean(-3).repeat(*[1] * (x.dim() - 2), x.shape[-3]),
                lambda x: x.mean(-3).repeat_interleave(x.shape[-3], -1),
            ),
        ),
        mistake(
            "heads-summed",
            (
                lambda x: x.sum(-3),
                lambda x: x.sum(-3, keepdim=True),
                lambda x: x.sum(-3).repeat(*[1] * (x.dim() - 2), x.shape[-3]),
                lambda x: x.sum(-3).repeat_interleave(x.shape[-3], -1),
            ),
        ),
        mistake("heads-interleaved", (lambda x: x.movedim(-3, -1).flatten(-2),)),
        mistake("not-merged", (lambda x: x.transpose(-3, -2), lambda x: x)),
        mistake("tokens-joined", (lambda x: x.flatten(-2),)),
        mistake("heads-below-each-other", (lambda x: x.flatten(-3, -2),)),
        mistake("wrong-axes-swapped", (lambda x: x.mT.reshape(*x.shape[:-3], x.shape[-2], -1),)),
        VIEW_WITHOUT_CONTIGUOUS,
        TWO_AXES_ONLY,
        BATCH_ONLY,
    ),
)
