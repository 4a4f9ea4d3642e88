"""How close two tensors must be to count as equal."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Tolerance:
    """Close means `|got - expected| <= absolute + relative * largest |expected|`."""

    relative: float
    absolute: float

    def close(self, got: Tensor, expected: Tensor) -> Tensor:
        """Whether each entry is close, as a bool tensor in the same shape. NaN is close to nothing, an infinity only to
        itself, a complex number to nothing."""
        if got.is_complex():
            return torch.zeros(torch.broadcast_shapes(got.shape, expected.shape), dtype=torch.bool)
        got, expected = got.to(torch.float64), expected.to(torch.float64)
        finite = expected[torch.isfinite(expected)]
        scale = float(finite.abs().max()) if finite.numel() else 0.0
        return ((got - expected).abs() <= self.absolute + self.relative * scale) | (got == expected)

    def all_close(self, got: Tensor, expected: Tensor) -> bool:
        """Whether every entry is close. Where everything expected is finite, two numbers are enough to tell."""
        if got.is_complex():
            return False
        if not got.numel():
            return True
        got, expected = got.to(torch.float64), expected.to(torch.float64)
        scale = float(expected.abs().max())
        if not math.isfinite(scale):
            return bool(self.close(got, expected).all())
        return float((got - expected).abs().max()) <= self.absolute + self.relative * scale  # NaN isn't


FLOAT32 = Tolerance(relative=1e-4, absolute=1e-5)
FLOAT64 = Tolerance(relative=1e-6, absolute=1e-6)
COARSE = Tolerance(relative=0.0, absolute=1e-2)
