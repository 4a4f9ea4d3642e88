"""Sizes are distinct, draws are reproducible."""

from __future__ import annotations

import math

import torch

from grader.spec.draw import LARGE_POOL, POOL, Draw


def test_no_size_is_the_square_of_another():
    for pool in (POOL, LARGE_POOL):
        assert len(set(pool)) == len(pool)
        assert not {n for n in pool if math.isqrt(n) ** 2 == n}
    assert not {n * n for n in POOL} & set(LARGE_POOL)


def test_sizes_are_distinct_and_keep_clear_of_fixed_ones():
    for seed in range(50):
        sizes = Draw(str(seed)).sizes("T", "D", "E", B=2)
        assert sizes["B"] == 2
        assert len(set(sizes.values())) == 4


def test_a_seed_decides_everything():
    one, same, other = (Draw(seed) for seed in ("a", b"a", "b"))
    assert one.sizes("T", "D") == same.sizes("T", "D")
    left, right = one.normal((3, 4)), same.normal((3, 4))
    assert torch.equal(left, right)
    other.sizes("T", "D")
    assert not torch.equal(left, other.normal((3, 4)))
    assert left.dtype == torch.float32


def test_the_notebooks_default_dtype_changes_nothing():
    torch.set_default_dtype(torch.float64)
    try:
        draw = Draw("a")
        assert draw.normal((2,)).dtype == torch.float32
        assert draw.uniform((2,)).dtype == torch.float32
    finally:
        torch.set_default_dtype(torch.float32)
