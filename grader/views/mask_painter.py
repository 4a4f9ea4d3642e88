"""A mask to paint, with the masked scores and the resulting weights (Vaswani et al. 2017, section 3.2.3)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
import traitlets
from torch import Tensor

from grader.sentences import say, together
from grader.views.base import View, module, pack, style
from grader.views.picture import heatmap, lines_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PRESETS = ("all visible", "causal", "padding", "both")
# What each way of hiding makes of a row that sees nothing.
WAYS = {
    "fill with -inf": "NaN",
    "subtract 1e10": say("uniform"),
    "fill with -1e20": say("uniform"),
    "masked_softmax": say("all zeros"),
}
PADDING = say("pad")


class MaskPainter(View):
    """A mask (True = may attend) painted cell by cell over fixed float32 scores, and the resulting weights.

    scores: (T, T), already scaled; `words` names the tokens: if there are fewer than T, the rest is padding, at the end
    or `in_front`. `preset` is the mask to start with, `way` the way of hiding.

    >>> MaskPainter(torch.zeros(3, 3), ["so", "it"], preset="both", in_front=True)
    Mask painter, 3 tokens, 1 padding token in front, mask "both": 3 of 9 visible. Query 0 sees nothing; \
"fill with -inf" makes the weights NaN.
    """

    _esm = module("mask_painter.js")
    _css = style("mask_painter.css")

    words: traitlets.List[str] = traitlets.List(traitlets.Unicode()).tag(sync=True)
    preset = traitlets.Enum(PRESETS, "causal").tag(sync=True)
    in_front = traitlets.Bool(False).tag(sync=True)
    way = traitlets.Enum(tuple(WAYS), "fill with -inf").tag(sync=True)
    matrices_layout: traitlets.List[list[str | int]] = traitlets.List().tag(sync=True)
    matrices = traitlets.Bytes().tag(sync=True)  # "scores"

    def __init__(self, scores: Tensor, words: Sequence[str], **options: Any) -> None:
        if scores.dim() != 2 or scores.shape[0] != scores.shape[1]:
            raise ValueError(f"scores: got shape {tuple(scores.shape)}, expected (T, T)")
        if not 1 <= len(words) <= len(scores):
            raise ValueError(f"words: got {len(words)}, expected 1 to {len(scores)}, the number of rows of scores")
        self._scores = scores.detach().to("cpu", torch.float32)
        layout, buffer = pack({"scores": self._scores})
        super().__init__(words=[str(word) for word in words], matrices_layout=layout, matrices=buffer, **options)

    def start(self) -> tuple[list[str], Tensor]:
        """The tokens with their padding, and the preset's mask: bool (T, T), True = may attend."""
        size, count = len(self._scores), len(self._scores) - len(self.words)
        padding = [PADDING] * count
        tokens = padding + self.words if self.in_front else self.words + padding
        padded = range(count) if self.in_front else range(size - count, size)
        return tokens, preset_masks(size, padded)[self.preset]

    def picture(self) -> Figure:
        """A picture of the mask, the masked scores and the weights."""
        tokens, visible = self.start()
        masked, weights = attend(self._scores, visible, self.way)
        figure, places = lines_of([self._scores] * 3)
        title = say("mask: {preset}", preset=say(self.preset))
        heatmap(places[0], visible, title, tokens, tokens, text=lambda v: "" if v else say("hidden"))
        ends = (float(self._scores.min()), float(self._scores.max()))
        heatmap(places[1], masked, say("masked scores: {way}", way=say(self.way)), (), tokens, ends=ends)
        heatmap(places[2], weights, say("weights"), (), tokens, ends=(0, 1))
        return figure

    def sentence(self) -> str:
        _, visible = self.start()
        blind, way = (~visible.any(-1)).nonzero().flatten().tolist(), say(self.way)
        nothing = say(WAYS[self.way])
        if not blind:
            last = say('Every query sees something; way of hiding: "{way}".', way=way)
        elif len(blind) == 1:
            last = say(
                'Query {query} sees nothing; "{way}" makes the weights {result}.',
                query=blind[0],
                way=way,
                result=nothing,
            )
        else:
            queries = ", ".join(map(str, blind))
            last = say(
                'Queries {queries} see nothing; "{way}" makes the weights {result}.',
                queries=queries,
                way=way,
                result=nothing,
            )
        first = say(
            'Mask painter, {tokens} tokens, {padding}, mask "{preset}": {seen} of {total} visible.',
            tokens=len(visible),
            padding=_padding(len(visible) - len(self.words), self.in_front),
            preset=say(self.preset),
            seen=int(visible.sum()),
            total=visible.numel(),
        )
        return together(first, last)


def _padding(count: int, in_front: bool) -> str:
    if count == 0:
        return say("no padding")
    if count == 1:
        return say("1 padding token in front") if in_front else say("1 padding token at the end")
    if in_front:
        return say("{count} padding tokens in front", count=count)
    return say("{count} padding tokens at the end", count=count)


def preset_masks(size: int, padded: Sequence[int]) -> dict[str, Tensor]:
    """The preset masks, bool (size, size), True = may attend; `padded` are the positions of padding."""
    everything = torch.ones(size, size, dtype=torch.bool)
    real = everything.clone()
    real[:, padded] = False
    causal = everything.tril()
    return dict(zip(PRESETS, (everything, causal, real, causal & real), strict=True))


def attend(scores: Tensor, visible: Tensor, way: str) -> tuple[Tensor, Tensor]:
    """Masked scores and weights, both (T, T), in one of the WAYS of hiding. With "masked_softmax" PyTorch's own
    attention computes the weights: zeros in a row that sees nothing."""
    if way == "subtract 1e10":
        masked = scores - (~visible).to(scores.dtype) * 1e10
    else:
        masked = scores.masked_fill(~visible, -1e20 if way == "fill with -1e20" else -math.inf)
    if way == "masked_softmax":
        identity = torch.eye(len(scores), dtype=scores.dtype)
        return masked, F.scaled_dot_product_attention(scores, identity, identity, attn_mask=visible, scale=1.0)
    return masked, masked.softmax(dim=-1)
