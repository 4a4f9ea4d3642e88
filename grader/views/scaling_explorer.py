"""What dividing by the root of d_k does to softmax (Vaswani et al. 2017, section 3.2.1), at every width."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
import traitlets
from torch import Tensor

from grader.sentences import say
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

    >>> ScalingExplorer(torch.ones(2, 4), 3 * torch.eye(4))
    Scaling explorer, d_k = 1 (range 1 to 4), 2 queries and 4 keys: entropy 0.53 unscaled, 0.53 scaled; \
slope 0.24 and 0.24.
    """

    _esm = module("scaling_explorer.js")
    _css = style("scaling_explorer.css")

    widths: traitlets.List[int] = traitlets.List(traitlets.Int()).tag(sync=True)
    queries = traitlets.Int().tag(sync=True)
    # "scores" of the drawn queries at all widths, block below block, and a row of "measures" for each width.
    matrices_layout: traitlets.List[list[str | int]] = traitlets.List().tag(sync=True)
    matrices = traitlets.Bytes().tag(sync=True)

    def __init__(self, query: Tensor, key: Tensor) -> None:
        _check_shapes(query, key)
        widths = widths_up_to(query.shape[1])
        query, key = query.detach().double(), key.detach().double()
        scores = [query[:, :width] @ key[:, :width].T for width in widths]
        self._drawn = [matrix[:QUERIES_SHOWN] for matrix in scores]
        self._measures = torch.stack([_measures(*pair) for pair in zip(scores, widths, strict=True)]).float()
        layout, buffer = pack({"scores": torch.cat(self._drawn), "measures": self._measures})
        super().__init__(widths=widths, queries=len(query), matrices_layout=layout, matrices=buffer)

    def picture(self) -> Figure:
        """A picture of the weights at the smallest, a middle and the largest width, unscaled above and scaled below."""
        chosen = sorted({0, len(self.widths) // 2, len(self.widths) - 1})
        figure = sheet(3.6 * len(chosen), 4.4)
        places = figure.subplots(2, len(chosen), squeeze=False)
        for axes, at in zip(places.T, chosen, strict=True):
            width = self.widths[at]
            titles = say("d_k = {width}, not scaled", width=width), say("d_k = {width}, scaled", width=width)
            for place, weights, title in zip(axes, both_weights(self._drawn[at], width), titles, strict=True):
                rows, columns = map(names, weights.shape)
                heatmap(place, weights, title, rows, columns, ends=(0, 1), text="{:.2f}".format)
        return figure

    def sentence(self) -> str:
        entropy, scaled_entropy, slope, scaled_slope = (f"{number:.2f}" for number in self._measures[0].tolist())
        return say(
            "Scaling explorer, d_k = {width} (range {least} to {most}), {queries} queries and {keys} keys: entropy "
            "{entropy} unscaled, {scaled_entropy} scaled; slope {slope} and {scaled_slope}.",
            width=1,
            least=1,
            most=self.widths[-1],
            queries=self.queries,
            keys=self._drawn[0].shape[1],
            entropy=entropy,
            scaled_entropy=scaled_entropy,
            slope=slope,
            scaled_slope=scaled_slope,
        )


def widths_up_to(most: int) -> list[int]:
    """The powers of two up to `most`, a width between each two of them, and `most` itself.

    >>> widths_up_to(20)
    [1, 2, 3, 4, 6, 8, 12, 16, 20]
    """
    powers = [2**exponent for exponent in range(most.bit_length())]
    between = [3 * power // 2 for power in powers if power > 1]
    return sorted({width for width in powers + between if width <= most} | {most})


def both_weights(scores: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """Weights (N, K) of scores (N, K), unscaled and divided by the square root of `width`."""
    return scores.softmax(-1), (scores / math.sqrt(width)).softmax(-1)


def _measures(scores: Tensor, width: int) -> Tensor:
    """Means over the queries of scores (N, K): entropy, unscaled and scaled, then slope: (4,)."""
    both = both_weights(scores, width)
    entropies = [torch.special.entr(w).sum(-1).mean() for w in both]
    return torch.stack([*entropies, *((w * (1 - w)).sum(-1).mean() for w in both)])


def _check_shapes(query: Tensor, key: Tensor) -> None:
    for name, tensor in (("query", query), ("key", key)):
        if tensor.dim() != 2 or 0 in tensor.shape:
            raise ValueError(f"{name}: got shape {tuple(tensor.shape)}, expected two axes, neither of them empty")
    if query.shape[1] != key.shape[1]:
        raise ValueError(f"key: got {key.shape[1]} columns, expected {query.shape[1]}, as in query")
