"""Draws the arguments of an exercise's cases from a seed. All sizes are distinct, and none is another's square.

With equal sizes, one head or `d_k == sqrt(d_model)`, many mistakes give the right numbers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import torch
from torch import Tensor

# Without 4, 9 and 16: no size is a square.
POOL = (2, 3, 5, 6, 7, 8, 10, 11, 12, 13)
LARGE_POOL = (*POOL, 14, 15, 17, 18, 19, 20)


class Draw:
    """A reproducible source of sizes and tensors. A learner's kernel uses a fixed seed; a judge uses a secret one, and
    `larger` sizes."""

    def __init__(self, seed: str | bytes, larger: bool = False) -> None:
        data = seed.encode() if isinstance(seed, str) else seed
        self.generator = torch.Generator(device="cpu")
        self.generator.manual_seed(int.from_bytes(hashlib.sha256(data).digest()[:8], "big") >> 1)
        self.larger = larger

    def sizes(self, *names: str, **fixed: int) -> dict[str, int]:
        """A size for every name, distinct from each other and from the `fixed` ones."""
        pool = [n for n in (LARGE_POOL if self.larger else POOL) if n not in fixed.values()]
        order = torch.randperm(len(pool), generator=self.generator).tolist()
        return {**fixed, **{name: pool[i] for name, i in zip(names, order, strict=False)}}

    def normal(self, shape: Sequence[int], scale: float = 1.0) -> Tensor:
        """Standard normal entries times `scale`, float32."""
        drawn = torch.randn(tuple(shape), generator=self.generator, dtype=torch.float32, device="cpu")
        return drawn if scale == 1.0 else drawn * scale

    def uniform(self, shape: Sequence[int], low: float = 0.0, high: float = 1.0) -> Tensor:
        """Entries uniform in [low, high), float32."""
        unit = torch.rand(tuple(shape), generator=self.generator, dtype=torch.float32, device="cpu")
        return low + (high - low) * unit

    def integers(self, shape: Sequence[int], low: int, high: int) -> Tensor:
        """Integers in [low, high), int64."""
        return torch.randint(low, high, tuple(shape), generator=self.generator, device="cpu")

    def integer(self, low: int, high: int) -> int:
        """One integer in [low, high)."""
        return int(self.integers((), low, high))
