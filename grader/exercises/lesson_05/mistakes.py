"""Mistakes that several exercises of lesson 05 share, and a normalisation that can be made wrong in many ways."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_05.shared import OFFSET
from grader.spec import parts
from grader.spec.exercise import Mistake
from grader.spec.session import Session
from grader.tolerance import COARSE, FLOAT32

Divide = Callable[[Tensor, float], Tensor]
Axis = tuple[int, ...] | Callable[[Tensor], tuple[int, ...]] | None
Combine = Callable[..., Tensor]  # of x, mean, divisor, gamma and beta


# --- wrong on purpose -------------------------------------------------------------------------------------------------


def inside(variance: Tensor, eps: float) -> Tensor:
    """The right divisor."""
    return (variance + eps).sqrt()


def outside(variance: Tensor, eps: float) -> Tensor:
    """Eps added after the root."""
    return variance.sqrt() + eps


def bare(variance: Tensor, _eps: float) -> Tensor:
    """No eps."""
    return variance.sqrt()


def fixed(divide: Divide, number: float) -> Divide:
    """A fixed number in place of the argument eps."""
    return lambda variance, _eps: divide(variance, number)


USUAL = (inside, outside)
DEFAULTS = (0.0, 1e-12, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
# `c ** 1/2` is c / 2, and `x / c ** 1/2` is x / c / 2.
NO_ROOT: tuple[Divide, ...] = (
    lambda v, eps: v + eps,
    lambda v, eps: v,
    lambda v, eps: (v + eps) ** 2,
    lambda v, eps: 2 * (v + eps),
    lambda v, eps: (v + eps) / 2,
)
ROOT_TWICE: tuple[Divide, ...] = (lambda v, eps: (v.sqrt() + eps).sqrt(), lambda v, eps: v.sqrt().sqrt())


def scaled_and_shifted(x: Tensor, mean: Tensor, divisor: Tensor, gamma: Tensor, beta: Tensor | float) -> Tensor:
    """The right way of putting the pieces together."""
    return gamma * (x - mean) / divisor + beta


NO_AFFINE: tuple[Combine, ...] = (
    lambda x, mean, divisor, gamma, beta: (x - mean) / divisor,
    lambda x, mean, divisor, gamma, beta: (x - mean) / divisor + beta,
    lambda x, mean, divisor, gamma, beta: gamma * (x - mean) / divisor,
)
BETA_SCALED: tuple[Combine, ...] = (lambda x, mean, divisor, gamma, beta: gamma * ((x - mean) / divisor + beta),)
# What comes out where parentheses are missing, or stand elsewhere.
MEAN_ALONE: tuple[Combine, ...] = (
    lambda x, mean, divisor, gamma, beta: gamma * x - mean / divisor + beta,
    lambda x, mean, divisor, gamma, beta: gamma * (x - mean / divisor) + beta,
    lambda x, mean, divisor, gamma, beta: x - gamma * mean / divisor + beta,
    lambda x, mean, divisor, gamma, beta: x - mean / divisor,
)


def uncentred(x: Tensor, mean: Tensor, divisor: Tensor, gamma: Tensor, beta: Tensor | float) -> Tensor:
    """Without subtracting the mean."""
    return gamma * x / divisor + beta


@dataclass(frozen=True)
class NormVariant:
    """A normalisation with the given parts changed, called like a student's function. `variance_axis`: that of the
    variance, if it isn't the mean's. `squares`: "centred"; "raw" (those of x itself) or "summed" (not averaged).
    `keepdim`: whether the mean and the variance keep their axis."""

    axis: Axis
    correction: int = 0
    divide: Divide = inside
    combine: Combine = scaled_and_shifted
    variance_axis: Axis | Literal["same"] = "same"
    squares: str = "centred"
    keepdim: tuple[bool, bool] = (True, True)
    default: float = 1e-5

    def __call__(self, x: Tensor, gamma: Tensor, beta: Tensor | float = 0.0, eps: float | None = None) -> Tensor:
        eps = self.default if eps is None else eps
        mean = x.mean(_axes(self.axis, x), keepdim=self.keepdim[0])
        axes = _axes(self.axis if self.variance_axis == "same" else self.variance_axis, x)
        if self.squares == "raw":
            variance = x.square().mean(axes, keepdim=self.keepdim[1])
        else:
            variance = x.var(axes, correction=self.correction, keepdim=self.keepdim[1])
        if self.squares == "summed":
            variance = variance * math.prod(x.shape[axis] for axis in axes)
        return self.combine(x, mean, self.divide(variance, eps), gamma, beta)


def _axes(axis: Axis, x: Tensor) -> tuple[int, ...]:
    """The axes of x that `axis` stands for; None stands for all."""
    axes = axis(x) if callable(axis) else axis
    return tuple(range(x.dim())) if axes is None else axes


def norm_variants(
    axes: Iterable[Axis],
    divides: Iterable[Divide] = USUAL,
    combines: Iterable[Combine] = (scaled_and_shifted,),
    corrections: Iterable[int] = (0, 1),
    **fixed_fields: Any,
) -> tuple[NormVariant, ...]:
    """A variant for every combination, each with both variances: beginners' mistakes seldom come alone."""
    return tuple(
        NormVariant(axis, correction, divide, combine, **fixed_fields)
        for correction, axis, divide, combine in product(
            tuple(corrections), tuple(axes), tuple(divides), tuple(combines)
        )
    )


def all_but_first(x: Tensor) -> tuple[int, ...]:
    """Every axis but the batch's."""
    return tuple(range(1, x.dim())) or (0,)


def all_but_last(x: Tensor) -> tuple[int, ...]:
    """Every axis but the features'."""
    return tuple(range(x.dim() - 1))


def cancels(session: Session, first: str) -> bool:
    """Right on small numbers, wrong or NaN where they share a large offset."""
    small, large = session.cases[first], session.cases[OFFSET]
    if parts.inspect_call(session, small, FLOAT32) or parts.inspect_call(session, large, None):
        return False
    return parts.inspect_call(session, large, COARSE) is not None


# --- mistakes, the most telling first ---------------------------------------------------------------------------------


def norm_mistakes(right: tuple[int, ...], first: str, line: str) -> tuple[Mistake, ...]:
    """The mistakes that both norms share; `right` is the axis that the statistics run over, `line` what shares them: a
    "row" or a "column"."""

    def swapped(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
        return NormVariant(right)(x, beta, gamma, eps)

    return (
        Mistake(
            "no-affine",
            "gamma, beta or both are missing from the result.",
            (
                "Are all arguments of the function used?",
                "After the division every feature is stretched by its own gamma and moved by its own beta.",
            ),
            norm_variants([right], combines=NO_AFFINE),
        ),
        Mistake(
            "gamma-beta-swapped",
            "gamma and beta have changed places.",
            (
                "Call it with gamma 1 and beta 0, then with gamma 0 and beta 1. What should the second call give?",
                "Which of the two is multiplied, and which is added?",
            ),
            (swapped,),
        ),
        Mistake(
            "beta-scaled",
            "beta is added too early, so gamma multiplies beta as well.",
            (
                f"Take a {line} of equal numbers: only beta should be left of it, whatever gamma is. What do you get?",
                "Read the formula: what does gamma multiply, and what comes after that?",
            ),
            norm_variants([right], combines=BETA_SCALED),
        ),
        Mistake(
            "mean-alone-divided",
            "the mean alone is divided, not the difference of x and the mean.",
            (
                "Python divides before it subtracts. What is `8 - 6 / 2`, and what is `(8 - 6) / 2`?",
                "In the formula the whole difference is above the fraction line. What is above it in yours?",
            ),
            norm_variants([right], combines=MEAN_ALONE),
        ),
        Mistake(
            "root-taken-twice",
            "the root is taken twice: the standard deviation is the root of the variance already.",
            (
                f"The {line} [0, 8] has the variance 16. What is its standard deviation, and by what do you divide?",
                "Look at what is under the root in the formula. Do you put the same thing there?",
            ),
            norm_variants([right], ROOT_TWICE),
        ),
        Mistake(
            "divides-by-variance",
            "the centred numbers are divided by the variance; its square root is missing.",
            (
                f"Give it a {line}, then the same {line} with all numbers ten times as large. Should the second result "
                "be smaller?",
                "The variance is in squared units. What do you have to take of it to be back in those of x?",
                "If you wrote a power: try `9 ** 1/2`, and print what comes out.",
            ),
            norm_variants([right], NO_ROOT),
        ),
        Mistake(
            "multiplied-instead",
            "the centred numbers are multiplied by the standard deviation; they should be divided by it.",
            (
                f"Give it a {line}, then the same {line} with all numbers ten times as large. By how much should the "
                "results differ?",
                "What is below the fraction line of the formula?",
            ),
            norm_variants([right], [lambda v, eps: 1 / (v + eps).sqrt(), lambda v, eps: 1 / (v.sqrt() + eps)]),
        ),
        Mistake(
            "sum-instead-of-mean",
            f"the squares are added up but not averaged, so a longer {line} comes out smaller.",
            (
                f"Try the {line} [1, 3] and the {line} [1, 3, 1, 3]. Should the longer one come out smaller?",
                "A variance is a mean of squares. By what is a sum divided to make it a mean?",
            ),
            norm_variants([right], corrections=(0,), squares="summed"),
        ),
        Mistake(
            "squares-not-centred",
            "the variance is made from the squares of x itself: the mean is not subtracted before squaring.",
            (
                f"What is the variance of the {line} [5, 5, 5]? Which number do you divide by there?",
                "Look at the squares in the formula of the variance: of what are they the squares?",
            ),
            norm_variants([right], corrections=(0,), squares="raw"),
        ),
        Mistake(
            "unbiased-variance",
            "the variance is divided by n - 1 instead of n, so every number comes out a little too small.",
            (
                f"Try your function on the {line} [1, 2, 3] with gamma 1 and beta 0: the last number should be 1.2247.",
                "`std` and `var` divide by n - 1 unless they are told otherwise: look up their option `correction`.",
            ),
            norm_variants(
                [right], [inside, outside, bare, fixed(outside, 1e-5), fixed(outside, 1e-7)], corrections=(1,)
            ),
        ),
        Mistake(
            "wrong-default-eps",
            "eps is used as it is given, but its default is another one.",
            (
                "Your function is right when eps is given. Which eps does it take when nobody gives one?",
                "Compare the first line of your function with the one that the exercise came with.",
            ),
            tuple(NormVariant(right, default=eps) for eps in DEFAULTS if eps != 1e-5),
        ),
        Mistake(
            "eps-ignored",
            "the argument eps is not used: a fixed number is in its place.",
            (
                "Call your function with eps = 0.1 and with eps = 10. Should the results be the same?",
                "Look for a number such as 1e-5 in your lines. Which name belongs there?",
            ),
            norm_variants([right], [fixed(inside, eps) for eps in (1e-5, 1e-6, 1e-8)], corrections=(0,)),
        ),
        Mistake(
            "eps-outside-root",
            "eps comes in after the root is taken; it belongs to the variance, under the root.",
            (
                "With eps = 0.00001 you can't see it: compare your divisor with the formula for eps = 0.1.",
                "Which comes first in the formula, adding eps or taking the root?",
            ),
            norm_variants(
                [right],
                [
                    outside,
                    lambda v, eps: v.sqrt() + eps**0.5,
                    lambda v, eps: v.sqrt().clamp(min=eps),
                    *(fixed(outside, eps) for eps in (1e-5, 1e-6, 1e-7, 1e-8, 1e-12)),
                ],
                corrections=(0,),
            ),
        ),
        Mistake(
            "eps-forgotten",
            "eps is missing, so where all numbers are equal zero is divided by zero.",
            (
                "Try your function on numbers that are all equal. What is their variance, and what do you divide by?",
                "Are all arguments of the function used?",
            ),
            norm_variants([right], [bare], corrections=(0,)),
        ),
        Mistake(
            "mean-not-subtracted",
            "the mean is not subtracted before the division.",
            (
                f"What is the mean of one normalised {line}, with gamma 1 and beta 0? What should it be?",
                "Look at what is above the fraction line of the formula.",
            ),
            norm_variants([right], combines=(uncentred,)),
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


def wrong_axis(symptom: str, hints: tuple[str, ...], *axes: Axis, lost: Axis = None) -> Mistake:
    square_only = norm_variants([lost], keepdim=(False, False)) if lost is not None else ()
    return Mistake("wrong-axis", symptom, hints, (*norm_variants(axes), *square_only))


# --- residual blocks --------------------------------------------------------------------------------------------------

NORM_FORGOTTEN = Mistake(
    "norm-forgotten",
    "the norm is never applied.",
    (
        "Are all arguments of the function used?",
        "The diagram has three boxes: the norm, the sub-layer and the addition. Find each of them in your code.",
    ),
    (lambda x, f, n: x + f(x),),
)

SUBLAYER_FORGOTTEN = Mistake(
    "sublayer-forgotten",
    "the sub-layer is never applied.",
    (
        "Are all arguments of the function used?",
        "The diagram has three boxes: the norm, the sub-layer and the addition. Find each of them in your code.",
    ),
    (lambda x, f, n: x + n(x), lambda x, f, n: n(x), lambda x, f, n: n(x + x), lambda x, f, n: n(x + n(x))),
)

NORMALISED_TWICE = Mistake(
    "normalised-twice",
    "the norm is applied twice; each block applies it once, before the sub-layer or at the very end.",
    (
        "How often does your code call `norm` for one block? How often does the diagram?",
        "If you overwrite `x` by its norm, every later line has the normalised x.",
    ),
    (
        lambda x, f, n: n(x + f(n(x))),
        lambda x, f, n: x + f(n(n(x))),
        lambda x, f, n: n(n(x + f(x))),
        lambda x, f, n: n(n(x) + f(x)),
        lambda x, f, n: n(n(x) + f(n(x))),
        lambda x, f, n: n(x + n(f(x))),
    ),
)


def _plain_norm(x: Tensor) -> Tensor:
    """LayerNorm with gamma 1 and beta 0."""
    return F.layer_norm(x, x.shape[-1:])


OWN_NORM = Mistake(
    "own-norm",
    "a LayerNorm without gamma and beta is applied; the block should call the `norm` that it is given.",
    (
        "Call your function with a norm that gives only zeros. Does anything change?",
        "`norm` is a function, as `sublayer` is: it knows its own gamma and beta.",
    ),
    (lambda x, f, n: x + f(_plain_norm(x)), lambda x, f, n: _plain_norm(x + f(x))),
)
