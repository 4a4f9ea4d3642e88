"""The attention explorer: what it computes and says, here and in the browser, and what it refuses."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from grader.views import AttentionExplorer
from tests.views.browser import in_browser

FILE = "attention_steps.js"
X = torch.tensor([[1.0, 0.0, 1.0, 0.0], [0.0, 2.0, 0.0, 2.0], [1.0, 1.0, 1.0, 1.0]])
W_QUERY = torch.tensor([[1.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
W_KEY = torch.tensor([[0.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
W_VALUE = torch.tensor([[0.0, 2.0, 0.0], [0.0, 3.0, 0.0], [1.0, 0.0, 3.0], [1.0, 1.0, 0.0]])


@pytest.fixture
def explorer() -> AttentionExplorer:
    return AttentionExplorer(X, W_QUERY, W_KEY, W_VALUE)


def numbers(explorer: AttentionExplorer, divisor: float) -> dict[str, torch.Tensor]:
    """What the browser has at a scale."""
    [(found, _)] = in_browser(FILE, (explorer, {"divisor": divisor, "step": 1}))
    return found


def test_every_matrix_of_the_small_example(explorer):
    found = numbers(explorer, math.sqrt(3))
    assert found["query"].tolist() == [[1, 0, 2], [2, 2, 2], [2, 1, 3]]
    assert found["scores"].tolist() == [[2, 4, 4], [4, 16, 12], [4, 12, 10]]
    right = torch.nn.functional.scaled_dot_product_attention(X @ W_QUERY, X @ W_KEY, X @ W_VALUE)
    torch.testing.assert_close(found["output"].float(), right)
    torch.testing.assert_close(found["scaled"], found["scores"] / math.sqrt(3))


@pytest.mark.parametrize("divisor", [0.01, 1, 2.5, 1000])
def test_weights_at_any_scale_are_those_of_torch(explorer, divisor):
    found = numbers(explorer, divisor)
    torch.testing.assert_close(found["weights"], (found["scores"] / divisor).softmax(-1))
    torch.testing.assert_close(found["output"], found["weights"] @ found["value"])


def test_its_repr_is_one_sentence(explorer):
    assert repr(explorer) == (
        "Attention explorer, 3 tokens, step 1 of 7; scores divided by 1.73: token 0 takes most from token 1 and "
        "token 2 (0.43), token 1 from token 1 (0.91), token 2 from token 1 (0.75)."
    )


def test_its_sentence_is_the_same_here_and_in_the_browser(explorer):
    torch.manual_seed(0)
    shapes = itertools.product((1, 2, 3, 5), (1, 3), (1, 2, 4))
    drawn = [AttentionExplorer(torch.randn(t, e), *(torch.randn(e, d) for _ in range(3))) for t, e, d in shapes]
    alike = [AttentionExplorer(torch.ones(count, 2), *[torch.eye(2)] * 3) for count in (1, 2, 3, 6)]
    views = [explorer, *drawn, *alike]
    told = in_browser(FILE, *((view, {"step": 1, "divisor": math.sqrt(width_of(view))}) for view in views))
    assert [sentence for _, sentence in told] == [repr(view) for view in views]


def width_of(view: AttentionExplorer) -> int:
    return next(columns for name, _, columns in view.matrices_layout if name == "w_key")


def test_the_text_alternative_stands_before_the_view(explorer):
    (data, _metadata), (widget, _) = explorer.outputs()
    assert data["text/plain"] == repr(explorer)
    assert "application/vnd.jupyter.widget-view+json" in widget


def test_many_tokens_are_not_all_told():
    summary = repr(AttentionExplorer(torch.eye(9), torch.eye(9), torch.eye(9), torch.eye(9)))
    assert summary.endswith("token 3 from token 3 (0.15), and 5 more.")


def test_equal_weights_are_told_as_alike():
    summary = repr(AttentionExplorer(torch.zeros(3, 2), torch.eye(2), torch.eye(2), torch.eye(2), ["a", "b", "c"]))
    assert "a takes most from 3 tokens equally (0.33)" in summary


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": X[0]}, r"x: got shape \(4,\), expected two axes"),
        ({"w_value": W_VALUE[:3]}, "w_value: got 3 rows, expected 4, the width of x"),
        ({"w_key": W_KEY[:, :2]}, "w_key: got 2 columns, expected 3, as in w_query"),
        ({"tokens": ["a", "b"]}, "tokens: got 2 names, expected 3"),
    ],
)
def test_wrong_shapes_are_told_by_name(change, message):
    arguments = {"x": X, "w_query": W_QUERY, "w_key": W_KEY, "w_value": W_VALUE} | change
    with pytest.raises(ValueError, match=message):
        AttentionExplorer(**arguments)


def test_weights_that_learn_can_be_shown():
    AttentionExplorer(X, W_QUERY.clone().requires_grad_(), W_KEY, W_VALUE)
