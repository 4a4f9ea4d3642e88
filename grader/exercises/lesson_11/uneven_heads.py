"""Weights of many heads that look back at some places, or everywhere a little, so that averages alone tell the head."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from grader.spec.draw import Draw

LAYERS, HEADS = 4, 6
RIGHT, BUSY = 1, 2  # layers: that of the right head, and one whose heads all look back a little
Score = Callable[["Places"], Tensor]


class Places:
    """The weights (L, H, T, T) of a text, and where they should lie: `where` (T, T, boolean) for the ids and labels
    (T,). `shares` (L, H, N) is what each head has on the right columns of each of the N rows that count; `counts` and
    `chances` (N,) are how many columns these are, and which part of those read so far."""

    def __init__(self, weights: Tensor, where: Tensor, labels: Tensor) -> None:
        self.rows = where.any(1).nonzero().flatten()
        self.weights, self.where = weights[:, :, self.rows], where[self.rows]
        self.labels, self.counts = labels[self.rows], self.where.sum(1)
        self.chances = self.counts / (self.rows + 1)
        self.shares = self.on(self.weights)

    def on(self, weights: Tensor) -> Tensor:
        """The sums of such weights on the right columns of each row that counts."""
        return (weights * self.where).sum(-1)

    def rare(self) -> Tensor:
        """For each row, 1 by how many rows have its label."""
        return 1 / (self.labels[:, None] == self.labels).sum(1)


def head(table: Tensor) -> tuple[int, int]:
    """The layer and the head with the largest entry of a table (L, H)."""
    layer, number = divmod(int(table.argmax()), table.shape[1])
    return layer, number


def _layer_first(p: Places) -> Tensor:
    """Largest at the best head of the layer with the largest average."""
    table = p.shares.mean(-1)
    return table + 10 * (table.mean(1, keepdim=True) == table.mean(1).max())


def _both_averages(p: Places) -> Tensor:
    """Largest at the layer and the head that are best on average."""
    table = p.shares.mean(-1)
    return table.mean(1, keepdim=True) + table.mean(0)


def _votes(p: Places) -> Tensor:
    """In how many rows a head has more than all others."""
    return (p.shares == p.shares.amax((0, 1))).double().sum(-1)


# What may be taken for the average share, by the head that wins in its place: one that has much in few rows, …
EVEN: dict[str, Score] = {
    "the first row": lambda p: p.shares[..., 0],
    "the last row": lambda p: p.shares[..., -1],
    "the first half": lambda p: p.shares[..., : len(p.rows) // 2].sum(-1),
    "the second half": lambda p: p.shares[..., len(p.rows) // 2 :].sum(-1),
    "rows with one occurrence": lambda p: (p.shares * (p.counts == 1)).sum(-1),
    "rows with several occurrences": lambda p: (p.shares * (p.counts > 1)).sum(-1),
    "the average of an occurrence": lambda p: (p.shares / p.counts).sum(-1),
    "the average of the words' averages": lambda p: (p.shares * p.rare()).sum(-1),
    "by how much it is more than chance": lambda p: (p.shares / p.chances).sum(-1),
    "squares": lambda p: p.shares.square().sum(-1),
    "squares of weights": lambda p: p.on(p.weights.square()).sum(-1),
    "softmax of the weights": lambda p: p.on(p.weights.softmax(-1)).sum(-1),
    "most votes": _votes,
    "the layer first": _layer_first,
    "both averages": _both_averages,
}
# … or one that has a little in every row.
UNEVEN: dict[str, Score] = {
    "median": lambda p: p.shares.median(-1).values,
    "logarithms": lambda p: p.shares.clamp(min=1e-9).log().sum(-1),
    "roots": lambda p: p.shares.sqrt().sum(-1),
    "least": lambda p: p.shares.amin(-1),
    "the first row": EVEN["the first row"],
    "the last row": EVEN["the last row"],
    "the layer first": _layer_first,
    "both averages": _both_averages,
}


def even(draw: Draw, where: Tensor, labels: Tensor) -> Tensor | None:
    """Weights (L, H, T, T) in which the right head looks back in every row alike, and others look back more in some
    rows. `where` (T, T, boolean) has the right columns. None if this text doesn't tell all of `EVEN` apart."""
    p = Places(where.double().expand(LAYERS, HEADS, -1, -1), where, labels)
    number, half = len(p.rows), len(p.rows) // 2
    index = torch.arange(number)
    spikes = index % 2 == draw.integer(0, 2)
    favoured = [
        index == 0,
        index == number - 1,
        index < half,
        index >= half,
        p.counts == 1,
        p.counts > 1,
        p.rare() > p.rare().median(),
        p.chances < p.chances.median(),
        spikes,
        ~spikes,
    ]
    others = []
    for rows in favoured:
        most = 0.46 * number / max(int(rows.sum()), 1)
        others.append(torch.where(rows, min(most, 0.97), 0.01))
    return _told_apart(draw, EVEN, torch.full((number,), 0.5), others, 0.42, where, labels)


def uneven(draw: Draw, where: Tensor, labels: Tensor) -> Tensor | None:
    """Weights as those of `even`, in which the right head looks back in half of the rows only, and others a little in
    every row."""
    number = int(where.any(1).sum())
    rows = torch.randperm(number - 2, generator=draw.generator) < (number - 1) // 2
    right = torch.where(torch.cat([rows.new_zeros(1), rows, rows.new_zeros(1)]), 0.95, 0.02)
    others = [torch.full((number,), float(right.mean()) * share) for share in (0.7, 0.75, 0.8, 0.85, 0.9)]
    return _told_apart(draw, UNEVEN, right, 2 * others, float(right.mean()) * 0.9, where, labels)


def _told_apart(
    draw: Draw,
    scores: dict[str, Score],
    right: Tensor,
    others: list[Tensor],
    busy: float,
    where: Tensor,
    labels: Tensor,
) -> Tensor | None:
    """Weights in which the right head, of the layer `RIGHT`, has the shares `right` (N,) of its rows, the whole layer
    `BUSY` the share `busy` of each, and heads of other layers those of `others`. None unless each of `scores` names
    another head. Layers and heads come in random order."""
    number, length = len(right), len(labels)
    shares = torch.full((LAYERS, HEADS, number), 0.01)
    shares[BUSY] = busy
    shares[RIGHT, BUSY] = right
    free = [(layer, place) for layer in (0, 3) for place in range(HEADS) if place != BUSY]
    for (layer, place), share in zip(free, others, strict=True):
        shares[layer, place] = share
    shares = (shares + draw.uniform(shares.shape, 0, 0.01)).double()
    rows = draw.normal((LAYERS, HEADS, length, length), 0.5).double().softmax(-1)
    at = where.any(1)
    elsewhere = rows.masked_fill(where, 0)
    elsewhere /= elsewhere.sum(-1, keepdim=True)
    within = where / where.sum(1, keepdim=True).clamp(min=1)
    rows[:, :, at] = shares[..., None] * within[at] + (1 - shares[..., None]) * elsewhere[:, :, at]
    p, answer = Places(rows, where, labels), (RIGHT, BUSY)
    if head(p.shares.mean(-1)) != answer or any(head(score(p)) == answer for score in scores.values()):
        return None
    return rows[torch.randperm(LAYERS, generator=draw.generator)][:, torch.randperm(HEADS, generator=draw.generator)]
