"""The online softmax, block by block (Milakov and Gimelshein 2018, algorithm 3, with the values mixed on the way)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
import traitlets
from torch import Tensor

from grader.sentences import say
from grader.views.base import View, module, pack, style
from grader.views.picture import extent, heatmap, names, sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure


BLOCKS_DRAWN = 4  # in the static picture


class OnlineSoftmax(View):
    """The state carried from block to block while a few queries read the keys: maximum, factor, sum, output so far.
    With rescaling switched off, earlier sums are left as they are when the maximum rises.

    query: (Tq, D); key: (Tk, D); value: (Tk, d_v).

    >>> OnlineSoftmax(torch.ones(1, 1), torch.tensor([[0.0], [1.0], [2.0]]), torch.eye(3), block_size=2)
    Online softmax, 1 query, 3 keys, block 1 of 2 (keys 0 to 1), with rescaling: the output so far is up to 0.67 away \
from the final one.
    """

    _esm = module("online_softmax.js")
    _css = style("online_softmax.css")

    block_size = traitlets.Int().tag(sync=True)
    matrices_layout: traitlets.List[list[str | int]] = traitlets.List().tag(sync=True)
    matrices = traitlets.Bytes().tag(sync=True)  # "scores" (Tq, Tk) and "value"

    def __init__(self, query: Tensor, key: Tensor, value: Tensor, block_size: int = 2) -> None:
        _check_shapes(query, key, value, block_size)
        scores = query.detach() @ key.detach().T / math.sqrt(query.shape[1])
        # As the browser has them, and it computes in float64.
        self._scores, self._value = (tensor.detach().float().double() for tensor in (scores, value))
        layout, buffer = pack({"scores": scores, "value": value})
        super().__init__(block_size=block_size, matrices_layout=layout, matrices=buffer)

    def _output(self, keys: int) -> Tensor:
        """The output (Tq, d_v) after the first `keys` keys."""
        return self._scores[:, :keys].softmax(-1) @ self._value[:keys]

    def picture(self) -> Figure:
        """A picture of the scores, and after each of the first blocks of the maximum, the sum and the output so far."""
        keys = self._scores.shape[1]
        ends = range(self.block_size, keys + self.block_size, self.block_size)[:BLOCKS_DRAWN]
        states = [self._state(end) for end in ends]
        queries, columns = [say("query {query}", query=at) for at in range(len(self._scores))], names(keys)
        width = len(states) * (extent(states[0].shape[1]) + 0.6) + 0.6
        figure = sheet(width, 2 * (extent(len(queries)) + 0.8))
        grid = figure.add_gridspec(2, len(states))
        top = figure.add_subplot(grid[0, :])
        title = say("scores, in blocks of {size}", size=self.block_size)
        heatmap(top, self._scores, title, queries, columns, text="{:.2f}".format)
        for edge in range(self.block_size, keys, self.block_size):
            top.axvline(edge - 0.5, color="white", linewidth=4)
        columns = [say("max"), say("sum"), *(say("out {at}", at=at) for at in range(self._value.shape[1]))]
        for block, state in enumerate(states):
            axes, rows = figure.add_subplot(grid[1, block]), queries if block == 0 else ()
            title = say("after block {block}", block=block + 1)
            heatmap(axes, state, title, rows, columns, text="{:.2f}".format, colours=False)
        return figure

    def _state(self, keys: int) -> Tensor:
        """Maximum, sum and output after the first `keys` keys, side by side: (Tq, 2 + d_v)."""
        seen = self._scores[:, :keys]
        maximum = seen.amax(-1, keepdim=True)
        return torch.cat([maximum, torch.exp(seen - maximum).sum(-1, keepdim=True), self._output(keys)], -1)

    def sentence(self) -> str:
        queries, keys = self._scores.shape
        seen = min(self.block_size, keys)
        error = float((self._output(seen) - self._output(keys)).abs().max())
        now = {
            "queries": say("1 query") if queries == 1 else say("{count} queries", count=queries),
            "keys": keys,
            "step": 1,
            "blocks": math.ceil(keys / self.block_size),
            "seen": say("key {first}", first=0) if seen == 1 else say("keys {first} to {last}", first=0, last=seen - 1),
            "rescaling": say("with rescaling"),
        }
        if error < 5e-4:
            return say(
                "Online softmax, {queries}, {keys} keys, block {step} of {blocks} ({seen}), {rescaling}: the output so "
                "far is the final one.",
                **now,
            )
        return say(
            "Online softmax, {queries}, {keys} keys, block {step} of {blocks} ({seen}), {rescaling}: the output so far "
            "is up to {error} away from the final one.",
            **now,
            error=f"{error:.2f}",
        )


def _check_shapes(query: Tensor, key: Tensor, value: Tensor, block_size: int) -> None:
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if tensor.dim() != 2 or 0 in tensor.shape:
            raise ValueError(f"{name}: got shape {tuple(tensor.shape)}, expected two axes, neither of them empty")
    if key.shape[1] != query.shape[1]:
        raise ValueError(f"key: got width {key.shape[1]}, expected {query.shape[1]}, as in query")
    if len(value) != len(key):
        raise ValueError(f"value: got {len(value)} rows, expected {len(key)}, one for each key")
    if block_size < 1:
        raise ValueError(f"block_size: got {block_size}, expected at least 1")
