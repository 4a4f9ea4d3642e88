"""What the exercises of lesson 03 share: sizes with d_model = num_heads * head_dim, and the cases made from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from grader.spec import parts
from grader.spec.cases import Axes, Make, normal_entries, tensors
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Part
from grader.spec.session import Session

LESSON = "03_multi_head_attention"
TWO_LEADING = "two leading axes"


def head_sizes(draw: Draw, *others: str, but: int = 1) -> dict[str, int]:
    """Sizes that are all distinct, with E = H * D and several heads, but not `but`; G is a second leading axis."""
    heads = _one_of(draw, [n for n in ((2, 3, 5, 6) if draw.larger else (2, 3, 5)) if n != but])
    width = _one_of(draw, [n for n in ((3, 5, 7, 8, 10) if draw.larger else (3, 5, 6)) if n != heads])
    return draw.sizes("B", "G", *others, H=heads, D=width, E=heads * width)


def two_head_sizes(draw: Draw, *others: str) -> tuple[dict[str, int], dict[str, int]]:
    """Two draws that differ in the number of heads, so that no fixed number fits."""
    first = head_sizes(draw, *others)
    return first, head_sizes(draw, *others, but=first["H"])


def _one_of(draw: Draw, numbers: Sequence[int]) -> int:
    return numbers[draw.integer(0, len(numbers))]


def numbered(_draw: Draw, _name: str, shape: tuple[int, ...]) -> Tensor:
    """0, 1, 2, … in order: a learner sees at a glance where an entry went."""
    return torch.arange(torch.Size(shape).numel(), dtype=torch.float32).reshape(shape)


def with_leading_axes(
    draw: Draw,
    inputs: Axes,
    both: tuple[Mapping[str, int], Mapping[str, int]],
    make: Make = normal_entries,
    first: Make | None = None,
    numbers: Mapping[str, str] | None = None,
) -> list[Case]:
    """As `grader.spec.cases.standard`: one sequence in the first sizes, leading axes in the second. `first` makes the
    entries of the first case; `numbers` are arguments after the tensors, by the size that they are."""
    sizes, others = both

    def fifty(draw: Draw, _name: str, shape: tuple[int, ...]) -> Tensor:
        return draw.uniform(shape, -50, 50)

    made = [
        tensors(draw, "one sequence", inputs, sizes, (), first or make),
        tensors(draw, "a batch", inputs, others, (others["B"],), make),
        tensors(draw, TWO_LEADING, inputs, others, (others["B"], others["G"]), make),
        tensors(draw, "float64", inputs, sizes, (sizes["B"],), make, torch.float64),
        tensors(draw, "entries up to 50", inputs, sizes, (sizes["B"],), fifty, comparable=False),
    ]
    return [
        replace(case, args={**case.args, **{name: case.sizes[size] for name, size in (numbers or {}).items()}})
        for case in made
    ]


def usual(title: str, weight: float, leading: float = 1, finite: bool = True) -> tuple[Part, ...]:
    """As `grader.spec.parts.usual`, on the cases of `with_leading_axes`. `finite`: entries up to ±50 could do harm."""
    large = (parts.finite("stays finite at large entries", 0.5, "entries up to 50"),) if finite else ()
    return (
        parts.shape(),
        parts.values(title, weight, "one sequence"),
        parts.values("takes any leading axes", leading, "a batch", TWO_LEADING),
        *large,
        parts.float64(weight=0.5),
        parts.unchanged(weight=0.5),
        parts.gradients(),
    )


def split_by_view(x: Tensor, num_heads: int) -> Tensor:
    """Wrongly: straight to (num_heads, seq_len, head_dim)."""
    return x.reshape(*x.shape[:-2], num_heads, x.shape[-2], x.shape[-1] // num_heads)


def view_refused(session: Session) -> bool:
    """Whether `view` refused to run because a transpose came before it."""
    outcomes = (session.call(case) for case in session.real_cases())
    return any(o.raised is not None and "view size is not compatible" in o.raised.message for o in outcomes)
