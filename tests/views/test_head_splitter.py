"""The head splitter: every step in the browser against torch, what it says, which sizes it takes."""

from __future__ import annotations

import itertools
from itertools import pairwise
from typing import Any

import pytest
import torch

from grader.views import HeadSplitter
from grader.views.head_splitter import numbered
from tests.views.browser import Told, in_browser

FILE = "head_steps.js"
SIZES = [list(sizes) for sizes in itertools.product(range(1, 7), range(1, 6), range(1, 6)) if sizes[1] * sizes[2] <= 10]
NAMES = [("x", "TE"), ("cut", "THD"), ("swapped", "HTD"), ("worked", "HTD"), ("back", "THD")]
NAMES += [("copied", "THD"), ("joined", "TE")]
Stage = dict[str, Any]


@pytest.fixture(scope="module")
def told() -> list[Told]:
    """What the browser has and says at the first step, for all sizes."""
    return in_browser(FILE, *((HeadSplitter(*sizes), {"step": 1}) for sizes in SIZES))


def stages(seq_len: int, num_heads: int, head_dim: int) -> list[Stage]:
    """The tensor of every step, from x to x again, as torch makes it."""
    columns = num_heads * head_dim
    x = numbered(seq_len, columns)
    cut = x.view(seq_len, num_heads, head_dim)
    swapped = cut.transpose(0, 1)
    worked = swapped.contiguous()
    back = worked.transpose(0, 1)
    copied = back.contiguous()
    tensors = (x, cut, swapped, worked, back, copied, copied.view(seq_len, columns))
    in_heads, joined = f"view({num_heads}, {seq_len}, {head_dim})", f"view({seq_len}, {columns})"
    codes = ["", f"x.view({seq_len}, {num_heads}, {head_dim})", "cut.transpose(0, 1)", "swapped.contiguous()"]
    codes += ["worked.transpose(0, 1)", "back.contiguous()", f"copied.{joined}"]
    # The short cuts leave out the transpose: the right shape, the wrong order.
    wrong = {
        "swapped": _described(x.view(num_heads, seq_len, head_dim)) | {"code": f"x.{in_heads}"},
        "joined": _described(worked.view(seq_len, columns)) | {"code": f"worked.{joined}"},
    }
    refused = {"back": {"code": f"back.{joined}", "error": _refusal(back, seq_len, columns)}}
    copies = [False, *(new.data_ptr() != old.data_ptr() for old, new in pairwise(tensors))]
    return [
        _described(tensor)
        | {"name": name, "code": code, "axes": axes, "copied": copy}
        | {"wrong": wrong.get(name), "refused": refused.get(name)}
        for tensor, code, copy, (name, axes) in zip(tensors, codes, copies, NAMES, strict=True)
    ]


def _described(tensor: torch.Tensor) -> Stage:
    memory = tensor.as_strided((tensor.numel(),), (1,), 0)
    return {
        "shape": list(tensor.shape),
        "strides": list(tensor.stride()),
        "contiguous": tensor.is_contiguous(),
        "reads": tensor.flatten().tolist(),
        "memory": memory.tolist(),
    }


def _refusal(tensor: torch.Tensor, *shape: int) -> str:
    """torch's error for this view; empty if it works."""
    try:
        tensor.view(*shape)
    except RuntimeError as error:
        return f"RuntimeError: {str(error).split(' (')[0]}"
    return ""


def test_a_number_tells_its_token_and_its_column():
    assert numbered(3, 4)[1].tolist() == [10, 11, 12, 13]


def test_every_step_is_what_torch_makes_for_all_sizes(told):
    for sizes, (numbers, _) in zip(SIZES, told, strict=True):
        assert numbers["stages"] == stages(*sizes), sizes


def test_the_sentence_is_the_same_here_and_in_the_browser(told):
    assert [sentence for _, sentence in told] == [repr(HeadSplitter(*sizes)) for sizes in SIZES]


def test_its_sentence_follows_step_and_sizes():
    splitter = HeadSplitter(seq_len=3, num_heads=2, head_dim=2)
    assert repr(splitter) == (
        "Head splitter, 3 tokens, 2 heads of 2 columns, step 1 of 7, x: shape (3, 4), strides (4, 1), contiguous."
    )
    chosen = [{"step": 3}, {"step": 3, "sizes": [5, 1, 3]}]
    (_, third), (_, one_head) = in_browser(FILE, *((splitter, choices) for choices in chosen))
    assert third.endswith(
        "swapped: shape (2, 3, 2), strides (2, 4, 1), not contiguous. "
        "x.view(2, 3, 2) has 8 of 12 numbers in the wrong place."
    )
    assert one_head.startswith("Head splitter, 5 tokens, 1 head of 3 columns, step 3 of 7, swapped: ")
    assert one_head.endswith("x.view(1, 5, 3) has 0 of 15 numbers in the wrong place.")


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ([0, 2, 2], "seq_len: got 0, expected 1 to 6"),
        ([3, 6, 1], "num_heads: got 6, expected 1 to 5"),
        ([3, 4, 3], r"num_heads \* head_dim: got 4 \* 3, expected at most 10 columns"),
    ],
)
def test_sizes_that_it_cannot_number_are_told(sizes, message):
    with pytest.raises(ValueError, match=message):
        HeadSplitter(*sizes)
