"""A stand-in for a trained Transformer, for exercises that decode with one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn


class Translator(nn.Module):
    """`model(src, trg)` gives logits (B, T, V), looked up in a table by all of src and by trg up to each position.

    `data`: table (K, V); training, its first mode; watched, what counts as a change: "mode" (another one afterwards) or
    "gradient" (logits that required gradients). In train mode it looks up other rows, like dropout.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        super().__init__()
        self.table = nn.Parameter(data["table"].clone())
        self.train(bool(data["training"]))
        self._watched = str(data["watched"])
        self._first_mode = self.training
        self._tracked = False

    def forward(self, src: Tensor, trg: Tensor) -> Tensor:
        """As lesson 07's Transformer."""
        logits = self.table[self.rows(src, trg)]
        self._tracked = self._tracked or logits.requires_grad
        return logits

    def rows(self, src: Tensor, trg: Tensor) -> Tensor:
        """Which row of the table each position looks up: (B, T)."""
        source, target = (torch.arange(tokens.shape[1], device=tokens.device) for tokens in (src, trg))
        read = ((src + 1) * (3 * source + 5)).sum(-1, keepdim=True)
        written = ((trg + 1) * (7 * target + 11)).cumsum(-1)
        return (read + written + self.training) % len(self.table)

    def changed(self) -> bool:
        """Whether the watched property has changed."""
        return self._tracked if self._watched == "gradient" else self.training is not self._first_mode
