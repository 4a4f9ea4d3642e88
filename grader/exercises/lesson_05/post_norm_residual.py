"""`post_norm_residual`: the norm after the addition (Xiong et al. 2020, section 3)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from grader.exercises.lesson_05.mistakes import NORM_FORGOTTEN, NORMALISED_TWICE, OWN_NORM, SUBLAYER_FORGOTTEN
from grader.exercises.lesson_05.shared import LESSON, residual_cases, residual_parts
from grader.spec.exercise import Exercise, Mistake, Output


def reference(x: Tensor, sublayer: Callable, norm: Callable) -> Tensor:
    """By the definition."""
    return norm(torch.add(x, sublayer(x)))


EXERCISE = Exercise(
    name="post_norm_residual",
    lesson=LESSON,
    points=2,
    signature=("x", "sublayer", "norm"),
    outputs=(Output("result", "... E"),),
    cases=residual_cases,
    reference=reference,
    parts=residual_parts("normalises the sum of x and the sub-layer's output"),
    mistakes=(
        Mistake(
            "pre-norm-instead",
            "the norm comes before the sub-layer: that is pre-norm.",
            (
                "Which of the two orders is asked for here? Compare the two diagrams.",
                "In post-norm the norm is the last thing that happens, and the sub-layer gets x as it is.",
            ),
            (lambda x, f, n: x + f(n(x)),),
        ),
        Mistake(
            "added-before-sublayer",
            "the sum goes into the sub-layer; x should be added to what comes out of it.",
            (
                "Follow the two paths of the diagram: do they meet before the sub-layer or after it?",
                "Read your line from the inside out: what does `sublayer` get?",
            ),
            (
                lambda x, f, n: f(x + n(x)),
                lambda x, f, n: n(f(x + x)),
                lambda x, f, n: n(f(x + n(x))),
            ),
        ),
        Mistake(
            "norm-before-addition",
            "the norm is applied to one of the two terms; it should be applied to their sum.",
            (
                "Take the mean of one token of your result, with gamma 1 and beta 0. It should be 0.",
                "First add, then normalise. Look at where the parentheses of `norm(...)` close.",
            ),
            (
                lambda x, f, n: x + n(f(x)),
                lambda x, f, n: n(x) + f(x),
                lambda x, f, n: n(x) + n(f(x)),
                lambda x, f, n: n(x) + f(n(x)),
            ),
        ),
        Mistake(
            "residual-forgotten",
            "the sub-layer's output is normalised alone: x is not added.",
            (
                "Suppose the sub-layer gives zeros. What should the block return?",
                "There are two paths to the sum. One of them goes past the sub-layer.",
            ),
            (lambda x, f, n: n(f(x)), lambda x, f, n: f(x), lambda x, f, n: f(n(x)), lambda x, f, n: n(f(n(x)))),
        ),
        Mistake(
            "added-after-norm",
            "x is added once more after the norm; in post-norm nothing comes after it.",
            (
                "Take the mean of one token of your result, with gamma 1 and beta 0. It should be 0.",
                "Count the additions in your code, and those in the diagram.",
            ),
            (lambda x, f, n: x + n(x + f(x)),),
        ),
        NORM_FORGOTTEN,
        SUBLAYER_FORGOTTEN,
        NORMALISED_TWICE,
        OWN_NORM,
    ),
)
