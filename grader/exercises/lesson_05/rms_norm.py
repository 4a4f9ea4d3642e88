"""`rms_norm` (Zhang and Sennrich 2019, section 4): divide by the root of the mean square, subtract nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_05.mistakes import (
    DEFAULTS,
    NO_ROOT,
    Axis,
    Divide,
    NormVariant,
    all_but_first,
    all_but_last,
    bare,
    fixed,
    inside,
    norm_variants,
    outside,
    uncentred,
)
from grader.exercises.lesson_05.shared import LESSON, norm_parts, square, with_leading_axes
from grader.spec.cases import LENGTH_ONE
from grader.spec.exercise import Exercise, Mistake, Output

RMS = {"x": "... E", "gamma": "E"}
DEFAULT = 1e-6


def reference(x: Tensor, gamma: Tensor, eps: float = DEFAULT) -> Tensor:
    """PyTorch's own."""
    return F.rms_norm(x, x.shape[-1:], gamma, eps)


def recipe(
    axis: Axis = (-1,),
    divide: Divide = inside,
    scaled: bool = True,
    centred: bool = False,
    total: bool = False,
    keepdim: bool = True,
) -> Callable[..., Tensor]:
    """An RMSNorm with the given parts changed. `total`: the squares are added up, not averaged."""

    def wrong(x: Tensor, gamma: Tensor, eps: float = DEFAULT) -> Tensor:
        axes = axis(x) if callable(axis) else axis
        axes = tuple(range(x.dim())) if axes is None else axes
        squares = x.square().sum(axes, keepdim=keepdim) if total else x.square().mean(axes, keepdim=keepdim)
        normal = ((x - x.mean(axes, keepdim=True)) if centred else x) / divide(squares, eps)
        return normal * gamma if scaled else normal

    return wrong


def _each(axes: Iterable[Axis], divides: Iterable[Divide] = (inside, outside), **more: bool) -> tuple[Callable, ...]:
    return tuple(recipe(axis, divide, **more) for axis in axes for divide in tuple(divides))


def _without_beta(layer_norm: NormVariant) -> Callable[..., Tensor]:
    return lambda x, gamma, eps=DEFAULT: layer_norm(x, gamma, 0.0, eps)


def _default(number: float) -> Callable[..., Tensor]:
    return lambda x, gamma, eps=number: reference(x, gamma, eps)


LAST: tuple[Axis, ...] = ((-1,),)

EXERCISE = Exercise(
    name="rms_norm",
    lesson=LESSON,
    points=2,
    signature=(*RMS, "eps=1e-6"),
    outputs=(Output("result", "... E"),),
    cases=lambda draw: [*with_leading_axes(draw, RMS), square(draw, RMS, "E")],
    reference=reference,
    parts=norm_parts(
        "normalises every token of one sequence",
        "one sequence",
        "takes any leading axes, none included",
        "a batch",
        "three leading axes",
        "a single token",
        *LENGTH_ONE,
    ),
    mistakes=(
        Mistake(
            "over-whole-tensor",
            "one mean square is taken over several axes at once; every token has its own.",
            (
                "How many mean squares should there be for a batch of 2 sequences with 3 tokens each?",
                "A mean that is told no axis runs over everything. Name the axis of the features, the last one.",
            ),
            _each([None, (-2, -1), all_but_first], (inside, outside, bare)),
        ),
        Mistake(
            "wrong-axis",
            "the mean square is taken over tokens (or over the batch), not over a token's features.",
            (
                "Change one token of a sequence: do the others' results move? They must not.",
                "Features are the last axis, whatever comes before: count from the end.",
            ),
            _each([(-2,), (0,), (1,), all_but_last]),
        ),
        Mistake(
            "keepdim-forgotten",
            "the mean square has lost its axis, so it lines up with the wrong one.",
            (
                "Print the shapes of x and of the mean square, one under the other, aligned on the right.",
                "A reduction can keep its axis with length 1: look for `keepdim`.",
            ),
            _each(LAST, keepdim=False),
        ),
        Mistake(
            "mean-subtracted",
            "the mean is subtracted, in the numbers or inside the variance: that is LayerNorm's way.",
            (
                "Try your function on the row [3, 3, 3] with gamma 1: RMSNorm gives ones, LayerNorm zeros.",
                "Under the root is the mean of the squares of x itself. `var` and `std` subtract the mean first.",
            ),
            (
                *(_without_beta(r) for r in norm_variants(LAST, (inside, outside, bare))),
                *(_without_beta(r) for r in norm_variants(LAST, (inside, outside, bare), combines=(uncentred,))),
                *_each(LAST, (inside, outside, bare), centred=True),
            ),
        ),
        Mistake(
            "root-forgotten",
            "the numbers are divided by the mean square; its root is missing.",
            (
                "Try the row [3, 3, 3] with gamma 1. What should come out, and what does?",
                "RMS stands for root mean square, read from right to left: square, mean, root.",
                "If you wrote a power: try `9 ** 1/2`, and print what comes out.",
            ),
            _each(LAST, NO_ROOT),
        ),
        Mistake(
            "multiplied-instead",
            "the numbers are multiplied by their root mean square; they should be divided by it.",
            (
                "Give it a row, then the same row with all numbers ten times as large. By how much should the results "
                "differ?",
                "What is below the fraction line of the formula?",
            ),
            _each(LAST, [lambda v, eps: 1 / (v + eps).sqrt(), lambda v, eps: 1 / (v.sqrt() + eps)]),
        ),
        Mistake(
            "mean-of-numbers",
            "the mean is taken of the numbers themselves; it should be the mean of their squares.",
            (
                "Try the row [3, -3] with gamma 1. What is the mean of its numbers, what is the mean of their squares?",
                "RMS stands for root mean square, read from right to left: square, mean, root.",
            ),
            (
                lambda x, gamma, eps=DEFAULT: gamma * x / (x.mean(-1, keepdim=True) + eps).sqrt(),
                lambda x, gamma, eps=DEFAULT: gamma * x / (x.mean(-1, keepdim=True).square() + eps).sqrt(),
            ),
        ),
        Mistake(
            "sum-instead-of-mean",
            "the squares are added up but not averaged, so wider tokens come out smaller.",
            (
                "Try the row [3, 3, 3] and the row [3, 3, 3, 3, 3, 3]. Should a wider one come out smaller?",
                "The M in RMS stands for mean: by what is a sum divided to make it one?",
            ),
            _each(LAST, (inside, outside, bare, fixed(outside, 1e-12)), total=True),
        ),
        Mistake(
            "no-gamma",
            "gamma is missing from the result.",
            (
                "Are all arguments of the function used?",
                "After the division every feature is stretched by its own gamma.",
            ),
            _each(LAST, scaled=False),
        ),
        Mistake(
            "wrong-default-eps",
            "eps is used as it is given, but its default is another one.",
            (
                "Your function is right when eps is given. Which eps does it take when nobody gives one?",
                "Compare the first line of your function with the one that the exercise came with.",
            ),
            tuple(_default(eps) for eps in DEFAULTS if eps != DEFAULT),
        ),
        Mistake(
            "eps-ignored",
            "the argument eps is not used: a fixed number is in its place.",
            (
                "Call your function with eps = 0.1 and with eps = 10. Should the results be the same?",
                "Look for a number such as 1e-6 in your lines. Which name belongs there?",
            ),
            _each(LAST, [fixed(inside, eps) for eps in (1e-5, 1e-6, 1e-8)]),
        ),
        Mistake(
            "eps-outside-root",
            "eps comes in after the root is taken; it belongs under the root.",
            (
                "With eps = 0.000001 you can't see it: compare your divisor with the formula for eps = 0.1.",
                "Which comes first in the formula, adding eps or taking the root?",
            ),
            _each(
                LAST,
                (
                    outside,
                    lambda v, eps: v.sqrt() + eps**0.5,
                    lambda v, eps: v.sqrt().clamp(min=eps),
                    *(fixed(outside, eps) for eps in (1e-5, 1e-6, 1e-7, 1e-8)),
                ),
            ),
        ),
        Mistake(
            "eps-forgotten",
            "eps is missing, so a token of zeros is divided by zero.",
            (
                "Try your function on the row [0, 0, 0]. What is its mean square, and what do you divide by?",
                "Are all arguments of the function used?",
            ),
            _each(LAST, [bare]),
        ),
    ),
)
