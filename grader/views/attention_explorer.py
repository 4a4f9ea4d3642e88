"""Self-attention step by step (Vaswani et al. 2017, section 3.2.1, equation 1), every number with its arithmetic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import traitlets
from torch import Tensor

from grader.sentences import Several, say
from grader.views.base import View, module, pack, style
from grader.views.picture import heatmap, lines_of, names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEPS = 7
MOST_IN_WORDS = 4


class AttentionExplorer(View):
    """Walks through Q, K, V, scores, scaling, softmax and weighted sum of one sequence.

    x: (T, E); w_query and w_key: (E, d_k); w_value: (E, d_v); `tokens` names the rows of x. The scores are divided by
    the square root of d_k unless the slider changes it.

    >>> import torch
    >>> AttentionExplorer(torch.eye(2), torch.eye(2), 9 * torch.eye(2), torch.eye(2), ["a", "b"])
    Attention explorer, 2 tokens, step 1 of 7; scores divided by 1.41: a takes most from a (1.00), b from b (1.00).
    """

    _esm = module("attention_explorer.js")
    _css = style("attention_explorer.css")

    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    matrices_layout: traitlets.List[list[str | int]] = traitlets.List().tag(sync=True)
    matrices = traitlets.Bytes().tag(sync=True)  # "x" and its weights

    def __init__(
        self, x: Tensor, w_query: Tensor, w_key: Tensor, w_value: Tensor, tokens: Sequence[str] | None = None
    ) -> None:
        _check_shapes(x, w_query, w_key, w_value)
        names = [say("token {i}", i=i) for i in range(len(x))] if tokens is None else [str(token) for token in tokens]
        if len(names) != len(x):
            raise ValueError(f"tokens: got {len(names)} names, expected {len(x)}, one for each row of x")
        layout, buffer = pack({"x": x, "w_query": w_query, "w_key": w_key, "w_value": w_value})
        # As the browser has them, and it computes in float64.
        x, *weights = (tensor.detach().float().double() for tensor in (x, w_query, w_key, w_value))
        self._query, self._key, self._value = (x @ weight for weight in weights)
        self._divisor = math.sqrt(w_key.shape[1])
        self._scores = self._query @ self._key.T
        self._weights = (self._scores / self._divisor).softmax(dim=-1)
        super().__init__(tokens=names, matrices_layout=layout, matrices=buffer)

    def picture(self) -> Figure:
        """A picture of all steps at once: from queries, keys and values to weights and output."""
        parts = {
            "query": (say("query"), self._query),
            "key": (say("key"), self._key),
            "value": (say("value"), self._value),
            "scores": (say("scores"), self._scores),
            "weights": (say("weights (scores / {divisor})", divisor=f"{self._divisor:.3g}"), self._weights),
            "output": (say("output"), self._weights @ self._value),
        }
        figure, places = lines_of([matrix for _, matrix in parts.values()])
        for at, (axes, (name, (title, matrix))) in enumerate(zip(places, parts.items(), strict=True)):
            columns = self.tokens if name in ("scores", "weights") else names(matrix.shape[1])
            short = [token if len(token) < 6 else str(i) for i, token in enumerate(columns)]
            heatmap(axes, matrix, title, self.tokens if at % 3 == 0 else (), short)
        return figure

    def sentence(self) -> str:
        shown = min(len(self._weights), MOST_IN_WORDS)
        rows = [self._row_in_words(row) for row in range(shown)]
        rest = [say("and {count} more", count=len(self._weights) - shown)] if shown < len(self._weights) else []
        return say(
            "Attention explorer, {tokens} tokens, step {step} of {steps}; scores divided by {divisor}: {rows}.",
            tokens=len(self._weights),
            step=1,
            steps=STEPS,
            divisor=f"{self._divisor:.2f}",
            rows=Several([*rows, *rest], ", "),
        )

    def _row_in_words(self, row: int) -> str:
        weights = self._weights[row]
        largest = float(weights.max())
        ties = (weights >= largest - 1e-4).nonzero().flatten().tolist()
        names = Several(self.tokens[i] for i in ties)
        others = names if len(ties) <= 2 else say("{count} tokens equally", count=len(ties))
        template = "{token} from {others} ({weight})" if row else "{token} takes most from {others} ({weight})"
        return say(template, token=self.tokens[row], others=others, weight=f"{largest:.2f}")


def _check_shapes(x: Tensor, w_query: Tensor, w_key: Tensor, w_value: Tensor) -> None:
    for name, tensor in (("x", x), ("w_query", w_query), ("w_key", w_key), ("w_value", w_value)):
        if tensor.dim() != 2 or 0 in tensor.shape:
            raise ValueError(f"{name}: got shape {tuple(tensor.shape)}, expected two axes, neither of them empty")
        if tensor is not x and tensor.shape[0] != x.shape[1]:
            raise ValueError(f"{name}: got {tensor.shape[0]} rows, expected {x.shape[1]}, the width of x")
    if w_query.shape[1] != w_key.shape[1]:
        raise ValueError(f"w_key: got {w_key.shape[1]} columns, expected {w_query.shape[1]}, as in w_query")
