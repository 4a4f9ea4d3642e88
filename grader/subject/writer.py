"""Stand-ins for lesson 11: a language model to write with, and parameters whose gradients are clipped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn


class Writer(nn.Module):
    """`model(tokens)` gives logits (B, T, V), looked up in a table by all tokens up to each position; with a cache,
    `model(tokens, cache)` gives (logits, cache) for tokens that come after those of the cache.

    `data`: table (K, V); training, its first mode; max_length. In train mode it looks up other rows, like dropout. The
    buffer `fed` (calls, 3) says of every call how many tokens it got, how many were in the cache, and whether there
    was one; `recorded` says whether logits required gradients.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        super().__init__()
        self.table = nn.Parameter(data["table"].clone())
        self.max_length = int(data["max_length"])
        self.fed: Tensor
        self.recorded: Tensor
        # Not in its state_dict: loading an earlier state undoes no call.
        self.register_buffer("fed", torch.zeros(0, 3, dtype=torch.long), persistent=False)
        self.register_buffer("recorded", torch.tensor(False), persistent=False)
        self.train(bool(data["training"]))

    def forward(self, tokens: Tensor, cache: Any = None) -> Any:
        """Logits (B, T, V) of ids (B, T), or (logits, cache) if a cache is given; None is no cache, as with lesson 11's
        GPT."""
        if tokens.shape[1] > self.max_length:
            raise ValueError(f"{tokens.shape[1]} tokens, but max_length is {self.max_length}")
        kept = cache if isinstance(cache, dict) else {}
        before = kept.get("tokens", tokens[:, :0])
        text = torch.cat([before, tokens], dim=1)
        call = torch.tensor([[tokens.shape[1], before.shape[1], cache is not None]])
        self.fed = torch.cat([self.fed, call])
        kept["tokens"] = text
        logits = self.table[self.rows(text)[:, before.shape[1] :]]
        self.recorded = self.recorded | logits.requires_grad
        return logits if cache is None else (logits, kept)

    def rows(self, tokens: Tensor) -> Tensor:
        """Which row of the table each position looks up: (B, T)."""
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return (((tokens + 1) * (7 * places + 11)).cumsum(-1) + self.training) % len(self.table)


class Graded(nn.Module):
    """Parameters with gradients. `data`: values, and gradients, of which some may be None. Its buffers are the
    gradients that the parameters have now, by the parameters' names, and the tensors that were their gradients at
    first, "first." before the name: what is changed in place shows in both."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        super().__init__()
        self.of = nn.ParameterList(nn.Parameter(value.clone()) for value in data["values"])
        for parameter, gradient in zip(self.of, data["gradients"], strict=True):
            parameter.grad = None if gradient is None else gradient.clone()
        self._first = {f"first.{name}": p.grad for name, p in self.named_parameters()}

    def named_buffers(self, *_args: Any, **_keywords: Any) -> Iterator[tuple[str, Tensor]]:
        """The gradients, now and at first."""
        now = {name: p.grad for name, p in self.named_parameters()}
        return ((name, gradient) for name, gradient in (now | self._first).items() if gradient is not None)
