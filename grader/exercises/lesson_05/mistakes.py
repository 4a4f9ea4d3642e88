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
from grader.spec.words import Words
from grader.tolerance import COARSE, FLOAT32

mistake = Words(__file__)

Divide = Callable[[Tensor, float], Tensor]
Axis = tuple[int, ...] | Callable[[Tensor], tuple[int, ...]] | None
Combine = Callable[..., Tensor]  # of x, mean, divisor, gamma and beta


# --- wrong on purpose -------------------------------------------------------------------------------------------------


def inside(variance: Tensor, eps: float) -> Tensor:
    """The right divisor: eps is added under the root."""
    return (variance + eps).sqrt()


def outside(variance: Tensor, eps: float) -> Tensor:
    """A wrong divisor: eps is added after the root."""
    return variance.sqrt() + eps


def bare(variance: Tensor, _eps: float) -> Tensor:
    """A wrong divisor: the root of the variance, without eps."""
    return variance.sqrt()


def fixed(divide: Divide, number: float) -> Divide:
    """A wrong divisor: like `divide`, with a fixed number in place of the argument eps."""
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
    """The right way of putting the pieces together: centre, divide, scale by gamma, shift by beta."""
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
    """A wrong way of putting the pieces together: without subtracting the mean."""
    return gamma * x / divisor + beta


@dataclass(frozen=True)
class NormVariant:
    """A normalisation with the given parts changed, called like a student's function."""

    axis: Axis  # over which the mean runs; None: all axes
    correction: int = 0  # the variance divides by n - this
    divide: Divide = inside
    combine: Combine = scaled_and_shifted
    variance_axis: Axis | Literal["same"] = "same"  # over which the variance runs
    squares: str = "centred"  # or "raw" (those of x itself), or "summed" (not averaged)
    keepdim: tuple[bool, bool] = (True, True)  # whether the mean and the variance keep their axis
    default: float = 1e-5  # the eps of a call without one

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
    """A variant for every combination of these values of the fields, each with both variances (over n and over n - 1):
    beginners' mistakes seldom come alone. `fixed_fields` are the same in all variants."""
    return tuple(
        NormVariant(axis, correction, divide, combine, **fixed_fields)
        for correction, axis, divide, combine in product(
            tuple(corrections), tuple(axes), tuple(divides), tuple(combines)
        )
    )


def all_but_first(x: Tensor) -> tuple[int, ...]:
    """Every axis of x but the batch's; if x has no other, that one."""
    return tuple(range(1, x.dim())) or (0,)


def all_but_last(x: Tensor) -> tuple[int, ...]:
    """Every axis of x but the features'; none if x has no other."""
    return tuple(range(x.dim() - 1))


def cancels(session: Session, first: str) -> bool:
    """Whether the values of the case `first` are right, and wrong or NaN where the numbers share a large offset."""
    small, large = session.cases[first], session.cases[OFFSET]
    if parts.inspect_call(session, small, FLOAT32) or parts.inspect_call(session, large, None):
        return False
    return parts.inspect_call(session, large, COARSE) is not None


# --- mistakes, the most telling first ---------------------------------------------------------------------------------


def norm_mistakes(right: tuple[int, ...], first: str, line: str) -> tuple[Mistake, ...]:
    """The mistakes that LayerNorm and BatchNorm share. `right`: the axes that the statistics run over; `first`: the
    name of the first case; `line`: what shares the statistics, a "row" or a "column"."""

    def swapped(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
        return NormVariant(right)(x, beta, gamma, eps)

    return (
        mistake("no-affine", norm_variants([right], combines=NO_AFFINE)),
        mistake("gamma-beta-swapped", (swapped,)),
        mistake("beta-scaled", norm_variants([right], combines=BETA_SCALED), line=line),
        mistake("mean-alone-divided", norm_variants([right], combines=MEAN_ALONE)),
        mistake("root-taken-twice", norm_variants([right], ROOT_TWICE), line=line),
        mistake("divides-by-variance", norm_variants([right], NO_ROOT), line=line),
        mistake(
            "multiplied-instead",
            norm_variants([right], [lambda v, eps: 1 / (v + eps).sqrt(), lambda v, eps: 1 / (v.sqrt() + eps)]),
            line=line,
        ),
        mistake("sum-instead-of-mean", norm_variants([right], corrections=(0,), squares="summed"), line=line),
        mistake("squares-not-centred", norm_variants([right], corrections=(0,), squares="raw"), line=line),
        mistake(
            "unbiased-variance",
            norm_variants(
                [right], [inside, outside, bare, fixed(outside, 1e-5), fixed(outside, 1e-7)], corrections=(1,)
            ),
            line=line,
        ),
        mistake("wrong-default-eps", tuple(NormVariant(right, default=eps) for eps in DEFAULTS if eps != 1e-5)),
        mistake(
            "eps-ignored", norm_variants([right], [fixed(inside, eps) for eps in (1e-5, 1e-6, 1e-8)], corrections=(0,))
        ),
        mistake(
            "eps-outside-root",
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
        mistake("eps-forgotten", norm_variants([right], [bare], corrections=(0,))),
        mistake("mean-not-subtracted", norm_variants([right], combines=(uncentred,)), line=line),
        mistake("cancellation", recognise=lambda session: cancels(session, first)),
    )


def over_axes(*axes: Axis, lost: Axis = None) -> tuple[NormVariant, ...]:
    """Variants whose statistics run over other axes. Those over `lost`, if it is given, lose the axis, which runs only
    where there are as many rows as columns."""
    square_only = norm_variants([lost], keepdim=(False, False)) if lost is not None else ()
    return (*norm_variants(axes), *square_only)


# --- residual blocks --------------------------------------------------------------------------------------------------

NORM_FORGOTTEN = mistake("norm-forgotten", (lambda x, f, n: x + f(x),))

SUBLAYER_FORGOTTEN = mistake(
    "sublayer-forgotten",
    (lambda x, f, n: x + n(x), lambda x, f, n: n(x), lambda x, f, n: n(x + x), lambda x, f, n: n(x + n(x))),
)

NORMALISED_TWICE = mistake(
    "normalised-twice",
    (
        lambda x, f, n: n(x + f(n(x))),
        lambda x, f, n: x + f(n(n(x))),
        lambda x, f, n: x + n(f(n(x))),
        lambda x, f, n: n(n(x + f(x))),
        lambda x, f, n: n(n(x) + f(x)),
        lambda x, f, n: n(n(x) + f(n(x))),
        lambda x, f, n: n(x + n(f(x))),
    ),
)


def _plain_norm(x: Tensor) -> Tensor:
    """LayerNorm with gamma 1 and beta 0."""
    return F.layer_norm(x, x.shape[-1:])


OWN_NORM = mistake("own-norm", (lambda x, f, n: x + f(_plain_norm(x)), lambda x, f, n: _plain_norm(x + f(x))))
