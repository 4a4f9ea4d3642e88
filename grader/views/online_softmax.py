"""The online softmax, block by block (Milakov and Gimelshein 2018, algorithm 3, with the values mixed on the way)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
import traitlets
from torch import Tensor

from grader.views.base import KernelView, module, pack, style
from grader.views.picture import extent, heatmap, names, sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure


BLOCKS_DRAWN = 4  # in the static picture


class OnlineSoftmax(KernelView):
    """The state carried from block to block while a few queries read the keys: maximum, factor, sum, output so far.

    query: (Tq, D); key: (Tk, D); value: (Tk, d_v). `step` counts the blocks from 1; with `rescaling` off, earlier sums
    are left as they are when the maximum rises.

    >>> view = OnlineSoftmax(torch.ones(1, 1), torch.tensor([[0.0], [1.0], [2.0]]), torch.eye(3), block_size=2)
    >>> view.step = 2
    >>> view
    Online softmax, 1 query, 3 keys, block 2 of 2 (key 2), with rescaling: the output so far is the final one.
    """

    _esm = module("online_softmax.js")
    _css = style("online_softmax.css")

    step = traitlets.Int(1, min=1).tag(sync=True, echo_update=False)
    rescaling = traitlets.Bool(True).tag(sync=True, echo_update=False)
    block_size = traitlets.Int(min=1).tag(sync=True)
    numbers = traitlets.Bytes().tag(sync=True)
    layout_of_numbers = traitlets.Dict().tag(sync=True)

    def __init__(self, query: Tensor, key: Tensor, value: Tensor, block_size: int = 2) -> None:
        _check_shapes(query, key, value, block_size)
        with torch.no_grad():
            scores = query @ key.T / math.sqrt(query.shape[1])
            final = scores.softmax(-1) @ value
            self._walks = {rescaling: walk(scores, value, block_size, rescaling) for rescaling in (True, False)}
        self._final, self._scores = final, scores.detach()
        self._keys = len(key)
        matrices = {"scores": scores, "final": final}
        for rescaling, states in self._walks.items():
            for step, state in enumerate(states, 1):
                matrices |= {f"{name}{step}{'' if rescaling else ' raw'}": matrix for name, matrix in state.items()}
        layout, buffer = pack(matrices)
        super().__init__(block_size=block_size, layout_of_numbers=layout, numbers=buffer)
        self.summary = self._in_words()

    @property
    def blocks(self) -> int:
        """How many blocks there are."""
        return len(self._walks[True])

    @traitlets.validate("step")
    def _within(self, proposal: traitlets.Bunch) -> int:
        if proposal["value"] > self.blocks:
            raise traitlets.TraitError(f"step: got {proposal['value']}, expected at most {self.blocks}")
        return int(proposal["value"])

    @traitlets.observe("step", "rescaling")
    def _on_change(self, _change: traitlets.Bunch) -> None:
        self.summary = self._in_words()

    def picture(self) -> Figure:
        """The scores, and after each of the first blocks the maximum, the sum and the output so far."""
        walk = self._walks[self.rescaling][:BLOCKS_DRAWN]
        states = [torch.cat([state["maximum"], state["sum"], state["output"]], -1) for state in walk]
        queries, columns = [f"query {at}" for at in range(len(self._scores))], names(self._keys)
        width = len(states) * (extent(states[0].shape[1]) + 0.6) + 0.6
        figure = sheet(width, 2 * (extent(len(queries)) + 0.8))
        grid = figure.add_gridspec(2, len(states))
        top = figure.add_subplot(grid[0, :])
        title = f"scores, in blocks of {self.block_size}"
        heatmap(top, self._scores, title, queries, columns, text="{:.2f}".format)
        for edge in range(self.block_size, self._keys, self.block_size):
            top.axvline(edge - 0.5, color="white", linewidth=4)
        columns = ["max", "sum", *(f"out {at}" for at in range(states[0].shape[1] - 2))]
        for block, state in enumerate(states):
            axes, rows = figure.add_subplot(grid[1, block]), queries if block == 0 else ()
            heatmap(axes, state, f"after block {block + 1}", rows, columns, text="{:.2f}".format, colours=False)
        return figure

    def _in_words(self) -> str:
        output = self._walks[self.rescaling][self.step - 1]["output"]
        error = float((output - self._final).abs().max())
        first = (self.step - 1) * self.block_size
        last = min(first + self.block_size, self._keys) - 1
        keys = f"key {first}" if first == last else f"keys {first} to {last}"
        how = "with rescaling" if self.rescaling else "without rescaling"
        result = "is the final one" if error < 5e-4 else f"is up to {error:.2f} away from the final one"
        queries = f"{len(output)} {'query' if len(output) == 1 else 'queries'}"
        return (
            f"Online softmax, {queries}, {self._keys} keys, block {self.step} of {self.blocks} ({keys}), {how}: "
            f"the output so far {result}."
        )


def walk(scores: Tensor, value: Tensor, block_size: int, rescaling: bool) -> list[dict[str, Tensor]]:
    """The state after each block, as columns with a row for each query. Before the first block the factor is 0."""
    maximum = torch.full_like(scores[:, :1], -math.inf)
    total, mixed = torch.zeros_like(maximum), scores.new_zeros(len(scores), value.shape[1])
    states = []
    for block, values in zip(scores.split(block_size, -1), value.split(block_size), strict=True):
        top = torch.maximum(maximum, block.amax(-1, keepdim=True))
        counts = torch.exp(block - top)
        factor = torch.exp(maximum - top)
        if not rescaling:
            factor = torch.ones_like(factor)
        before = total
        total = total * factor + counts.sum(-1, keepdim=True)
        mixed = mixed * factor + counts @ values
        maximum = top
        state = {"counts": counts, "maximum": maximum, "factor": factor, "before": before, "sum": total}
        states.append(state | {"output": mixed / total})
    return states


def _check_shapes(query: Tensor, key: Tensor, value: Tensor, block_size: int) -> None:
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if tensor.dim() != 2 or 0 in tensor.shape:
            raise ValueError(f"{name}: got shape {tuple(tensor.shape)}, expected two axes, neither of them empty")
    if key.shape[1] != query.shape[1]:
        raise ValueError(f"key: got width {key.shape[1]}, expected {query.shape[1]} like query")
    if len(value) != len(key):
        raise ValueError(f"value: got {len(value)} rows, expected {len(key)}, one for each key")
    if block_size < 1:
        raise ValueError(f"block_size: got {block_size}, expected at least 1")
