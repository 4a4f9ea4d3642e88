"""`merge_heads`: from (H, T, D) back to (T, E) (Vaswani et al. 2017, section 3.2.2)."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.exercises.lesson_03.shared import (
    LESSON,
    merge_by_view,
    numbered,
    two_head_sizes,
    usual,
    view_refused,
    with_leading_axes,
)
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Exercise, Mistake, Output


def reference(x: Tensor) -> Tensor:
    """The heads side by side."""
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
        Mistake(
            "merge-without-transpose",
            "the shape is right, but a token's row holds numbers of several tokens: the heads were flattened where "
            "they stood, in front of the tokens.",
            (
                "Compare got and expected in the first row. Which token do the numbers come from?",
                "Only neighbouring axes can be joined. Bring num_heads next to head_dim first, then join the two.",
            ),
            (merge_by_view,),
        ),
        Mistake(
            "heads-averaged",
            "the heads are averaged; each of them should keep its own place in the row.",
            (
                "How wide should a token be afterwards, for 2 heads of 5 numbers each?",
                "Merging undoes splitting: nothing is added up, nothing is lost.",
            ),
            (
                lambda x: x.mean(-3),
                lambda x: x.mean(-3, keepdim=True),
                lambda x: x.mean(-3).repeat(*[1] * (x.dim() - 2), x.shape[-3]),
                lambda x: x.mean(-3).repeat_interleave(x.shape[-3], -1),
            ),
        ),
        Mistake(
            "heads-summed",
            "the heads are added up; each of them should keep its own place in the row.",
            (
                "How wide should a token be afterwards, for 2 heads of 5 numbers each?",
                "Merging undoes splitting: nothing is added up, nothing is lost.",
            ),
            (
                lambda x: x.sum(-3),
                lambda x: x.sum(-3, keepdim=True),
                lambda x: x.sum(-3).repeat(*[1] * (x.dim() - 2), x.shape[-3]),
                lambda x: x.sum(-3).repeat_interleave(x.shape[-3], -1),
            ),
        ),
        Mistake(
            "heads-interleaved",
            "the heads alternate number by number; each should stay in one piece.",
            (
                "Where should the second number of head 0 stand in the merged row?",
                "Before you join two axes, the heads must be the slow one and head_dim the fast one.",
            ),
            (lambda x: x.movedim(-3, -1).flatten(-2),),
        ),
        Mistake(
            "view-without-contiguous",
            "`view` refuses to run after a transpose: the numbers don't lie in memory in the order of the axes.",
            (
                "The transpose is right, so keep it. It is the `view` that needs something first.",
                "`.contiguous()` copies the numbers into the order of the axes; `.reshape` does so if it must.",
            ),
            recognise=view_refused,
        ),
    ),
)
