"""The scaling explorer: its numbers in the browser against torch, what it says, what it refuses."""

from __future__ import annotations

import math

import pytest
import torch

from grader.views import ScalingExplorer
from grader.views.scaling_explorer import QUERIES_SHOWN, widths_up_to
from tests.views.browser import in_browser

FILE = "scaling_numbers.js"


@pytest.fixture
def vectors() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    return torch.randn(7, 12, generator=generator), torch.randn(4, 12, generator=generator)


@pytest.fixture
def explorer(vectors) -> ScalingExplorer:
    return ScalingExplorer(*vectors)


def test_widths_go_from_one_to_the_last_column():
    assert widths_up_to(512)[:8] == [1, 2, 3, 4, 6, 8, 12, 16]
    assert widths_up_to(512)[-3:] == [256, 384, 512]
    assert widths_up_to(5) == [1, 2, 3, 4, 5]
    assert widths_up_to(1) == [1]


@pytest.fixture
def numbers(explorer) -> list[dict[str, torch.Tensor]]:
    """What the browser has at every width."""
    return [found for found, _ in in_browser(FILE, *((explorer, {"d_k": width}) for width in explorer.widths))]


def test_scores_and_weights_at_every_width_are_those_of_torch(explorer, vectors, numbers):
    query, key = (vector.double() for vector in vectors)
    for width, found in zip(explorer.widths, numbers, strict=True):
        raw = query[:QUERIES_SHOWN, :width] @ key[:, :width].T
        right = {"raw": raw, "scaled": raw / math.sqrt(width)}
        right |= {f"{side}_weights": scores.softmax(-1) for side, scores in right.items()}
        for name, matrix in right.items():
            torch.testing.assert_close(found[name], matrix, rtol=1e-5, atol=1e-5)


def test_the_measures_are_means_over_all_queries(explorer, vectors, numbers):
    query, key = vectors
    for at, width in enumerate(explorer.widths):
        raw = query[:, :width] @ key[:, :width].T
        for side, scores in enumerate((raw, raw / math.sqrt(width))):
            entropy = torch.distributions.Categorical(logits=scores).entropy().mean()
            jacobians = [torch.autograd.functional.jacobian(lambda s: s.softmax(-1), row) for row in scores]
            slope = torch.stack([jacobian.trace() for jacobian in jacobians]).mean()
            torch.testing.assert_close(numbers[0]["measures"][at, side].float(), entropy)
            torch.testing.assert_close(numbers[0]["measures"][at, 2 + side].float(), slope)


def test_its_sentence_is_the_same_here_and_in_the_browser(explorer, vectors):
    assert repr(explorer).startswith("Scaling explorer, d_k = 1 (range 1 to 12), 7 queries and 4 keys: entropy ")
    views = [explorer, *(ScalingExplorer(9 * vectors[0][:, :at], vectors[1][:, :at]) for at in range(1, 13))]
    told = in_browser(FILE, *((view, {"d_k": 1}) for view in views))
    assert [sentence for _, sentence in told] == [repr(view) for view in views]


def test_few_queries_are_all_shown():
    [(numbers, _)] = in_browser(FILE, (ScalingExplorer(torch.ones(2, 3), torch.ones(1, 3)), {"d_k": 2}))
    assert numbers["raw"].shape == (2, 1)


def test_vectors_that_learn_can_be_shown(vectors):
    ScalingExplorer(vectors[0].requires_grad_(), vectors[1])


@pytest.mark.parametrize(
    ("query", "key", "message"),
    [
        (torch.ones(3), torch.ones(2, 3), r"query: got shape \(3,\), expected two axes"),
        (torch.ones(3, 4), torch.ones(0, 4), r"key: got shape \(0, 4\), expected two axes, neither of them empty"),
        (torch.ones(3, 4), torch.ones(2, 5), "key: got 5 columns, expected 4, as in query"),
    ],
)
def test_wrong_shapes_are_told_by_name(query, key, message):
    with pytest.raises(ValueError, match=message):
        ScalingExplorer(query, key)
