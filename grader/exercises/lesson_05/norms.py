"""`layer_norm` (Ba, Kiros and Hinton 2016, section 3) and `batch_norm` (Ioffe and Szegedy 2015, algorithm 1)."""

from __future__ import annotations

from dataclasses import replace

import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_05.shared import (
    DEFAULTS,
    LESSON,
    Axis,
    Recipe,
    all_but_first,
    all_but_last,
    bare,
    batch_sizes,
    cancels,
    fixed,
    inside,
    norm_parts,
    outside,
    recipes,
    special_cases,
    square,
    with_leading_axes,
)
from grader.spec.cases import tensors
from grader.spec.draw import Draw
from grader.spec.exclusions import NORMALISATION_KERNELS
from grader.spec.exercise import Case, Exercise, Mistake, Output

LAYER = {"x": "... E", "gamma": "E", "beta": "E"}
BATCH = {"x": "B E", "gamma": "E", "beta": "E"}


def layer_reference(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """PyTorch's own."""
    return F.layer_norm(x, x.shape[-1:], gamma, beta, eps)


def batch_reference(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """PyTorch's own, with the batch's statistics."""
    return F.batch_norm(x, None, None, gamma, beta, True, 0.0, eps)


def _batch_cases(draw: Draw) -> list[Case]:
    sizes = batch_sizes(draw)

    def fifty(draw: Draw, name: str, shape: tuple[int, ...]) -> Tensor:
        return draw.uniform(shape, -50, 50) if name == "x" else draw.normal(shape)

    double = tensors(draw, "float64", BATCH, sizes)
    return [
        tensors(draw, "one batch", BATCH, sizes),
        tensors(draw, "a batch of two", BATCH, {**sizes, "B": 2, "E": sizes["E"] + 1}),
        tensors(draw, "fewer rows than columns", BATCH, {"B": sizes["E"], "E": sizes["B"]}),
        replace(double, args={name: arg.double() for name, arg in double.args.items()}),
        tensors(draw, "entries up to 50", BATCH, sizes, make=fifty, comparable=False),
        *special_cases(draw, BATCH, sizes, 0),
        square(draw, BATCH, "E", "B"),
    ]


# --- mistakes, the most telling first ---------------------------------------------------------------------------------


def _affine(right: tuple[int, ...]) -> tuple[Recipe, ...]:
    switches = ((False, False), (False, True), (True, False))
    return tuple(r for g, b in switches for r in recipes([right], scaled=g, shifted=b))


def _shared(right: tuple[int, ...], first: str) -> tuple[Mistake, ...]:
    """The mistakes that both norms have in common; `right` is the axis that the statistics run over."""

    def swapped(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
        return Recipe(right)(x, beta, gamma, eps)

    return (
        Mistake(
            "no-affine",
            "gamma, beta or both are missing from the result.",
            (
                "Are all arguments of the function used?",
                "After the division every feature is stretched by its own gamma and moved by its own beta.",
            ),
            _affine(right),
        ),
        Mistake(
            "gamma-beta-swapped",
            "gamma and beta have changed places.",
            ("Which of the two is multiplied, and which is added?",),
            (swapped,),
        ),
        Mistake(
            "divides-by-variance",
            "the centred numbers are divided by the variance; its square root is missing.",
            (
                "Norm your result by hand: does a row of large numbers come out smaller than a row of small ones?",
                "The variance is in squared units. What do you have to take of it to be back in those of x?",
            ),
            recipes([right], [lambda v, eps: v + eps, lambda v, eps: v, lambda v, eps: (v + eps) ** 2]),
        ),
        Mistake(
            "unbiased-variance",
            "the variance is divided by n - 1 instead of n, so every number comes out a little too small.",
            (
                "Try your function on the row [1, 2, 3] with gamma 1 and beta 0: the last number should be 1.2247.",
                "`std` and `var` divide by n - 1 unless they are told otherwise: look up their option `correction`.",
            ),
            recipes([right], [inside, outside, bare, fixed(outside, 1e-5), fixed(outside, 1e-7)], correction=1),
        ),
        Mistake(
            "wrong-default-eps",
            "eps is used as it is given, but its default is another one.",
            ("Compare the first line of your function with the one that the exercise came with.",),
            tuple(Recipe(right, default=eps) for eps in DEFAULTS if eps != 1e-5),
        ),
        Mistake(
            "eps-ignored",
            "the argument eps is not used: a fixed number stands in its place.",
            ("Call your function with eps = 0.1 and with eps = 10. Should the results be the same?",),
            recipes([right], [fixed(inside, eps) for eps in (1e-5, 1e-6, 1e-8)], correction=0),
        ),
        Mistake(
            "eps-outside-root",
            "eps is added to the standard deviation; it belongs to the variance, under the root.",
            (
                "With eps = 0.00001 you can't see it: compare your divisor with the formula for eps = 0.1.",
                "Which comes first in the formula, adding eps or taking the root?",
            ),
            recipes(
                [right], [outside, *(fixed(outside, eps) for eps in (1e-5, 1e-6, 1e-7, 1e-8, 1e-12))], correction=0
            ),
        ),
        Mistake(
            "eps-forgotten",
            "eps is missing, so where all numbers are equal zero is divided by zero.",
            (
                "Try your function on numbers that are all equal. What is their variance, and what do you divide by?",
                "Are all arguments of the function used?",
            ),
            recipes([right], [bare], correction=0),
        ),
        Mistake(
            "mean-not-subtracted",
            "the mean is not subtracted before the division.",
            ("What is the mean of one normalised row or column, with gamma 1 and beta 0? What should it be?",),
            recipes([right], centred=False),
        ),
        Mistake(
            "cancellation",
            "where all numbers share a large offset the result is wrong: the variance is lost in rounding errors.",
            (
                "How did you compute the variance? The mean of the squares minus the square of the mean subtracts two "
                "numbers near 1 000 000 to find one near 1, and float32 has seven digits.",
                "Subtract the mean first, then take the mean of the squares of what is left.",
            ),
            recognise=lambda session: cancels(session, first),
        ),
    )


def _wrong_axis(symptom: str, hints: tuple[str, ...], *axes: Axis, lost: Axis = None) -> Mistake:
    square_only = recipes([lost], keepdim=False) if lost is not None else ()
    return Mistake("wrong-axis", symptom, hints, (*recipes(axes), *square_only))


LAYER_NORM = Exercise(
    name="layer_norm",
    lesson=LESSON,
    points=3,
    signature=(*LAYER, "eps=1e-5"),
    outputs=(Output("result", "... E"),),
    cases=lambda draw: [*with_leading_axes(draw, LAYER), square(draw, LAYER, "E")],
    reference=layer_reference,
    parts=norm_parts(
        "normalises every token of one sequence",
        "one sequence",
        "takes any leading axes, none included",
        "a batch",
        "three leading axes",
        "a single token",
        offset="does not mind a common offset of 1000",
    ),
    mistakes=(
        Mistake(
            "over-whole-tensor",
            "one mean and one variance are taken over several axes at once; every token has its own.",
            (
                "How many means should there be for a batch of 2 sequences with 3 tokens each?",
                "A mean that is told no axis runs over everything. Name the axis of the features, the last one.",
            ),
            recipes([None, (-2, -1), all_but_first], (inside, outside, bare)),
        ),
        _wrong_axis(
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
            recipes([(-1,)], keepdim=False),
        ),
        *_shared((-1,), "one sequence"),
    ),
    excluded=(NORMALISATION_KERNELS,),
)

BATCH_NORM = Exercise(
    name="batch_norm",
    lesson=LESSON,
    points=3,
    signature=(*BATCH, "eps=1e-5"),
    outputs=(Output("result", "B E"),),
    cases=_batch_cases,
    reference=batch_reference,
    parts=norm_parts(
        "normalises every feature over the batch",
        "one batch",
        "takes a batch of two, and fewer rows than columns",
        "a batch of two",
        "fewer rows than columns",
        offset="does not mind a common offset of 1000",
    ),
    mistakes=(
        Mistake(
            "over-whole-tensor",
            "one mean and one variance are taken over the whole batch and all features; every feature has its own.",
            (
                "How many means should there be for a batch with 3 features?",
                "A mean that is told no axis runs over everything. Name the axis of the batch.",
            ),
            recipes([None], (inside, outside, bare)),
        ),
        _wrong_axis(
            "every row is normalised by itself, which is LayerNorm; BatchNorm goes down the columns.",
            (
                "Take the mean of each column of your result, with gamma 1 and beta 0. What should it be?",
                "The batch is the first axis: that is the one to average away.",
            ),
            (-1,),
            lost=(-1,),
        ),
        *_shared((0,), "one batch"),
    ),
    excluded=(NORMALISATION_KERNELS,),
)
