"""What the exercises of lesson 05 share: cases, parts, and a normalisation that can be made wrong in many ways."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import torch
from torch import Tensor

from grader.spec import parts
from grader.spec.cases import Axes, tensors
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Mistake, Part, shape_of
from grader.spec.session import Session
from grader.subject import Given
from grader.tolerance import COARSE, FLOAT32

LESSON = "05_normalization"
EPS = 0.1  # large enough to show where it stands
BIG_EPS, SMALL, CONSTANT, OFFSET = "eps of 0.1", "entries of about 0.001", "constant entries", "a common offset of 1000"
Divide = Callable[[Tensor, float], Tensor]
Axis = tuple[int, ...] | Callable[[Tensor], tuple[int, ...]] | None


# --- cases ------------------------------------------------------------------------------------------------------------


def token_sizes(draw: Draw) -> dict[str, int]:
    """Few tokens, so that a loop over all their numbers ends in time, and many features: over two or three features all
    norms give nearly the same."""
    few = torch.tensor([2, 3, 7 if draw.larger else 5])[torch.randperm(3, generator=draw.generator)].tolist()
    leading = dict(zip("BHT", few, strict=True))
    return {**leading, "E": max(n for name, n in draw.sizes("E", "D", "V", **leading).items() if name not in leading)}


def batch_sizes(draw: Draw) -> dict[str, int]:
    """At least six rows and five columns, fewer columns than rows."""
    large = sorted(draw.sizes("B", "E", "spare", "spare too").values())
    return {"B": large[-1], "E": large[-2]}


def with_offset(draw: Draw, x: Tensor, axis: int) -> Tensor:
    """Means of about 1000 along an axis, a spread below one. No round numbers: sums of their squares would be exact."""
    wide = x.to(torch.float64)
    spread = wide.var(axis, correction=0, keepdim=True).sqrt()
    spread_and_mean = draw.uniform(spread.shape, 0.4, 1.0), 1000 + draw.normal(spread.shape)
    return ((wide - wide.mean(axis, keepdim=True)) / spread * spread_and_mean[0] + spread_and_mean[1]).to(x.dtype)


def special_cases(
    draw: Draw, inputs: Axes, sizes: Mapping[str, int], axis: int, leading: tuple[int, ...] = ()
) -> list[Case]:
    """Cases that show eps, its place, its default, and a variance that cancellation spoils. Statistics run along `axis`
    of the first argument, x."""

    def case(name: str, change: Callable[[Tensor], Tensor], comparable: bool = True, **more: float) -> Case:
        drawn = tensors(draw, name, inputs, sizes, leading, comparable=comparable)
        return replace(drawn, args={**drawn.args, "x": change(drawn.args["x"]), **more})

    def constant(x: Tensor) -> Tensor:
        """One row (or column) of zeros, one of halves."""
        changed = x.movedim(axis, -1).clone()
        changed[..., 0, :], changed[..., 1, :] = 0.0, 0.5
        return changed.movedim(-1, axis)

    return [
        case(BIG_EPS, lambda x: x, eps=EPS),
        case(SMALL, lambda x: 1e-3 * x),
        case(CONSTANT, constant),
        case(OFFSET, lambda x: with_offset(draw, x, axis), comparable=False),
    ]


def with_leading_axes(draw: Draw, inputs: Axes) -> list[Case]:
    """One sequence, a batch, three leading axes, a single token, float64, entries up to ±50, and the special cases."""
    sizes = token_sizes(draw)
    sequence, batch = (sizes["T"],), (sizes["B"], sizes["T"])

    def fifty(draw: Draw, name: str, shape: tuple[int, ...]) -> Tensor:
        return draw.uniform(shape, -50, 50) if name == "x" else draw.normal(shape)

    return [
        tensors(draw, "one sequence", inputs, sizes, sequence),
        tensors(draw, "a batch", inputs, sizes, batch),
        tensors(draw, "three leading axes", inputs, sizes, (sizes["B"], sizes["H"], sizes["T"])),
        tensors(draw, "a single token", inputs, sizes, comparable=False),  # with one axis many mistakes give the same
        tensors(draw, "float64", inputs, sizes, batch, dtype=torch.float64),
        tensors(draw, "entries up to 50", inputs, sizes, batch, fifty, comparable=False),
        *special_cases(draw, inputs, sizes, -1, batch),
    ]


def square(draw: Draw, inputs: Axes, size: str, *leading: str) -> Case:
    """A diagnostic case with as many rows as columns: a mean that lost its axis broadcasts along the wrong one."""
    n = draw.integer(5, 9)
    axes = {
        name: shape_of(axes_of_name, {size: n, **dict.fromkeys(leading, n)}, ())
        for name, axes_of_name in inputs.items()
    }
    x = draw.normal((n, n))
    args = {name: x if name == "x" else draw.normal(shape) for name, shape in axes.items()}
    return Case("as many rows as columns", args, {size: n, "B": n}, (n,), diagnostic=True)


def norm_parts(title: str, first: str, further: str, *cases: str, offset: str = "") -> tuple[Part, ...]:
    """The parts of a norm that is a function: `title` for its `first` case, `further` for `cases` of other shapes."""
    return (
        parts.shape(first),
        parts.values(title, 3, first),
        parts.values(further, 1, *cases),
        parts.values("has eps in its place, as given, and its default", 2, BIG_EPS, SMALL, CONSTANT),
        *((parts.offsets(offset, 1, OFFSET),) if offset else ()),
        parts.finite("stays finite at large entries", 0.5, "entries up to 50", after=first),
        parts.float64(single=first, weight=0.5),
        parts.unchanged(first, weight=0.5),
        parts.gradients(first),
    )


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


@dataclass(frozen=True)
class NormVariant:
    """A normalisation with the given parts changed, called like a student's function."""

    axis: Axis
    correction: int = 0
    divide: Divide = inside
    scaled: bool = True
    shifted: bool = True
    centred: bool = True
    keepdim: bool = True
    default: float = 1e-5

    def __call__(self, x: Tensor, gamma: Tensor, beta: Tensor | None = None, eps: float | None = None) -> Tensor:
        eps = self.default if eps is None else eps
        axis = self.axis(x) if callable(self.axis) else self.axis
        axes = tuple(range(x.dim())) if axis is None else axis
        mean = x.mean(axes, keepdim=self.keepdim)
        variance = x.var(axes, correction=self.correction, keepdim=self.keepdim)
        normal = ((x - mean) if self.centred else x) / self.divide(variance, eps)
        scaled = normal * gamma if self.scaled else normal
        return scaled + beta if self.shifted and beta is not None else scaled


def norm_variants(
    axes: Iterable[Axis], divides: Iterable[Divide] = USUAL, **fixed_fields: Any
) -> tuple[NormVariant, ...]:
    """A variant for every axis and divisor, each with both variances: beginners' mistakes seldom come alone."""
    corrections = (fixed_fields.pop("correction"),) if "correction" in fixed_fields else (0, 1)
    return tuple(
        NormVariant(axis, correction, divide, **fixed_fields)
        for correction, axis, divide in product(corrections, tuple(axes), tuple(divides))
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


def _affine(right: tuple[int, ...]) -> tuple[NormVariant, ...]:
    switches = ((False, False), (False, True), (True, False))
    return tuple(r for g, b in switches for r in norm_variants([right], scaled=g, shifted=b))


def norm_mistakes(right: tuple[int, ...], first: str) -> tuple[Mistake, ...]:
    """The mistakes that both norms share; `right` is the axis that the statistics run over."""

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
            norm_variants([right], [lambda v, eps: v + eps, lambda v, eps: v, lambda v, eps: (v + eps) ** 2]),
        ),
        Mistake(
            "unbiased-variance",
            "the variance is divided by n - 1 instead of n, so every number comes out a little too small.",
            (
                "Try your function on the row [1, 2, 3] with gamma 1 and beta 0: the last number should be 1.2247.",
                "`std` and `var` divide by n - 1 unless they are told otherwise: look up their option `correction`.",
            ),
            norm_variants([right], [inside, outside, bare, fixed(outside, 1e-5), fixed(outside, 1e-7)], correction=1),
        ),
        Mistake(
            "wrong-default-eps",
            "eps is used as it is given, but its default is another one.",
            ("Compare the first line of your function with the one that the exercise came with.",),
            tuple(NormVariant(right, default=eps) for eps in DEFAULTS if eps != 1e-5),
        ),
        Mistake(
            "eps-ignored",
            "the argument eps is not used: a fixed number stands in its place.",
            ("Call your function with eps = 0.1 and with eps = 10. Should the results be the same?",),
            norm_variants([right], [fixed(inside, eps) for eps in (1e-5, 1e-6, 1e-8)], correction=0),
        ),
        Mistake(
            "eps-outside-root",
            "eps is added to the standard deviation; it belongs to the variance, under the root.",
            (
                "With eps = 0.00001 you can't see it: compare your divisor with the formula for eps = 0.1.",
                "Which comes first in the formula, adding eps or taking the root?",
            ),
            norm_variants(
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
            norm_variants([right], [bare], correction=0),
        ),
        Mistake(
            "mean-not-subtracted",
            "the mean is not subtracted before the division.",
            ("What is the mean of one normalised row or column, with gamma 1 and beta 0? What should it be?",),
            norm_variants([right], centred=False),
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
    square_only = norm_variants([lost], keepdim=False) if lost is not None else ()
    return Mistake("wrong-axis", symptom, hints, (*norm_variants(axes), *square_only))


# --- residual blocks --------------------------------------------------------------------------------------------------

# The student's functions get a sub-layer and a norm as callables. The subject builds them from plain data, so gradients
# flow through them. They keep no state, so it doesn't matter how often and in which order they are called.
SAME = "with a sub-layer and a norm that return x itself"
RESIDUAL_INPUT = {"x": "... E"}


def residual_cases(draw: Draw) -> list[Case]:
    sizes = token_sizes(draw)
    width, hidden = sizes["E"], sizes["E"] + 1

    def case(name: str, *leading: str, dtype: torch.dtype = torch.float32, scale: float = 0.0) -> Case:
        """A feed-forward network and a LayerNorm of its own for every case."""
        sublayer = {
            "weight1": draw.normal((hidden, width), width**-0.5),
            "bias1": draw.normal((hidden,)),
            "weight2": draw.normal((width, hidden), 2 * hidden**-0.5),
            "bias2": draw.normal((width,)),
        }
        norm = {"weight": draw.normal((width,)), "bias": draw.normal((width,)), "eps": 1e-5}
        drawn = tensors(draw, name, RESIDUAL_INPUT, sizes, tuple(sizes[axis] for axis in leading), dtype=dtype)
        x = draw.uniform(drawn.args["x"].shape, -scale, scale) if scale else drawn.args["x"]
        return replace(
            drawn,
            args={"x": x, "sublayer": Given("feed_forward", sublayer), "norm": Given("layer_norm", norm)},
            comparable=not scale,
        )

    same = replace(case(SAME, "T"), comparable=False)
    return [
        case("one sequence", "T"),
        case("a batch", "B", "T"),
        case("a single token"),
        case("float64", "B", "T", dtype=torch.float64),
        case("entries up to 50", "B", "T", scale=50),
        replace(same, args={**same.args, "sublayer": Given("same"), "norm": Given("same")}),
    ]


def residual_parts(title: str) -> tuple[Part, ...]:
    return (
        parts.shape(),
        parts.values(title, 3, "one sequence"),
        parts.values("takes any leading axes, none included", 1, "a batch", "a single token"),
        parts.finite("stays finite at large entries", 0.5, "entries up to 50"),
        parts.float64(weight=0.5),
        parts.unchanged(weight=0.5),
        replace(parts.unchanged(SAME, weight=0.5), name=f"leaves x as it was, {SAME} too"),
        parts.gradients(),
    )


NORM_FORGOTTEN = Mistake(
    "norm-forgotten",
    "the norm is never applied.",
    ("Are all arguments of the function used?",),
    (lambda x, f, n: x + f(x),),
)

NORMALISED_TWICE = Mistake(
    "normalised-twice",
    "the norm is applied twice; each block applies it once, before the sub-layer or at the very end.",
    ("Count how often `norm` is called for one block, and compare with the formula.",),
    (lambda x, f, n: n(x + f(n(x))), lambda x, f, n: x + f(n(n(x))), lambda x, f, n: n(n(x + f(x)))),
)
