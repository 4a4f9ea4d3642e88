"""The online softmax: the states of each block in the browser against torch, what it says, what it refuses."""

from __future__ import annotations

import math

import pytest
import torch

from grader.views import OnlineSoftmax
from tests.views.browser import in_browser

FILE = "online_numbers.js"
GENERATOR = torch.Generator().manual_seed(0)
QUERY, KEY, VALUE = (torch.randn(*size, generator=GENERATOR) for size in ((3, 4), (7, 4), (7, 2)))


def close(found: torch.Tensor, right: torch.Tensor) -> None:
    torch.testing.assert_close(found, right, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 9])
def test_output_after_each_block_is_attention_to_the_keys_so_far(size):
    view = OnlineSoftmax(QUERY, KEY, VALUE, block_size=size)
    [(numbers, _)] = in_browser(FILE, (view, {"step": 1, "rescaling": True}))
    scores, value = (QUERY @ KEY.T / 2).double(), VALUE.double()
    close(numbers["scores"], scores)
    close(numbers["final"], scores.softmax(-1) @ value)
    assert len(numbers["states"]) == math.ceil(7 / size)
    for at, state in enumerate(numbers["states"], 1):
        seen = slice(0, at * size)
        close(state["output"], scores[:, seen].softmax(-1) @ value[seen])
        close(state["maximum"], scores[:, seen].amax(-1, keepdim=True))
        close(state["sum"].log() + state["maximum"], scores[:, seen].logsumexp(-1, keepdim=True))


def test_without_rescaling_only_rows_whose_maximum_never_rises_are_right():
    scores = torch.tensor([[3.0, 1.0, 2.0, 0.0], [0.0, 1.0, 2.0, 3.0]])
    view = OnlineSoftmax(2 * scores, torch.eye(4), torch.eye(4))
    [(numbers, _)] = in_browser(FILE, (view, {"step": 1, "rescaling": False}))
    last = numbers["states"][-1]
    close(last["output"][0], scores[0].double().softmax(-1))
    assert (last["output"][1] - scores[1].softmax(-1)).abs().max() > 0.1
    assert last["factor"].tolist() == [[1.0]] * 2


def test_its_sentence_is_the_same_here_and_in_the_browser():
    views = [OnlineSoftmax(QUERY, KEY, VALUE, block_size=size) for size in range(1, 9)]
    views += [OnlineSoftmax(QUERY[:1] * size, KEY[:size], VALUE[:size, :1]) for size in range(1, 8)]
    start = "Online softmax, 3 queries, 7 keys, block 1 of 3 (keys 0 to 2), with rescaling: the output so far is up to "
    assert repr(views[2]).startswith(start)
    told = in_browser(FILE, *((view, {"step": 1, "rescaling": True}) for view in views))
    assert [sentence for _, sentence in told] == [repr(view) for view in views]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"query": QUERY[0]}, r"query: got shape \(4,\), expected two axes"),
        ({"key": KEY[:, :3]}, "key: got width 3, expected 4, as in query"),
        ({"value": VALUE[:5]}, "value: got 5 rows, expected 7, one for each key"),
        ({"block_size": 0}, "block_size: got 0, expected at least 1"),
    ],
)
def test_wrong_arguments_are_told_by_name(change, message):
    with pytest.raises(ValueError, match=message):
        OnlineSoftmax(**{"query": QUERY, "key": KEY, "value": VALUE, "block_size": 2} | change)
