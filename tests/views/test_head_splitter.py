"""The head splitter's Python side: every step against torch, what it says, which sizes it takes."""

from __future__ import annotations

import itertools

import pytest
import torch
import traitlets

from grader.views import HeadSplitter
from grader.views.head_splitter import STEPS, numbered, stages

SIZES = [(t, h, d) for t, h, d in itertools.product((1, 2, 3, 5), (1, 2, 3, 4), (1, 2, 3)) if h * d <= 10]
NAMES = [name for name, _ in STEPS]


def by_name(seq_len: int, num_heads: int, head_dim: int) -> dict[str, dict]:
    return {stage["name"]: stage for stage in stages(seq_len, num_heads, head_dim)}


def test_a_number_tells_its_token_and_its_column():
    assert numbered(3, 4)[1].tolist() == [10, 11, 12, 13]


@pytest.mark.parametrize("sizes", SIZES)
def test_heads_hold_their_columns_of_every_token_and_merge_back(sizes):
    seq_len, num_heads, head_dim = sizes
    named = by_name(*sizes)
    assert list(named) == NAMES
    x = numbered(seq_len, num_heads * head_dim)
    heads = torch.stack([x[:, h * head_dim : (h + 1) * head_dim] for h in range(num_heads)])
    for name in ("swapped", "worked"):
        assert named[name]["reads"] == heads.flatten().tolist()
        assert named[name]["shape"] == [num_heads, seq_len, head_dim]
    assert named["joined"]["reads"] == x.flatten().tolist()
    assert named["joined"]["shape"] == [seq_len, num_heads * head_dim]


@pytest.mark.parametrize("sizes", SIZES)
def test_memory_read_by_the_strides_is_the_tensor(sizes):
    for stage in stages(*sizes):
        index = itertools.product(*(range(size) for size in stage["shape"]))
        places = [sum(i * stride for i, stride in zip(at, stage["strides"], strict=True)) for at in index]
        assert [stage["memory"][place] for place in places] == stage["reads"]
        assert stage["contiguous"] == (stage["memory"] == stage["reads"])


def test_only_contiguous_copies():
    assert [name for name, stage in by_name(3, 2, 2).items() if stage["copied"]] == ["worked", "copied"]
    assert not any(stage["copied"] for stage in stages(3, 1, 4))


@pytest.mark.parametrize("sizes", SIZES)
def test_the_short_cuts_are_wrong_unless_there_is_nothing_to_swap(sizes):
    named = by_name(*sizes)
    short_cuts = {name: stage["wrong"] for name, stage in named.items() if stage["wrong"]}
    assert list(short_cuts) == ["swapped", "joined"]
    for name, wrong in short_cuts.items():
        assert wrong["shape"] == named[name]["shape"]
        assert (wrong["reads"] == named[name]["reads"]) == (1 in sizes[:2])


def test_the_short_cuts_are_those_of_the_lesson():
    named = by_name(3, 2, 2)
    assert named["swapped"]["wrong"]["reads"] == numbered(3, 4).view(2, 3, 2).flatten().tolist()
    assert named["joined"]["wrong"]["reads"][:4] == [0, 1, 10, 11]
    assert "view size is not compatible" in named["back"]["refused"]["error"]
    assert by_name(3, 1, 4)["back"]["refused"]["error"] == ""


def test_its_repr_is_one_sentence_and_follows_step_and_sizes():
    splitter = HeadSplitter(seq_len=3, num_heads=2, head_dim=2)
    assert repr(splitter) == (
        "Head splitter, 3 tokens, 2 heads of 2 columns, step 1 of 7, x: shape (3, 4), strides (4, 1), contiguous."
    )
    splitter.step = 3
    assert repr(splitter).endswith(
        "swapped: shape (2, 3, 2), strides (2, 4, 1), not contiguous; "
        "x.view(2, 3, 2) has 8 of 12 numbers in the wrong place."
    )
    splitter.sizes = [5, 1, 3]
    assert repr(splitter).startswith("Head splitter, 5 tokens, 1 head of 3 columns, step 3 of 7, swapped: ")
    assert repr(splitter).endswith("x.view(1, 5, 3) has 0 of 15 numbers in the wrong place.")


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
    with pytest.raises(traitlets.TraitError, match=message):
        HeadSplitter().sizes = sizes
