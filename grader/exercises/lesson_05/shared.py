"""What the norms of lesson 05 share: their cases, and a normalisation that can be wrong in every way that is named."""

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
from grader.spec.exercise import Case, Part, shape_of
from grader.spec.session import Session
from grader.tolerance import COARSE, FLOAT32

LESSON = "05_normalization"
EPS = 0.1  # so large that its place shows
BIG_EPS, SMALL, CONSTANT, OFFSET = "eps of 0.1", "entries of about 0.001", "constant entries", "a common offset of 1000"
Divide = Callable[[Tensor, float], Tensor]
Axis = tuple[int, ...] | Callable[[Tensor], tuple[int, ...]] | None

# --- cases ------------------------------------------------------------------------------------------------------------


def token_sizes(draw: Draw) -> dict[str, int]:
    """Few tokens, so that a loop over all their numbers comes to an end too, and many features: over two or three of
    them every norm gives nearly the same."""
    few = torch.tensor([2, 3, 7 if draw.larger else 5])[torch.randperm(3, generator=draw.generator)].tolist()
    leading = dict(zip("BHT", few, strict=True))
    return {**leading, "E": max(n for name, n in draw.sizes("E", "D", "V", **leading).items() if name not in leading)}


def batch_sizes(draw: Draw) -> dict[str, int]:
    """At least six rows and five columns, fewer columns than rows."""
    large = sorted(draw.sizes("B", "E", "spare", "spare too").values())
    return {"B": large[-1], "E": large[-2]}


def with_offset(draw: Draw, x: Tensor, axis: int) -> Tensor:
    """About 1000 along an axis, with a spread below one; nothing round, or sums of squares would be exact."""
    wide = x.to(torch.float64)
    spread = wide.var(axis, correction=0, keepdim=True).sqrt()
    own = draw.uniform(spread.shape, 0.4, 1.0), 1000 + draw.normal(spread.shape)
    return ((wide - wide.mean(axis, keepdim=True)) / spread * own[0] + own[1]).to(x.dtype)


def special_cases(
    draw: Draw, inputs: Axes, sizes: Mapping[str, int], axis: int, leading: tuple[int, ...] = ()
) -> list[Case]:
    """What shows eps, its place and its default, and what a variance taken the wrong way doesn't survive: statistics
    along `axis` of the first argument, x."""

    def case(name: str, change: Callable[[Tensor], Tensor], comparable: bool = True, **more: float) -> Case:
        made = tensors(draw, name, inputs, sizes, leading, comparable=comparable)
        return replace(made, args={**made.args, "x": change(made.args["x"]), **more})

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
    """One sequence, a batch, two leading axes, a single token, float64, entries up to ±50, and the special ones."""
    sizes = token_sizes(draw)
    sequence, batch = (sizes["T"],), (sizes["B"], sizes["T"])

    def fifty(draw: Draw, name: str, shape: tuple[int, ...]) -> Tensor:
        return draw.uniform(shape, -50, 50) if name == "x" else draw.normal(shape)

    return [
        tensors(draw, "one sequence", inputs, sizes, sequence),
        tensors(draw, "a batch", inputs, sizes, batch),
        tensors(draw, "three leading axes", inputs, sizes, (sizes["B"], sizes["H"], sizes["T"])),
        tensors(draw, "a single token", inputs, sizes, comparable=False),  # with one axis many a mistake looks alike
        tensors(draw, "float64", inputs, sizes, batch, dtype=torch.float64),
        tensors(draw, "entries up to 50", inputs, sizes, batch, fifty, comparable=False),
        *special_cases(draw, inputs, sizes, -1, batch),
    ]


def square(draw: Draw, inputs: Axes, size: str, *leading: str) -> Case:
    """A diagnostic case on which a mean that lost its axis lines up with the wrong one."""
    n = draw.integer(5, 9)
    axes = {name: shape_of(own, {size: n, **dict.fromkeys(leading, n)}, ()) for name, own in inputs.items()}
    x = draw.normal((n, n))
    args = {name: x if name == "x" else draw.normal(shape) for name, shape in axes.items()}
    return Case("as many rows as columns", args, {size: n, "B": n}, (n,), diagnostic=True)


def norm_parts(title: str, first: str, further: str, *cases: str, offset: str = "") -> tuple[Part, ...]:
    """The parts of a norm that is a function: `title` for its `first` case, `further` for those of other shapes."""
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
    """As it should be."""
    return (variance + eps).sqrt()


def outside(variance: Tensor, eps: float) -> Tensor:
    """Eps beside the root."""
    return variance.sqrt() + eps


def bare(variance: Tensor, _eps: float) -> Tensor:
    """No eps at all."""
    return variance.sqrt()


def fixed(divide: Divide, number: float) -> Divide:
    """A number of the code's own in the place of the argument eps."""
    return lambda variance, _eps: divide(variance, number)


USUAL = (inside, outside)
DEFAULTS = (0.0, 1e-12, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)


@dataclass(frozen=True)
class Recipe:
    """A normalisation, right but for what is named. Called as a student's function is."""

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


def recipes(axes: Iterable[Axis], divides: Iterable[Divide] = USUAL, **fixed_fields: Any) -> tuple[Recipe, ...]:
    """A recipe for every axis and divisor, with either variance: beginners' mistakes seldom come alone."""
    corrections = (fixed_fields.pop("correction"),) if "correction" in fixed_fields else (0, 1)
    return tuple(
        Recipe(axis, correction, divide, **fixed_fields)
        for correction, axis, divide in product(corrections, tuple(axes), tuple(divides))
    )


def all_but_first(x: Tensor) -> tuple[int, ...]:
    """Every axis but the batch's."""
    return tuple(range(1, x.dim())) or (0,)


def all_but_last(x: Tensor) -> tuple[int, ...]:
    """Every axis but the features'."""
    return tuple(range(x.dim() - 1))


def cancels(session: Session, first: str) -> bool:
    """Right on small numbers, wrong (or NaN) where they share a large offset."""
    small, large = session.cases[first], session.cases[OFFSET]
    if parts.inspect_call(session, small, FLOAT32) or parts.inspect_call(session, large, None):
        return False
    return parts.inspect_call(session, large, COARSE) is not None
