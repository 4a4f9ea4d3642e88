"""The attention explorer's Python side: what it computes, says and sends."""

from __future__ import annotations

import math

import pytest
import torch
import traitlets

from grader.views import AttentionExplorer

X = torch.tensor([[1.0, 0.0, 1.0, 0.0], [0.0, 2.0, 0.0, 2.0], [1.0, 1.0, 1.0, 1.0]])
W_QUERY = torch.tensor([[1.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
W_KEY = torch.tensor([[0.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
W_VALUE = torch.tensor([[0.0, 2.0, 0.0], [0.0, 3.0, 0.0], [1.0, 0.0, 3.0], [1.0, 1.0, 0.0]])


@pytest.fixture
def explorer() -> AttentionExplorer:
    return AttentionExplorer(X, W_QUERY, W_KEY, W_VALUE)


def unpacked(layout: dict[str, list[int]], buffer: bytes) -> dict[str, torch.Tensor]:
    numbers = torch.frombuffer(bytearray(buffer), dtype=torch.float32)
    pieces = numbers.split([math.prod(shape) for shape in layout.values()])
    return {name: piece.reshape(shape) for (name, shape), piece in zip(layout.items(), pieces, strict=True)}


def test_it_sends_every_matrix_of_the_small_example(explorer):
    fixed = unpacked(explorer.fixed_layout, explorer.fixed)
    assert fixed["query"].tolist() == [[1, 0, 2], [2, 2, 2], [2, 1, 3]]
    assert fixed["scores"].tolist() == [[2, 4, 4], [4, 16, 12], [4, 12, 10]]
    moving = unpacked(explorer.moving_layout, explorer.moving)
    right = torch.nn.functional.scaled_dot_product_attention(X @ W_QUERY, X @ W_KEY, X @ W_VALUE)
    torch.testing.assert_close(moving["output"], right)
    torch.testing.assert_close(moving["scaled"], fixed["scores"] / math.sqrt(3))


def test_its_repr_is_one_sentence_and_follows_step_and_scale(explorer):
    assert repr(explorer) == (
        "Attention explorer, 3 tokens, step 1 of 7; scores divided by 1.73: token 0 takes most from token 1 and "
        "token 2 (0.43), token 1 from token 1 (0.91), token 2 from token 1 (0.75)."
    )
    explorer.step = 4
    explorer.divisor = 1000
    assert repr(explorer).startswith(
        "Attention explorer, 3 tokens, step 4 of 7; scores divided by 1000.00: token 0 takes"
    )


def test_the_text_alternative_stands_beside_the_view(explorer):
    data, _metadata = explorer._repr_mimebundle_()
    assert data["text/plain"] == explorer.summary
    assert "application/vnd.jupyter.widget-view+json" in data


def test_many_tokens_are_not_all_told():
    summary = repr(AttentionExplorer(torch.eye(9), torch.eye(9), torch.eye(9), torch.eye(9)))
    assert summary.endswith("token 3 from token 3 (0.15), and 5 more.")


def test_equal_weights_are_told_as_alike():
    summary = repr(AttentionExplorer(torch.zeros(3, 2), torch.eye(2), torch.eye(2), torch.eye(2), ["a", "b", "c"]))
    assert "a takes most from 3 tokens alike (0.33)" in summary


def test_width_one_needs_no_other_divisor():
    explorer = AttentionExplorer(torch.ones(2, 3), torch.ones(3, 1), torch.ones(3, 1), torch.ones(3, 2))
    assert explorer.divisor == 1
    assert unpacked(explorer.moving_layout, explorer.moving)["weights"].tolist() == [[0.5, 0.5], [0.5, 0.5]]


def test_a_new_divisor_sends_only_what_it_changes(explorer):
    sent = []
    explorer.observe(lambda change: sent.append(change["name"]), names=list(explorer.keys))
    explorer.divisor = 3.0
    assert set(sent) == {"divisor", "moving", "summary"}
    assert len(explorer.moving) == 4 * (9 + 9 + 9)


@pytest.mark.parametrize("divisor", [0, -1, math.inf, math.nan])
def test_a_divisor_is_above_zero(explorer, divisor):
    with pytest.raises(traitlets.TraitError, match="expected a number above zero"):
        explorer.divisor = divisor


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": X[0]}, r"x: got shape \(4,\), expected two axes"),
        ({"w_value": W_VALUE[:3]}, "w_value: got 3 rows, expected 4, the width of x"),
        ({"w_key": W_KEY[:, :2]}, "w_key: got 2 columns, expected 3 like w_query"),
        ({"tokens": ["a", "b"]}, "tokens: got 2 names, expected 3"),
    ],
)
def test_wrong_shapes_are_told_by_name(change, message):
    arguments = {"x": X, "w_query": W_QUERY, "w_key": W_KEY, "w_value": W_VALUE} | change
    with pytest.raises(ValueError, match=message):
        AttentionExplorer(**arguments)


def test_weights_that_learn_can_be_shown():
    AttentionExplorer(X, W_QUERY.clone().requires_grad_(), W_KEY, W_VALUE)
