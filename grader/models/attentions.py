"""Broken attentions for lesson 10: black boxes whose mistakes a learner finds by calling them.

Each claims to be lesson 04's `causal_multi_head_attention`. The mistake is stored only as the digest that an answer is
compared with, so neither this file nor a box's attributes reveal it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from grader.spec.answers import answer_digest

Pair = tuple[Tensor, Tensor]


def _past(seq_len: int) -> Tensor:
    return torch.tril(torch.ones(seq_len, seq_len)) > 0


def _hidden_first(scores: Tensor, visible: Tensor, axis: int = -1) -> Tensor:
    """Softmax of scores along `axis`, over the entries where `visible` is True; zeros where none is."""
    return scores.masked_fill(~visible, -math.inf).softmax(dim=axis).masked_fill(~visible, 0.0)


def _hidden_late(scores: Tensor, visible: Tensor) -> Tensor:
    return scores.softmax(dim=-1) * visible


def _split(x: Tensor, num_heads: int) -> Tensor:
    return x.unflatten(-1, (num_heads, -1)).transpose(-3, -2)


def _cut(x: Tensor, num_heads: int) -> Tensor:
    return x.reshape(*x.shape[:-2], num_heads, x.shape[-2], -1)


def _merge(x: Tensor) -> Tensor:
    return x.transpose(-3, -2).flatten(-2)


def _join(x: Tensor) -> Tensor:
    return x.reshape(*x.shape[:-3], x.shape[-2], -1)


def _unchanged(key: Tensor) -> Tensor:
    return key


def _pooled(key: Tensor) -> Tensor:
    """The keys (..., H, T, D) summed over the batch, as by a wrong letter in an einsum; without a batch as they are."""
    return key.sum(0, keepdim=True) if key.dim() > 3 else key


@dataclass(frozen=True)
class Variant:
    """Causal multi-head attention (Vaswani et al. 2017, section 3.2.2), with each step replaceable."""

    divisor: Callable[[int, int], float] = lambda _width, head_dim: math.sqrt(head_dim)  # from the widths E and D
    visible: Callable[[int], Tensor] = _past  # from T
    weigh: Callable[[Tensor, Tensor], Tensor] = _hidden_first  # from the scores and the mask
    split: Callable[[Tensor, int], Tensor] = _split
    merge: Callable[[Tensor], Tensor] = _merge
    keys_of: Callable[[Tensor], Tensor] = _unchanged
    sources: tuple[str, str, str] = ("query", "key", "value")  # what queries, keys and values are made of
    projects: bool = True  # whether the output is multiplied by w_o
    in_heads: bool = True  # False: one head

    def __call__(self, x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, num_heads: int) -> Pair:
        """Attend. x is (..., T, E) and each w (E, E), applied as x @ w. Returns (output (..., T, E), weights (..., H,
        T, T))."""
        projected = {"query": x @ w_q, "key": x @ w_k, "value": x @ w_v, "x": x}
        heads = num_heads if self.in_heads else 1
        query, key, value = (self.split(projected[source], heads) for source in self.sources)
        scores = query @ self.keys_of(key).mT / self.divisor(x.shape[-1], query.shape[-1])
        weights = self.weigh(scores, self.visible(x.shape[-2]))
        mixed = self.merge(weights @ value)
        return mixed @ w_o if self.projects else mixed, weights


RIGHT = Variant()
# The mistakes that a broken attention may have, by their ids in the course.
CANDIDATES: dict[str, Variant] = {
    "no-scaling": Variant(divisor=lambda _width, _head_dim: 1.0),
    "scaled-by-d_model": Variant(divisor=lambda width, _head_dim: math.sqrt(width)),
    "softmax-over-queries": Variant(weigh=functools.partial(_hidden_first, axis=-2)),
    "mask-ignored": Variant(visible=lambda seq_len: torch.ones(seq_len, seq_len, dtype=torch.bool)),
    "mask-inverted": Variant(visible=lambda seq_len: ~_past(seq_len)),
    "mask-after-softmax": Variant(weigh=_hidden_late),
    "one-future-token-visible": Variant(visible=lambda seq_len: torch.ones(seq_len, seq_len, dtype=torch.bool).tril(1)),
    "diagonal-hidden": Variant(visible=lambda seq_len: torch.ones(seq_len, seq_len, dtype=torch.bool).tril(-1)),
    "key-used-as-value": Variant(sources=("query", "key", "key")),
    "no-value-projection": Variant(sources=("query", "key", "x")),
    "query-used-as-key": Variant(sources=("query", "query", "value")),
    "view-without-transpose": Variant(split=_cut),
    "merge-without-transpose": Variant(merge=_join),
    "one-head-only": Variant(in_heads=False),
    "no-output-projection": Variant(projects=False),
    "batch-mixed": Variant(keys_of=_pooled),
}
DIGESTS = {
    "alder": "ac41b3f8e928",
    "birch": "d206b16d40f6",
    "cedar": "11bf206dbe2e",
    "elder": "383ab3c4f329",
    "hazel": "3be2e1231a52",
    "larch": "ffba9b175e17",
    "maple": "d011ffd7a0e7",
    "rowan": "b38520c4e15f",
}


class BlackBox:
    """A causal multi-head attention with a mistake: `box(x, w_q, w_k, w_v, w_o, num_heads)`.

    x (..., T, E), each w (E, E), applied as x @ w. Returns (output (..., T, E), weights (..., H, T, T)).
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, num_heads: int) -> Pair:
        """Attend, with the box's mistake; shapes as in the class."""
        return CANDIDATES[mistake_of(self.name)](x, w_q, w_k, w_v, w_o, num_heads)

    def __repr__(self) -> str:
        return f"<black box {self.name!r}>"


@functools.cache
def mistake_of(name: str) -> str:
    """The id of the mistake of the box `name`, found by its digest."""
    return next(mistake for mistake in CANDIDATES if answer_digest(name, mistake) == DIGESTS[name])


def broken_attentions() -> dict[str, BlackBox]:
    """Eight black boxes by name, each with another mistake."""
    return {name: BlackBox(name) for name in DIGESTS}
