"""The scaling explorer's Python side: its numbers against torch, what it says and sends."""

from __future__ import annotations

import math

import pytest
import torch
import traitlets

from grader.views import ScalingExplorer
from grader.views.scaling_explorer import QUERIES_SHOWN, widths_up_to
from tests.views.test_attention_explorer import unpacked


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


def test_scores_and_weights_at_every_width_are_those_of_torch(explorer, vectors):
    query, key = vectors
    sent = unpacked(explorer.layout_of_all, explorer.all_widths)
    for at, width in enumerate(explorer.widths):
        rows = slice(at * QUERIES_SHOWN, (at + 1) * QUERIES_SHOWN)
        raw = query[:QUERIES_SHOWN, :width] @ key[:, :width].T
        torch.testing.assert_close(sent["raw"][rows], raw)
        torch.testing.assert_close(sent["scaled"][rows], raw / math.sqrt(width))
        torch.testing.assert_close(sent["raw_weights"][rows], raw.softmax(-1))
        torch.testing.assert_close(sent["scaled_weights"][rows], (raw / math.sqrt(width)).softmax(-1))


def test_the_measures_are_means_over_all_queries(explorer, vectors):
    query, key = vectors
    sent = unpacked(explorer.layout_of_all, explorer.all_widths)["measures"]
    for at, width in enumerate(explorer.widths):
        raw = query[:, :width] @ key[:, :width].T
        for side, scores in enumerate((raw, raw / math.sqrt(width))):
            entropy = torch.distributions.Categorical(logits=scores).entropy().mean()
            jacobians = [torch.autograd.functional.jacobian(lambda s: s.softmax(-1), row) for row in scores]
            slope = torch.stack([jacobian.trace() for jacobian in jacobians]).mean()
            torch.testing.assert_close(sent[at, side], entropy)
            torch.testing.assert_close(sent[at, 2 + side], slope)


def test_its_repr_is_one_sentence_and_follows_the_width(explorer):
    assert repr(explorer).startswith("Scaling explorer, d_k = 1 of 1 to 12, 7 queries on 4 keys: entropy ")
    explorer.d_k = 12
    measures = unpacked(explorer.layout_of_all, explorer.all_widths)["measures"][-1].tolist()
    assert repr(explorer).endswith("entropy {:.2f} unscaled, {:.2f} scaled; slope {:.2f} and {:.2f}.".format(*measures))


def test_the_slider_sends_nothing_but_the_width_and_the_sentence(explorer):
    sent = []
    explorer.observe(lambda change: sent.append(change["name"]), names=list(explorer.keys))
    explorer.d_k = 6
    assert set(sent) == {"d_k", "summary"}


def test_few_queries_are_all_shown():
    assert ScalingExplorer(torch.ones(2, 3), torch.ones(1, 3)).shown == 2


def test_vectors_that_learn_can_be_shown(vectors):
    ScalingExplorer(vectors[0].requires_grad_(), vectors[1])


@pytest.mark.parametrize("width", [0, 5, 13])
def test_a_width_is_one_of_those_computed(explorer, width):
    with pytest.raises(traitlets.TraitError, match=rf"d_k: got {width}, expected one of \[1, 2, 3, 4, 6, 8, 12\]"):
        explorer.d_k = width


@pytest.mark.parametrize(
    ("query", "key", "message"),
    [
        (torch.ones(3), torch.ones(2, 3), r"query: got shape \(3,\), expected two axes"),
        (torch.ones(3, 4), torch.ones(0, 4), r"key: got shape \(0, 4\), expected two axes, neither of them empty"),
        (torch.ones(3, 4), torch.ones(2, 5), "key: got 5 columns, expected 4 like query"),
    ],
)
def test_wrong_shapes_are_told_by_name(query, key, message):
    with pytest.raises(ValueError, match=message):
        ScalingExplorer(query, key)
