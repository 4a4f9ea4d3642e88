"""Splitting into heads and merging again, with the memory behind it (Vaswani et al. 2017, section 3.2.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import traitlets
from torch import Tensor

from grader.sentences import say
from grader.views.base import View, module, style
from grader.views.picture import extent, heatmap, names, sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEPS = 7
MOST = {"seq_len": 6, "num_heads": 5, "head_dim": 5}
MOST_COLUMNS = 10  # a number's last digit is its column


class HeadSplitter(View):
    """Splits a numbered tensor into heads and merges it again, in seven steps, and shows two wrong short cuts.

    x (T, E) with T = seq_len and E = num_heads * head_dim holds 10 * token + column. At each step: the tensor, its
    shape and strides, what its memory holds and in which order the tensor reads it.

    >>> HeadSplitter(seq_len=3, num_heads=2, head_dim=2)
    Head splitter, 3 tokens, 2 heads of 2 columns, step 1 of 7, x: shape (3, 4), strides (4, 1), contiguous.
    """

    _esm = module("head_splitter.js")
    _css = style("head_splitter.css")

    sizes: traitlets.List[int] = traitlets.List(traitlets.Int()).tag(sync=True)
    most: traitlets.List[int] = traitlets.List([*MOST.values(), MOST_COLUMNS]).tag(sync=True)

    def __init__(self, seq_len: int = 3, num_heads: int = 2, head_dim: int = 2) -> None:
        sizes = [seq_len, num_heads, head_dim]
        _check_sizes(sizes)
        super().__init__(sizes=sizes)

    def picture(self) -> Figure:
        """A picture of x, its heads, and below them what the short cut without the transpose makes of it."""
        seq_len, num_heads, head_dim = self.sizes
        x = numbered(seq_len, num_heads * head_dim)
        rows, columns = [say("token {at}", at=token) for token in range(seq_len)], names(num_heads * head_dim)
        right, wrong = x.view(seq_len, num_heads, head_dim).transpose(0, 1), x.view(num_heads, seq_len, head_dim)
        ends, code = (0.0, float(x.max())), f"x.view({num_heads}, {seq_len}, {head_dim})"
        widths = [num_heads * head_dim + 1, *[head_dim + 1] * num_heads]
        figure = sheet(extent(sum(widths)) + 1, 2 * (extent(seq_len) + 0.6))
        places = figure.subplots(2, 1 + num_heads, width_ratios=widths, squeeze=False)
        titles = say("x, cut, then swapped"), say("x, wrong: {code}", code=code)
        for line, heads, title in zip(places, (right, wrong), titles, strict=True):
            heatmap(line[0], x, title, rows, columns, ends=ends)
            for head, (axes, matrix) in enumerate(zip(line[1:], heads, strict=True)):
                heatmap(axes, matrix, say("head {head}", head=head), ends=ends)
        return figure

    def sentence(self) -> str:
        seq_len, num_heads, head_dim = self.sizes
        columns = num_heads * head_dim
        return say(
            "Head splitter, {tokens}, {heads} of {columns}, step {step} of {steps}, {name}: shape {shape}, strides "
            "{strides}, contiguous.",
            tokens=say("1 token") if seq_len == 1 else say("{count} tokens", count=seq_len),
            heads=say("1 head") if num_heads == 1 else say("{count} heads", count=num_heads),
            columns=say("1 column") if head_dim == 1 else say("{count} columns", count=head_dim),
            step=1,
            steps=STEPS,
            name="x",
            shape=(seq_len, columns),
            strides=(columns, 1),
        )


def numbered(seq_len: int, columns: int) -> Tensor:
    """A tensor (seq_len, columns) of 10 * token + column.

    >>> numbered(2, 3).tolist()
    [[0, 1, 2], [10, 11, 12]]
    """
    return 10 * torch.arange(seq_len).unsqueeze(1) + torch.arange(columns)


def _check_sizes(sizes: list[int]) -> None:
    for (name, most), size in zip(MOST.items(), sizes, strict=True):
        if not 1 <= size <= most:
            raise ValueError(f"{name}: got {size}, expected 1 to {most}")
    if sizes[1] * sizes[2] > MOST_COLUMNS:
        raise ValueError(f"num_heads * head_dim: got {sizes[1]} * {sizes[2]}, expected at most {MOST_COLUMNS} columns")
