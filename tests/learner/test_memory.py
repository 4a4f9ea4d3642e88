"""`peak_bytes` counts what is alive at once, and nothing that was there before."""

from __future__ import annotations

import pytest
import torch

from grader import peak_bytes

SIZE = 1000 * 4


def one_after_the_other(x):
    for _ in range(5):
        x = x.neg()


def all_kept(x):
    kept = [x.neg() for _ in range(5)]
    assert len(kept) == 5


@pytest.mark.parametrize(
    ("function", "peak"),
    [
        (lambda x: None, 0),
        (lambda x: x.view(10, 100).mT, 0),  # views take no memory of their own
        (lambda x: x.neg(), SIZE),
        (lambda x: x.neg().view(10, 100), SIZE),
        (lambda x: x.add_(1), 0),
        (one_after_the_other, 2 * SIZE),  # the next is made before the name lets the last one go
        (all_kept, 5 * SIZE),
        (lambda x: x.neg().split(10), SIZE),
        (lambda x: torch.sort(x), SIZE + 2 * SIZE),  # two tensors from one operation: values and int64 indices
    ],
)
def test_bytes_alive_at_once(function, peak):
    assert peak_bytes(function, torch.zeros(1000)) == peak


def test_nothing_is_counted_after_the_call():
    kept = []
    assert peak_bytes(lambda x: kept.append(x.neg()), torch.zeros(1000)) == SIZE
    assert peak_bytes(lambda x: x.neg(), kept[0]) == SIZE
