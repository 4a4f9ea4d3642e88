"""`layer_norm` (Ba, Kiros and Hinton 2016, section 3)."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_05.mistakes import (
    all_but_first,
    all_but_last,
    bare,
    inside,
    norm_mistakes,
    norm_variants,
    outside,
    wrong_axis,
)
from grader.exercises.lesson_05.shared import LESSON, norm_parts, square, with_leading_axes
from grader.spec.cases import LENGTH_ONE
from grader.spec.exclusions import NORMALISATION_KERNELS
from grader.spec.exercise import Exercise, Mistake, Output

INPUTS = {"x": "... E", "gamma": "E", "beta": "E"}


def reference(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """PyTorch's own."""
    return F.layer_norm(x, x.shape[-1:], gamma, beta, eps)


EXERCISE = Exercise(
    name="layer_norm",
    lesson=LESSON,
    points=3,
    signature=(*INPUTS, "eps=1e-5"),
    outputs=(Output("result", "... E"),),
    cases=lambda draw: [*with_leading_axes(draw, INPUTS), square(draw, INPUTS, "E")],
    reference=reference,
    parts=norm_parts(
        "normalises every token of one sequence",
        "one sequence",
        "takes any leading axes, none included",
        "a batch",
        "three leading axes",
        "a single token",
        *LENGTH_ONE,
        offset="does not mind a common offset of 1000",
    ),
    mistakes=(
        Mistake(
            "over-whole-tensor",
            "the mean or the variance is taken over several axes at once; every token has its own.",
            (
                "How many means should there be for a batch of 2 sequences with 3 tokens each?",
                "A mean that is told no axis runs over everything. Name the axis of the features, the last one.",
            ),
            (
                *norm_variants([None, (-2, -1), all_but_first], (inside, outside, bare)),
                *norm_variants([None], variance_axis=(-1,)),
                *norm_variants([(-1,)], variance_axis=None),
            ),
        ),
        wrong_axis(
            "the mean and the variance are taken over tokens (or over the batch), not over a token's features.",
            (
                "Change one token of a sequence: do the others' results move? In LayerNorm they must not.",
                "Features are the last axis, whatever comes before: count from the end.",
            ),
            *((-2,), (0,), (1,), all_but_last),
        ),
        Mistake(
            "keepdim-forgotten",
            "the mean (or the variance) has lost its axis, so it lines up with the wrong one.",
            (
                "Print the shapes of x and of the mean, one under the other, aligned on the right.",
                "A reduction can keep its axis with length 1: look for `keepdim`.",
            ),
            tuple(
                variant
                for keepdim in ((False, False), (False, True), (True, False))
                for variant in norm_variants([(-1,)], keepdim=keepdim)
            ),
        ),
        *norm_mistakes((-1,), "one sequence", "row"),
    ),
    excluded=(NORMALISATION_KERNELS,),
)
