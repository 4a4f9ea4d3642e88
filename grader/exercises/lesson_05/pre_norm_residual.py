"""`pre_norm_residual`: the norm before the sub-layer (Xiong et al. 2020, section 3)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from grader.exercises.lesson_05.mistakes import NORM_FORGOTTEN, NORMALISED_TWICE, OWN_NORM, SUBLAYER_FORGOTTEN
from grader.exercises.lesson_05.shared import LESSON, residual_cases, residual_parts
from grader.spec.exercise import Exercise, Mistake, Output


def reference(x: Tensor, sublayer: Callable, norm: Callable) -> Tensor:
    """By the definition."""
    return torch.add(x, sublayer(norm(x)))


EXERCISE = Exercise(
    name="pre_norm_residual",
    lesson=LESSON,
    points=2,
    signature=("x", "sublayer", "norm"),
    outputs=(Output("result", "... E"),),
    cases=residual_cases,
    reference=reference,
    parts=residual_parts("adds the sub-layer of the normalised x to x"),
    mistakes=(
        Mistake(
            "residual-normalised",
            "what is added to the sub-layer's output is the normalised x, not x itself.",
            (
                "Follow x along the straight path from input to output: does anything happen to it on the way?",
                "A line that overwrites `x` by its norm loses the original. Give the normalised one a name of its own.",
            ),
            (
                lambda x, f, n: n(x) + f(n(x)),
                lambda x, f, n: n(x) + f(x),
                lambda x, f, n: n(x) + n(f(x)),
            ),
        ),
        Mistake(
            "residual-forgotten",
            "the sub-layer's output is returned alone: x is not added.",
            (
                "Suppose the sub-layer gives zeros. What should the block return?",
                "There are two paths to the output. One of them goes past the sub-layer.",
            ),
            (lambda x, f, n: f(n(x)), lambda x, f, n: f(x), lambda x, f, n: n(f(x)), lambda x, f, n: n(f(n(x)))),
        ),
        Mistake(
            "output-added-to-itself",
            "the sub-layer's output is added to itself: the x that came in was overwritten before the addition.",
            (
                "Suppose the sub-layer gives zeros. What should the block return, and what does yours?",
                "Which value has `x` at the line with the `+`? Give the sub-layer's output a name of its own.",
            ),
            (lambda x, f, n: 2 * f(n(x)), lambda x, f, n: 2 * f(x)),
        ),
        Mistake(
            "added-before-sublayer",
            "the sum goes into the sub-layer; x should be added to what comes out of it.",
            (
                "Suppose the sub-layer gives zeros. What should the block return, and what does yours?",
                "Follow the two paths of the diagram: do they meet before the sub-layer or after it?",
            ),
            (lambda x, f, n: f(x + n(x)), lambda x, f, n: f(n(x) + n(x))),
        ),
        Mistake(
            "post-norm-instead",
            "the norm comes after the addition: that is post-norm.",
            (
                "Which of the two orders is asked for here? Compare the two diagrams.",
                "In pre-norm the sum is the last thing that happens; the norm sits in front of the sub-layer.",
            ),
            (lambda x, f, n: n(x + f(x)),),
        ),
        Mistake(
            "norm-after-sublayer",
            "the norm is applied to what the sub-layer gives; in pre-norm it is applied to what the sub-layer gets.",
            (
                "Follow x through the diagram: what does it meet first, the norm or the sub-layer?",
                "Read your line from the inside out: which of the two functions gets x?",
            ),
            (lambda x, f, n: x + n(f(x)), lambda x, f, n: x + n(f(n(x)))),
        ),
        NORM_FORGOTTEN,
        SUBLAYER_FORGOTTEN,
        NORMALISED_TWICE,
        OWN_NORM,
    ),
)
