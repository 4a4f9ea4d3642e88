"""Positional encodings and their dot products (Vaswani et al. 2017, 3.5; Su et al. 2021, 3.2)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
import traitlets
from torch import Tensor

from grader.sentences import Several, say
from grader.views.base import View, module, pack, style
from grader.views.picture import heatmap, sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = ("sinusoidal", "rotary", "random table")
POSITIONS = 32
WIDTHS = (8, 16, 24)
BASES = (10, 100, 1000, 10000, 100000)
FURTHER = (1, 10)  # the offsets in the summary


class PositionExplorer(View):
    """A row for each of 32 positions, and its dot products with all others by offset.

    `kind` is "sinusoidal", "rotary" (one random query and key, turned to every position) or "random table" (learnt
    positions before training); `d_model` is 8, 16 or 24, `base` a power of ten from 10 to 100000.

    >>> PositionExplorer(d_model=8)
    Position explorer, sinusoidal, 32 positions, width 8, base 10000: from position 0 the products are 4.00 at \
offset 0, 3.54 at offset 1 and 1.70 at offset 10; at equal offsets, products differ by at most 0.00.
    """

    _esm = module("position_explorer.js")
    _css = style("position_explorer.css")

    kinds = traitlets.List(traitlets.Unicode(), list(KINDS)).tag(sync=True)
    widths = traitlets.List(traitlets.Int(), list(WIDTHS)).tag(sync=True)
    bases = traitlets.List(traitlets.Int(), list(BASES)).tag(sync=True)
    kind = traitlets.Enum(KINDS, KINDS[0]).tag(sync=True)
    d_model = traitlets.Enum(WIDTHS, WIDTHS[-1]).tag(sync=True)
    base = traitlets.Enum(BASES, 10000).tag(sync=True)
    matrices_layout: traitlets.List[list[str | int]] = traitlets.List().tag(sync=True)
    matrices = traitlets.Bytes().tag(sync=True)  # "random": what kinds that are drawn at random are made of

    def __init__(self, **chosen: Any) -> None:
        layout, buffer = pack({"random": _random(WIDTHS[-1])})
        super().__init__(matrices_layout=layout, matrices=buffer, **chosen)

    def picture(self) -> Figure:
        """A picture of the rows of all positions, and of their products with each other."""
        rows, products = encoded(self.kind, self.d_model, self.base)
        figure = sheet(8.4, 4.6)
        left, right = figure.subplots(1, 2, width_ratios=[self.d_model, POSITIONS])
        every = [str(at) if at % 4 == 0 else "" for at in range(POSITIONS)]
        heatmap(left, rows, say("{kind}: a row for each position", kind=say(self.kind)), every, every[: self.d_model])
        heatmap(right, products, say("products of position with position"), every, every)
        return figure

    def sentence(self) -> str:
        _, products = encoded(self.kind, self.d_model, self.base)
        further = (
            say("{product} at offset {offset}", product=f"{float(products[0, at]):.2f}", offset=at) for at in FURTHER
        )
        shown = {
            "kind": say(self.kind),
            "positions": POSITIONS,
            "width": self.d_model,
            "first": f"{float(products[0, 0]):.2f}",
            "further": Several(further),
            "spread": f"{spread(products):.2f}",
        }
        if self.kind == "random table":
            return say(
                "Position explorer, {kind}, {positions} positions, width {width}: from position 0 the products are "
                "{first} at offset 0, {further}; at equal offsets, products differ by at most {spread}.",
                **shown,
            )
        return say(
            "Position explorer, {kind}, {positions} positions, width {width}, base {base}: from position 0 the "
            "products are {first} at offset 0, {further}; at equal offsets, products differ by at most {spread}.",
            **shown,
            base=self.base,
        )


def encoded(kind: str, d_model: int, base: float) -> tuple[Tensor, Tensor]:
    """The rows (32, d_model) of a kind of positions, and the products (32, 32) of position i with position j."""
    positions = torch.arange(POSITIONS, dtype=torch.float64)
    angles = torch.outer(positions, base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model))
    if kind == "sinusoidal":
        rows = torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)
        return rows, rows @ rows.T
    numbers = _random(d_model)
    if kind == "random table":
        rows = numbers * math.sqrt(0.5)  # about as long as sinusoidal rows
        return rows, rows @ rows.T
    query, key = (_turned(number, angles) for number in numbers[:2])
    return key, query @ key.T


def _random(d_model: int) -> Tensor:
    """The first columns of a table of random numbers, the same for every width: float64 (32, d_model)."""
    return torch.randn(POSITIONS, WIDTHS[-1], generator=torch.Generator().manual_seed(0))[:, :d_model].double()


def _turned(x: Tensor, angles: Tensor) -> Tensor:
    """The vector x (E,) turned to every position: (T, E). `angles` is (T, E / 2), in radians."""
    a, b = x[0::2], x[1::2]
    cos, sin = angles.cos(), angles.sin()
    return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)


def spread(products: Tensor) -> float:
    """The largest difference between two of the `products` (T, T) at the same offset."""
    diagonals = [products.diagonal(offset) for offset in range(1 - len(products), len(products))]
    return max(float(diagonal.max() - diagonal.min()) for diagonal in diagonals)
