"""The online softmax view's Python side: the states of each block, and the summary."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
import traitlets

from grader.views import OnlineSoftmax
from grader.views.online_softmax import walk

GENERATOR = torch.Generator().manual_seed(0)
QUERY, KEY, VALUE = (torch.randn(*size, generator=GENERATOR) for size in ((3, 4), (7, 4), (7, 2)))


def sent(view: OnlineSoftmax) -> dict[str, torch.Tensor]:
    numbers = torch.frombuffer(bytearray(view.numbers), dtype=torch.float32)
    pieces = numbers.split([math.prod(shape) for shape in view.layout_of_numbers.values()])
    return {n: p.reshape(s) for (n, s), p in zip(view.layout_of_numbers.items(), pieces, strict=True)}


@pytest.mark.parametrize("size", [1, 2, 3, 7, 9])
def test_output_after_each_block_is_attention_to_the_keys_so_far(size):
    scores = QUERY @ KEY.T / 2
    states = walk(scores, VALUE, size, rescaling=True)
    assert len(states) == math.ceil(7 / size)
    for at, state in enumerate(states, 1):
        seen = slice(0, at * size)
        torch.testing.assert_close(state["output"], F.scaled_dot_product_attention(QUERY, KEY[seen], VALUE[seen]))
        torch.testing.assert_close(state["maximum"], scores[:, seen].amax(-1, keepdim=True))
        torch.testing.assert_close(state["sum"].log() + state["maximum"], scores[:, seen].logsumexp(-1, keepdim=True))


def test_without_rescaling_only_rows_whose_maximum_never_rises_are_right():
    scores = torch.tensor([[3.0, 1.0, 2.0, 0.0], [0.0, 1.0, 2.0, 3.0]])
    value = torch.eye(4)
    last = walk(scores, value, 2, rescaling=False)[-1]["output"]
    torch.testing.assert_close(last[0], scores[0].softmax(-1))
    assert (last[1] - scores[1].softmax(-1)).abs().max() > 0.1


def test_it_sends_scores_states_and_the_final_output():
    numbers = sent(OnlineSoftmax(QUERY, KEY, VALUE, block_size=3))
    torch.testing.assert_close(numbers["scores"], QUERY @ KEY.T / 2)
    torch.testing.assert_close(numbers["final"], F.scaled_dot_product_attention(QUERY, KEY, VALUE))
    torch.testing.assert_close(numbers["output3"], numbers["final"])
    assert numbers["counts3"].shape == (3, 1)
    assert numbers["factor2 raw"].tolist() == [[1.0]] * 3
    assert numbers["factor1"].tolist() == [[0.0]] * 3


def test_its_repr_follows_step_and_switch():
    view = OnlineSoftmax(QUERY, KEY, VALUE, block_size=3)
    start = "Online softmax, 3 queries, 7 keys, block 1 of 3 (keys 0 to 2), with rescaling: the output so far is up to "
    assert repr(view).startswith(start)
    view.step = 3
    assert repr(view).endswith("block 3 of 3 (key 6), with rescaling: the output so far is the final one.")
    view.rescaling = False
    assert "without rescaling: the output so far is up to" in repr(view)


def test_a_step_sends_no_matrices():
    view, changed = OnlineSoftmax(QUERY, KEY, VALUE), []
    view.observe(lambda change: changed.append(change["name"]), names=list(view.keys))
    view.step = 2
    assert set(changed) == {"step", "summary"}


@pytest.mark.parametrize("step", [0, 5])
def test_a_step_is_one_of_the_blocks(step):
    with pytest.raises(traitlets.TraitError):
        OnlineSoftmax(QUERY, KEY, VALUE).step = step


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"query": QUERY[0]}, r"query: got shape \(4,\), expected two axes"),
        ({"key": KEY[:, :3]}, "key: got width 3, expected 4 like query"),
        ({"value": VALUE[:5]}, "value: got 5 rows, expected 7, one for each key"),
        ({"block_size": 0}, "block_size: got 0, expected at least 1"),
    ],
)
def test_wrong_arguments_are_told_by_name(change, message):
    with pytest.raises(ValueError, match=message):
        OnlineSoftmax(**{"query": QUERY, "key": KEY, "value": VALUE, "block_size": 2} | change)
