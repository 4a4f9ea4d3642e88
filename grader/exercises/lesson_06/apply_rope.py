"""`apply_rope`: rotary positions (Su et al. 2021, section 3.2), which turn pairs of neighbouring columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from grader.spec import parts
from grader.spec.cases import LENGTH_ONE, length_one, tensors
from grader.spec.draw import Draw
from grader.spec.exercise import Case
from grader.spec.session import Session
from grader.spec.spec import Spec, When

spec = Spec(__name__)

X = {"x": "... T D"}
Variant = Callable[..., Tensor]
Angles = Callable[[Tensor, Tensor, float], Tensor]


def reference(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """The right `apply_rope`, by complex numbers, where turning is multiplying by e^(i theta): `x` (..., T, D) and
    `positions` (T,) give (..., T, D) of the dtype of `x`. `base` sets the frequencies."""
    width = x.shape[-1]
    rates = torch.tensor([base ** (-2 * i / width) for i in range(width // 2)], dtype=torch.float64)
    angles = torch.outer(positions.double(), rates)
    turned = torch.view_as_complex(x.double().unflatten(-1, (-1, 2)).contiguous()) * torch.polar(
        torch.ones_like(angles), angles
    )
    return torch.view_as_real(turned).flatten(-2).to(x.dtype)


# --- wrong on purpose -------------------------------------------------------------------------------------------------


def _angles(exponent: Callable[[int, int], float] = lambda i, d: 2 * i / d) -> Angles:
    """A function that gives the angle of every pair, (T, D / 2), from `x` (..., T, D), positions (T,) and the base.
    `exponent` gives, from a pair's number and D, the power of 1 / base that is the pair's frequency."""

    def angles(x: Tensor, positions: Tensor, base: float) -> Tensor:
        width = x.shape[-1]
        rates = torch.tensor([base ** -exponent(i, width) for i in range(width // 2)], dtype=x.dtype)
        return positions.to(x.dtype).unsqueeze(-1) * rates

    return angles


RIGHT = _angles()


def _turned(angles: Angles = RIGHT, reverse: bool = False, positions_used: bool = True) -> Variant:
    def variant(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
        places = positions if positions_used else torch.arange(x.shape[-2])
        theta = angles(x, places, base)
        cos, sin = theta.cos(), -theta.sin() if reverse else theta.sin()
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)

    return variant


def _halves_turned(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """Like `reference`, but columns i and i + D / 2 are a pair, as in Llama's code."""
    theta = RIGHT(x, positions, base)
    a, b = x.chunk(2, -1)
    return torch.cat((a * theta.cos() - b * theta.sin(), a * theta.sin() + b * theta.cos()), -1)


def _halves_returned(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """Like `reference`, but the turned pairs come back with all first columns before all second ones."""
    right = _turned()(x, positions, base)
    return torch.cat((right[..., 0::2], right[..., 1::2]), -1)


def _halves_read(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """Like `reference`, but columns i and i + D / 2 are turned as a pair and come back as neighbours."""
    return torch.stack(_halves_turned(x, positions, base).chunk(2, -1), -1).flatten(-2)


def _halves_across(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """Like `reference`, but mixes two conventions: the angles of neighbouring columns with Llama's `rotate_half`."""
    theta = RIGHT(x, positions, base).repeat_interleave(2, -1)
    a, b = x.chunk(2, -1)
    return x * theta.cos() + torch.cat((-b, a), -1) * theta.sin()


def _by_column(exponent: Callable[[int, int], float]) -> Variant:
    """A wrong `apply_rope` in which every column has an angle of its own: `exponent` gives, from a column's number and
    D, the power of 1 / base that is the column's frequency."""

    def variant(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
        width = x.shape[-1]
        rates = torch.tensor([base ** -exponent(j, width) for j in range(width)], dtype=x.dtype)
        theta = positions.to(x.dtype).unsqueeze(-1) * rates
        across = torch.stack((-x[..., 1::2], x[..., 0::2]), -1).flatten(-2)
        return x * theta.cos() + across * theta.sin()

    return variant


def _divided_by(axis: int) -> Angles:
    """Angles (T, D / 2) whose exponents are divided by the size of this axis of `x` in place of D."""
    return lambda x, positions, base: _angles(lambda i, _: 2 * i / x.shape[axis])(x, positions, base)


def _mixed(mix: Callable[..., tuple[Tensor, Tensor]]) -> Variant:
    """A wrong `apply_rope`: `mix` makes the two columns of each pair, from both columns of `x`, (..., T, D / 2), and
    the cosines and sines of the angles, (T, D / 2)."""

    def variant(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
        theta = RIGHT(x, positions, base)
        return torch.stack(mix(x[..., 0::2], x[..., 1::2], theta.cos(), theta.sin()), -1).flatten(-2)

    return variant


def _turns_faster(session: Session) -> bool:
    """Whether later pairs turn faster than earlier ones in place of slower. Only positions 0 and 1 are compared: the
    angles of later ones are too large for float32."""
    case = session.cases["one sequence"]
    got = session.call(case).value
    if not isinstance(got, Tensor) or got.shape != case.args["x"].shape:
        return False
    faster, right = (session.evaluate(case, f)[:2] for f in (_turned(_angles(lambda i, d: -2 * i / d)), reference))
    start = got[:2].to(faster.dtype)
    return torch.allclose(start, faster, atol=1e-3) and not torch.allclose(start, right, atol=1e-3)


def _no_table_of_angles(session: Session) -> bool:
    """Whether torch failed to broadcast as many positions with as many frequencies, because one of them lacks an
    axis."""
    case = session.cases["one sequence"]
    raised = session.call(case).raised
    length, pairs = case.sizes["T"], case.sizes["D"] // 2
    sizes = (
        f"size of tensor a ({length}) must match the size of tensor b ({pairs})",
        f"size of tensor a ({pairs}) must match the size of tensor b ({length})",
    )
    return raised is not None and any(text in raised.message for text in sizes)


def _overwritten(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """Like `reference`, but the second column of a pair is made from the new first one."""
    theta = RIGHT(x, positions, base)
    a, b = x[..., 0::2], x[..., 1::2]
    a = a * theta.cos() - b * theta.sin()
    return torch.stack((a, a * theta.sin() + b * theta.cos()), -1).flatten(-2)


def _from_first(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    return _turned()(x, positions - positions[0], base)


def _base_ignored(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    return _turned()(x, positions, 10000.0)


# --- the exercise -----------------------------------------------------------------------------------------------------

PLACES, FAR, LEADING = "positions with gaps", "positions beyond 256", ("a batch", "two leading axes", *LENGTH_ONE)


def _cases(draw: Draw) -> list[Case]:
    def case(name: str, sizes: dict[str, int], *leading: str, dtype: torch.dtype = torch.float32) -> Case:
        return tensors(draw, name, X, sizes, tuple(sizes[axis] for axis in leading), dtype=dtype)

    def at(made: Case, positions: Tensor, **more: float) -> Case:
        return replace(made, args={**made.args, "positions": positions, **more})

    def gaps(length: int, highest: int) -> Tensor:
        """Positions (length,), all distinct, from 1 to `highest`, in random order and with gaps where length <
        highest."""
        return torch.randperm(highest, generator=draw.generator)[:length] + 1

    def far(length: int) -> Tensor:
        """Odd positions (length,) beyond 256, where bfloat16 has no odd numbers. Angles in float32 are right there."""
        return 257 + 2 * torch.randperm(2 * length, generator=draw.generator)[:length]

    first = draw.sizes("T", B=2, H=3, D=(6, 10)[draw.integer(0, 2)])
    second = draw.sizes("T", B=3, H=2, D=(8, 12)[draw.integer(0, 2)])
    fifty = case("entries up to 50", second)
    large = replace(fifty, args={"x": draw.uniform(fifty.args["x"].shape, -50, 50)}, comparable=False)
    return [
        at(case("one sequence", first), torch.arange(first["T"])),
        at(case(PLACES, first), gaps(first["T"], 40)),
        at(case("a batch", second, "B"), gaps(second["T"], 25)),
        at(case("two leading axes", first, "B", "H"), torch.arange(first["T"])),
        at(case("another base", second), gaps(second["T"], 25), base=100.0 + draw.integer(0, 50)),
        replace(at(case(FAR, first), far(first["T"]), base=500.0), comparable=False),
        # So near the start that angles in float32 are accurate enough.
        at(case("float64", {**first, "T": 5}, "B", dtype=torch.float64), gaps(5, 6)),
        *(at(one, gaps(one.sizes["T"], 25)) for one in length_one(draw, X, first)),
        at(large, gaps(second["T"], 40)),
    ]


EXERCISE = spec.exercise(
    reference,
    points=4,
    outputs={"turned": "... T D"},
    cases=_cases,
    parts=(
        parts.shape(),
        parts.values("turns every pair of columns, at positions 0, 1, 2, …", 3, "one sequence"),
        parts.values("takes any positions and any base", 1.5, PLACES, "another base", FAR),
        parts.values("takes any leading axes", 1, *LEADING),
        parts.finite("stays finite with large entries", 0.5, "entries up to 50"),
        parts.float64(weight=0.5),
        parts.unchanged(weight=0.5),
        parts.gradients(),
    ),
    mistakes={
        "halves-instead-of-pairs": (_halves_turned, _halves_returned, _halves_read, _halves_across),
        "rotation-reversed": _turned(reverse=True),
        "frequency-per-column": (
            _by_column(lambda j, d: j / d),
            _by_column(lambda j, d: 2 * j / d),
            _by_column(lambda j, d: (j % (d // 2)) * 2 / d),
        ),
        "positions-from-zero": (_turned(positions_used=False), _from_first),
        "exponent-doubled": _turned(_angles(lambda i, d: 4 * i / d)),
        "exponent-halved": _turned(_angles(lambda i, d: i / d)),
        "overwritten-too-early": _overwritten,
        "base-ignored": _base_ignored,
        "frequency-multiplied": When(_turns_faster),
        "both-signs-alike": (
            _mixed(lambda a, b, cos, sin: (a * cos + b * sin, a * sin + b * cos)),
            _mixed(lambda a, b, cos, sin: (a * cos - b * sin, b * cos - a * sin)),
        ),
        "sin-cos-swapped": _mixed(lambda a, b, cos, sin: (a * sin - b * cos, a * cos + b * sin)),
        "added-instead-of-turned": (
            _mixed(lambda a, b, cos, sin: (a + sin, b + cos)),
            _mixed(lambda a, b, cos, sin: (a + cos, b + sin)),
        ),
        "half-of-each": (
            _mixed(lambda a, b, cos, sin: (a * cos, b * sin)),
            _mixed(lambda a, b, cos, sin: (a * cos, b * cos)),
        ),
        "one-frequency-for-all": _turned(_angles(lambda i, d: 0.0)),
        "first-pair-only": lambda x, positions, base=10000.0: torch.cat(
            (_turned()(x, positions, base)[..., :2], x[..., 2:]), -1
        ),
        "degrees-instead-of-radians": _turned(lambda x, positions, base: torch.deg2rad(RIGHT(x, positions, base))),
        "width-of-another-axis": (_turned(_divided_by(0)), _turned(_divided_by(1))),
        "positions-without-axis": When(_no_table_of_angles),
    },
)
