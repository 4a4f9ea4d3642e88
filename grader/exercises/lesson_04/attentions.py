"""The attentions that a leak detector is tried on: maps from (T, E) to (T, E), sound ones and broken ones.

Their outputs are bounded sums over the tokens they see, so that a change in a token they see shows, and a sound one's
earlier outputs stay the same to the bit, whatever is done to a later token (even NaN).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

Attention = Callable[[Tensor, "Weights"], Tensor]
Visible = Callable[[int], Tensor]


@dataclass(frozen=True)
class Weights:
    """Projections for one width, with biases, so that tokens of zeros work too."""

    query: Tensor
    key: Tensor
    value: Tensor
    other: Tensor
    bias: Tensor

    @classmethod
    @functools.lru_cache(maxsize=16)
    def draw(cls, seed: int, width: int) -> Weights:
        generator = torch.Generator().manual_seed(seed + width)

        def matrix() -> Tensor:
            return torch.randn(width, width, generator=generator, dtype=torch.float64) / math.sqrt(width)

        identity = torch.eye(width, dtype=torch.float64)
        bias = torch.rand(width, generator=generator, dtype=torch.float64) + 0.5
        return cls(matrix(), matrix(), identity + 0.2 * matrix(), 2 * identity + 0.2 * matrix(), bias)

    def values(self, x: Tensor) -> Tensor:
        return x @ self.value + self.bias

    def likeness(self, x: Tensor) -> Tensor:
        """How much each key counts for each query, from 1 / e to e: no token that is seen may vanish."""
        scores = (x @ self.query + self.bias) @ (x @ self.key + self.bias).mT / math.sqrt(x.shape[-1])
        return torch.exp(torch.tanh(scores))


def mix(counts: Tensor, values: Tensor, visible: Tensor, total: Tensor | None = None) -> Tensor:
    """The weighted mean of the visible values; `total` is what the weights are divided by, if not their own sum."""
    counted = torch.where(visible, counts, 0.0)
    total = counted.sum(-1, keepdim=True).clamp(min=1e-9) if total is None else total
    weighted = (counted / total).unsqueeze(-1) * values
    return torch.where(visible.unsqueeze(-1), weighted, 0.0).sum(-2)


def seeing(visible: Visible) -> Attention:
    """Attention in which output t sees the tokens of row t."""
    return lambda x, w: mix(w.likeness(x), w.values(x), visible(len(x)))


def offsets(length: int) -> Tensor:
    """Key minus query."""
    positions = torch.arange(length)
    return positions - positions.unsqueeze(-1)


def past(length: int) -> Tensor:
    """The tokens so far, the present one included."""
    return offsets(length) <= 0


def pair(query: Callable[[int], int], key: Callable[[int], int]) -> Attention:
    """Every token by itself, but one output sees one more token; their positions follow from the length."""

    def attend(x: Tensor, w: Weights) -> Tensor:
        i, j = query(len(x)), key(len(x))
        alone = w.values(x)
        if not (0 <= i < len(x) and 0 <= j < len(x)):
            return alone
        more = torch.zeros(len(x), 1, dtype=torch.float64)
        more[i] = 1.0
        return torch.where(more > 0, alone + x[j] @ w.other, alone)

    return attend


def _hidden_too_late(x: Tensor, w: Weights) -> Tensor:
    """Softmax over all keys, then the mask: later tokens take their share."""
    counts = w.likeness(x)
    return mix(counts, w.values(x), past(len(x)), total=counts.sum(-1, keepdim=True))


def _soft(x: Tensor, w: Weights) -> Tensor:
    """Future scores lowered by 2 only."""
    everything = torch.ones(len(x), len(x), dtype=torch.bool)
    return mix(torch.where(past(len(x)), 1.0, math.exp(-2)) * w.likeness(x), w.values(x), everything)


def _centred(x: Tensor, w: Weights) -> Tensor:
    return seeing(past)(x - x.mean(0), w)


PLAIN, UNMASKED = "causal attention", "attention without a mask"
ALONE, LATER_ONLY = "a layer in which every token sees only itself", "attention that sees nothing but later tokens"
BACKWARDS = "attention with the mask the wrong way round"

# Few: a detector makes all its calls on each of these, and every call is answered from outside its process.
SOUND: dict[str, Attention] = {
    PLAIN: seeing(past),
    ALONE: lambda x, w: w.values(x),
    "attention that sees only what came before a token": seeing(lambda n: offsets(n) < 0),
    "attention in which output 2 alone looks back, at token 0": pair(lambda n: 2, lambda n: 0),
}
PLACES: dict[str, Attention] = {
    "attention in which output 0 sees token 1, and no other output leaks": pair(lambda n: 0, lambda n: 1),
    "attention in which output 1 sees token 2, and no other output leaks": pair(lambda n: 1, lambda n: 2),
    "attention in which the first output sees the last token, and no other leaks": pair(lambda n: 0, lambda n: n - 1),
    "attention in which the last output but one sees the last token": pair(lambda n: n - 2, lambda n: n - 1),
    "attention that leaks in the middle only": pair(lambda n: (n - 1) // 2, lambda n: (n - 1) // 2 + 1),
}
KINDS: dict[str, Attention] = {
    BACKWARDS: seeing(lambda n: offsets(n) >= 0),
    LATER_ONLY: seeing(lambda n: offsets(n) > 0),
    "attention that sees one token too far": seeing(lambda n: offsets(n) <= 1),
    "attention that sees the second token ahead, but not the next": seeing(lambda n: past(n) | (offsets(n) == 2)),
    "attention that is masked after the softmax": _hidden_too_late,
    "attention whose hidden scores are only a little lower": _soft,
    "attention whose input loses its mean over all tokens first": _centred,
}
BROKEN: dict[str, Attention] = {UNMASKED: seeing(lambda n: torch.ones(n, n, dtype=torch.bool)), **PLACES, **KINDS}


# For diagnosis only: what a detector says of these tells what it looks at.
CONSTANT = "a layer whose output is always the same"
LONGER, LONGER_LATER = "outputs longer than the input", "outputs longer from the second call on"


def one_row_more(x: Tensor, w: Weights) -> Tensor:
    """A row too many."""
    return torch.cat([w.values(x), x[:1]])


PROBES: dict[str, Attention] = {
    CONSTANT: lambda x, w: torch.ones_like(x) * w.bias,
    LONGER: one_row_more,
    LONGER_LATER: one_row_more,
}
ATTENTIONS = {**SOUND, **BROKEN, **PROBES}
