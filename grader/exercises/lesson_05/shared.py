"""What the exercises of lesson 05 share: sizes, cases and parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import torch
from torch import Tensor

from grader.sentences import say
from grader.spec import parts
from grader.spec.cases import LENGTH_ONE, Axes, length_one_sizes, tensors
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Part, shape_of
from grader.subject import Given
from grader.tolerance import Tolerance

ONE_FEATURE = "one feature"
PRECISE = Tolerance(relative=1e-10, absolute=1e-10)  # gamma in float64 makes a float32 result float64 again
EPS, OTHER_EPS = 0.1, 0.02  # large enough to show where they stand
GIVEN_EPS = BIG_EPS, ANOTHER_EPS = "eps of 0.1", "eps of 0.02"
SMALL, CONSTANT, OFFSET = "entries of about 0.001", "constant entries", "a common offset of 1000"


# --- cases ------------------------------------------------------------------------------------------------------------


def token_sizes(draw: Draw) -> dict[str, int]:
    """Sizes of B, H, T and E: few tokens, so that a loop over all their numbers ends in time, and many features,
    because over two or three features all norms give nearly the same."""
    few = torch.tensor([2, 3, 7 if draw.larger else 5])[torch.randperm(3, generator=draw.generator)].tolist()
    leading = dict(zip("BHT", few, strict=True))
    return {**leading, "E": max(n for name, n in draw.sizes("E", "D", "V", **leading).items() if name not in leading)}


def batch_sizes(draw: Draw) -> dict[str, int]:
    """Sizes of B and E: at least six rows and five columns, fewer columns than rows."""
    large = sorted(draw.sizes("B", "E", "spare", "spare too").values())
    return {"B": large[-1], "E": large[-2]}


def with_offset(draw: Draw, x: Tensor, axis: int) -> Tensor:
    """x with means of about 1000 along an axis and a spread below one. No round numbers: sums of their squares would be
    exact."""
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
        """x with one row (or column) of zeros and one of halves."""
        changed = x.movedim(axis, -1).clone()
        changed[..., 0, :], changed[..., 1, :] = 0.0, 0.5
        return changed.movedim(-1, axis)

    return [
        case(BIG_EPS, lambda x: x, eps=EPS),
        case(ANOTHER_EPS, lambda x: x, eps=OTHER_EPS),
        case(SMALL, lambda x: 1e-3 * x),
        case(CONSTANT, constant),
        case(OFFSET, lambda x: with_offset(draw, x, axis), comparable=False),
    ]


def with_leading_axes(draw: Draw, inputs: Axes) -> list[Case]:
    """One sequence, a batch, three leading axes, a single token, float64, entries up to ±50, batches with a single
    sequence or token, and the special cases."""
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
        *(
            tensors(draw, name, inputs, one, (one["B"], one["T"]), comparable=False)
            for name, one in length_one_sizes(sizes).items()
        ),
        *special_cases(draw, inputs, sizes, -1, batch),
    ]


def square(draw: Draw, inputs: Axes, size: str, *leading: str) -> Case:
    """A diagnostic case with as many rows as columns: a mean that lost its axis broadcasts along the wrong one. `size`
    names the axis of features, `leading` axes that share its size."""
    n = draw.integer(5, 9)
    axes = {
        name: shape_of(axes_of_name, {size: n, **dict.fromkeys(leading, n)}, ())
        for name, axes_of_name in inputs.items()
    }
    x = draw.normal((n, n))
    args = {name: x if name == "x" else draw.normal(shape) for name, shape in axes.items()}
    return Case("as many rows as columns", args, {size: n, "B": n}, (n,), diagnostic=True)


def norm_parts(title: str, first: str, further: str, *cases: str, offset: str = "") -> tuple[Part, ...]:
    """The parts of a norm that is a function: `title` for its `first` case, `further` for `cases` of other shapes.
    `offset` is the title of a part for a large common offset; empty, there is none."""
    return (
        parts.shape(first),
        parts.values(title, 3, first),
        parts.values(further, 1, *cases),
        parts.values("puts the given eps where it belongs, and has the right default", 2, *GIVEN_EPS, SMALL, CONSTANT),
        *((parts.offsets(offset, 1, OFFSET),) if offset else ()),
        parts.finite("stays finite with large entries", 0.5, "entries up to 50", after=first),
        parts.float64(single=first, weight=0.5, tolerance=PRECISE),
        parts.unchanged(first, weight=0.5),
        parts.gradients(first),
    )


# --- residual blocks --------------------------------------------------------------------------------------------------

# The student's functions get a sub-layer and a norm as callables. The subject builds them from plain data, so gradients
# flow through them. They keep no state, so it doesn't matter how often and in which order they are called.
SAME = "with a sub-layer and a norm that return x itself"
RESIDUAL_INPUT = {"x": "... E"}


def residual_cases(draw: Draw) -> list[Case]:
    """Cases of x, (…, E), a sub-layer and a norm; in one, the sub-layer and the norm return x itself."""
    sizes = token_sizes(draw)
    width, hidden = sizes["E"], sizes["E"] + 1

    def case(
        name: str,
        *leading: str,
        dtype: torch.dtype = torch.float32,
        scale: float = 0.0,
        of: Mapping[str, int] = sizes,
    ) -> Case:
        """A case with a feed-forward network and a LayerNorm of its own. `leading` names x's leading axes, whose sizes
        `of` holds; with a `scale` x is uniform in ±`scale`, else normal."""
        sublayer = {
            "weight1": draw.normal((hidden, width), width**-0.5),
            "bias1": draw.normal((hidden,)),
            "weight2": draw.normal((width, hidden), 2 * hidden**-0.5),
            "bias2": draw.normal((width,)),
        }
        norm = {"weight": draw.normal((width,)), "bias": draw.normal((width,)), "eps": 1e-5}
        drawn = tensors(draw, name, RESIDUAL_INPUT, sizes, tuple(of[axis] for axis in leading), dtype=dtype)
        x = draw.uniform(drawn.args["x"].shape, -scale, scale) if scale else drawn.args["x"]
        return replace(
            drawn,
            args={"x": x, "sublayer": Given("feed_forward", sublayer), "norm": Given("layer_norm", norm)},
            comparable=not scale and name not in LENGTH_ONE,
        )

    same = replace(case(SAME, "T"), comparable=False)
    return [
        case("one sequence", "T"),
        case("a batch", "B", "T"),
        case("a single token"),
        case("float64", "B", "T", dtype=torch.float64),
        case("entries up to 50", "B", "T", scale=50),
        *(case(name, "B", "T", of=one) for name, one in length_one_sizes(sizes).items()),
        replace(same, args={**same.args, "sublayer": Given("same"), "norm": Given("same")}),
    ]


def residual_parts(title: str) -> tuple[Part, ...]:
    """The parts of a residual block; `title` is that of the values on one sequence."""
    return (
        parts.shape(),
        parts.values(title, 3, "one sequence"),
        parts.values("takes any leading axes, or none", 1, "a batch", "a single token", *LENGTH_ONE),
        parts.finite("stays finite with large entries", 0.5, "entries up to 50"),
        parts.float64(weight=0.5),
        parts.unchanged(weight=0.5),
        replace(parts.unchanged(SAME, weight=0.5), name=say("leaves x as it was, even {case}", case=say(SAME))),
        parts.gradients(),
    )
