"""What dividing by the root of d_k does to softmax (Vaswani et al. 2017, section 3.2.1), at every width."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
import traitlets
from torch import Tensor

from grader.views.base import View, module, pack, style
from grader.views.picture import heatmap, names, sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUERIES_SHOWN = 5


class ScalingExplorer(View):
    """Scores and weights of queries on keys, unscaled and scaled, with a slider for the width d_k.

    query: (N, E); key: (K, E). Width d_k takes the first d_k entries of each vector, so a wider vector is the narrower
    one with entries added. Entropy and slope are means over all queries, of which the first five are drawn.
    The slope of a row of weights w is the sum of w (1 - w), the trace of softmax's Jacobian diag(w) - w wᵀ.

    >>> explorer = ScalingExplorer(torch.ones(2, 4), 9 * torch.eye(4))
    >>> explorer.d_k = 4
    >>> explorer
    Scaling explorer, d_k = 4 of 1 to 4, 2 queries on 4 keys: entropy 1.39 unscaled, 1.39 scaled; slope 0.75 and 0.75.
    """

    _esm = module("scaling_explorer.js")
    _css = style("scaling_explorer.css")

    d_k = traitlets.Int(1).tag(sync=True, echo_update=False)
    widths: traitlets.List[int] = traitlets.List(traitlets.Int()).tag(sync=True)
    shown = traitlets.Int().tag(sync=True)
    # All widths at once, row below row, so that the slider needs no answer from Python.
    layout_of_all = traitlets.Dict().tag(sync=True)
    all_widths = traitlets.Bytes().tag(sync=True)

    def __init__(self, query: Tensor, key: Tensor) -> None:
        _check_shapes(query, key)
        widths = widths_up_to(query.shape[1])
        matrices = _at_all_widths(query.detach(), key.detach(), widths)
        self._measures = matrices["measures"]
        self._weights = {side: matrices[f"{side}_weights"] for side in ("raw", "scaled")}
        self._counts = f"{len(query)} queries on {len(key)} keys"
        layout, buffer = pack(matrices)
        super().__init__(
            widths=widths,
            shown=min(len(query), QUERIES_SHOWN),
            layout_of_all=layout,
            all_widths=buffer,
        )
        self.summary = self._in_words()

    @traitlets.validate("d_k")
    def _known(self, proposal: traitlets.Bunch) -> int:
        if self.widths and proposal["value"] not in self.widths:
            raise traitlets.TraitError(f"d_k: got {proposal['value']}, expected one of {self.widths}")
        return int(proposal["value"])

    @traitlets.observe("d_k")
    def _on_width(self, _change: traitlets.Bunch) -> None:
        self.summary = self._in_words()

    def kept(self) -> dict[str, Any]:
        """The measures in float64, of which the browser has float32, and how many queries and keys they are of."""
        return {"measures": self._measures.tolist(), "counts": self._counts}

    def picture(self) -> Figure:
        """The weights at the smallest, a middle and the largest width, unscaled above and scaled below."""
        chosen = sorted({0, len(self.widths) // 2, len(self.widths) - 1})
        figure = sheet(3.6 * len(chosen), 4.4)
        places = figure.subplots(2, len(chosen), squeeze=False)
        for line, side in zip(places, ("raw", "scaled"), strict=True):
            for axes, at in zip(line, chosen, strict=True):
                weights = self._weights[side][at * self.shown : (at + 1) * self.shown]
                title = f"d_k = {self.widths[at]}, {'not scaled' if side == 'raw' else 'scaled'}"
                heatmap(
                    axes, weights, title, names(self.shown), names(weights.shape[1]), ends=(0, 1), text="{:.2f}".format
                )
        return figure

    def _in_words(self) -> str:
        numbers = self._measures[self.widths.index(self.d_k)].tolist()
        return (
            f"Scaling explorer, d_k = {self.d_k} of {self.widths[0]} to {self.widths[-1]}, {self._counts}: "
            "entropy {:.2f} unscaled, {:.2f} scaled; slope {:.2f} and {:.2f}.".format(*numbers)
        )


def widths_up_to(most: int) -> list[int]:
    """The powers of two up to `most`, a width between each two of them, and `most` itself.

    >>> widths_up_to(20)
    [1, 2, 3, 4, 6, 8, 12, 16, 20]
    """
    powers = [2**exponent for exponent in range(most.bit_length())]
    between = [3 * power // 2 for power in powers if power > 1]
    return sorted({width for width in powers + between if width <= most} | {most})


def _at_all_widths(query: Tensor, key: Tensor, widths: list[int]) -> dict[str, Tensor]:
    """By name, a block of rows for each width: scores and weights of the drawn queries; a row of means over all."""
    blocks: dict[str, list[Tensor]] = {name: [] for name in ("raw", "raw_weights", "scaled", "scaled_weights")}
    measures = []
    for width in widths:
        scores = query[:, :width].double() @ key[:, :width].double().T
        both = {"raw": scores, "scaled": scores / math.sqrt(width)}
        weights = {name: matrix.softmax(dim=-1) for name, matrix in both.items()}
        for name in both:
            blocks[name].append(both[name][:QUERIES_SHOWN])
            blocks[f"{name}_weights"].append(weights[name][:QUERIES_SHOWN])
        entropies = [torch.special.entr(w).sum(-1).mean() for w in weights.values()]
        slopes = [(w * (1 - w)).sum(-1).mean() for w in weights.values()]
        measures.append(torch.stack(entropies + slopes))
    return {name: torch.cat(pieces) for name, pieces in blocks.items()} | {"measures": torch.stack(measures)}


def _check_shapes(query: Tensor, key: Tensor) -> None:
    for name, tensor in (("query", query), ("key", key)):
        if tensor.dim() != 2 or 0 in tensor.shape:
            raise ValueError(f"{name}: got shape {tuple(tensor.shape)}, expected two axes, neither of them empty")
    if query.shape[1] != key.shape[1]:
        raise ValueError(f"key: got {key.shape[1]} columns, expected {query.shape[1]} like query")
