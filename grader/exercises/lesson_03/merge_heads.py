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
            "the shape is right, but a token's row holds numbers of several tokens: the heads were joined while they "
            "were in front of the tokens.",
            (
                "Compare got and expected in the first row. Which token do the numbers come from?",
                "Only neighbouring axes can be joined. Which axis must be next to D before you join?",
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
                "Which place should the second number of head 0 have in the merged row?",
                "When you join two axes, the numbers of the last one stay together. Which axis must be last, H or D?",
            ),
            (lambda x: x.movedim(-3, -1).flatten(-2),),
        ),
        Mistake(
            "not-merged",
            "the heads of a token are not joined: there is still an axis for them.",
            (
                "How many axes should the result have for x of shape (H, T, D)?",
                "Once a token's heads lie next to its features, two axes are left to join. Which?",
            ),
            (lambda x: x.transpose(-3, -2), lambda x: x),
        ),
        Mistake(
            "tokens-joined",
            "T and D were joined, so there is a row for every head; there should be one for every token.",
            (
                "How many rows do you get for 2 heads of 3 tokens, and how many should there be?",
                "Joining the last two axes joins what is next to each other. Which axis should be next to D?",
            ),
            (lambda x: x.flatten(-2),),
        ),
        Mistake(
            "heads-below-each-other",
            "the heads come one below the other, as if they were more tokens; they belong side by side.",
            (
                "How many rows should the result have for 3 tokens and 2 heads?",
                "A token has one row, which holds all its heads. Along which axis do you join?",
            ),
            (lambda x: x.flatten(-3, -2),),
        ),
        Mistake(
            "wrong-axes-swapped",
            "tokens and features were swapped before the join; it is the heads that have to move.",
            (
                "Write down the axes after your transpose, by their letters. Which two are next to each other?",
                "In the end the axes T, then H, then D should come in this order. Which two change places?",
            ),
            (lambda x: x.mT.reshape(*x.shape[:-3], x.shape[-2], -1),),
        ),
        VIEW_WITHOUT_CONTIGUOUS,
        TWO_AXES_ONLY,
        BATCH_ONLY,
    ),
)
