"""Cases that most exercises share, drawn from the axes of their arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from grader.spec.draw import Draw
from grader.spec.exercise import Case, shape_of

Axes = Mapping[str, str]
Make = Callable[[Draw, str, tuple[int, ...]], Tensor]

BATCH_OF_ONE, ONE_TOKEN = "a batch of one", "one token each"
LENGTH_ONE = (BATCH_OF_ONE, ONE_TOKEN)  # show a `squeeze`
TOKENS = ("T", "Tq", "Tk", "S", "Ts", "Tt")  # axes of tokens


def normal_entries(draw: Draw, _name: str, shape: tuple[int, ...]) -> Tensor:
    """Standard normal entries (float32) in a shape, whatever the argument is called."""
    return draw.normal(shape)


def primitive_axes(inputs: Axes) -> list[str]:
    """The names that appear in the axes, each once.

    >>> primitive_axes({"x": "... T H*D", "w": "D E"})
    ['T', 'H', 'D', 'E']
    """
    factors = (f for axes in inputs.values() for axis in axes.split() if axis != "..." for f in axis.split("*"))
    return list(dict.fromkeys(f for f in factors if not f.isdigit()))


def tensors(
    draw: Draw,
    name: str,
    inputs: Axes,
    sizes: Mapping[str, int],
    leading: tuple[int, ...] = (),
    make: Make = normal_entries,
    dtype: torch.dtype = torch.float32,
    diagnostic: bool = False,
    comparable: bool = True,
) -> Case:
    """One case whose arguments are drawn by `make` in the shapes that `inputs` gives, with these `sizes` of its axes
    and `leading` ones before them. `diagnostic` and `comparable` are those of `Case`."""
    args = {arg: make(draw, arg, shape_of(axes, sizes, leading)).to(dtype) for arg, axes in inputs.items()}
    return Case(name, args, dict(sizes), leading, diagnostic, comparable)


def length_one_sizes(sizes: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """The sizes of the cases in `LENGTH_ONE`, by name: one sequence in the batch; one token in every sequence."""
    return {BATCH_OF_ONE: {**sizes, "B": 1}, ONE_TOKEN: {**sizes, **{name: 1 for name in TOKENS if name in sizes}}}


def length_one(draw: Draw, inputs: Axes, sizes: Mapping[str, int], make: Make = normal_entries) -> list[Case]:
    """A batch of one sequence, and a batch (of `sizes["B"]`) of one token each: a `squeeze` loses these axes.

    Many mistakes give the right numbers there, so no mistake is recognised by them.
    """
    return [
        tensors(draw, name, inputs, single, (single["B"],), make, comparable=False)
        for name, single in length_one_sizes(sizes).items()
    ]


def standard(draw: Draw, inputs: Axes, make: Make = normal_entries) -> list[Case]:
    """The usual cases: one sequence, a batch, batch and heads, float64, entries up to ±50, and those of `length_one`;
    all other sizes are distinct.

    Batch and heads are small, so that code that loops over leading axes in Python finishes in time.
    """
    first = draw.integer(2, 4)
    sizes = draw.sizes(*(axis for axis in primitive_axes(inputs) if axis not in "BH"), B=first, H=5 - first)
    batch, heads = (sizes["B"],), (sizes["B"], sizes["H"])

    def fifty(draw: Draw, _name: str, shape: tuple[int, ...]) -> Tensor:
        return draw.uniform(shape, -50, 50)

    return [
        tensors(draw, "one sequence", inputs, sizes, (), make),
        tensors(draw, "a batch", inputs, sizes, batch, make),
        tensors(draw, "batch and heads", inputs, sizes, heads, make),
        tensors(draw, "float64", inputs, sizes, batch, make, torch.float64),
        tensors(draw, "entries up to 50", inputs, sizes, batch, fifty, comparable=False),
        *length_one(draw, inputs, sizes, make),
    ]


def equal_sizes(draw: Draw, inputs: Axes, *groups: Sequence[str], make: Make = normal_entries) -> list[Case]:
    """Diagnostic cases in which the axes of each group share one size: one without and one with a batch."""
    cases = []
    for group in groups:
        sizes = draw.sizes("B", *primitive_axes(inputs))
        sizes |= dict.fromkeys(group, sizes[group[0]])
        for leading in ((), (sizes["B"],)):
            name = f"{' = '.join(group)}, {len(leading)} leading axes"
            cases.append(tensors(draw, name, inputs, sizes, leading, make, diagnostic=True))
    return cases
