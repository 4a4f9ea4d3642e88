"""The alignment view's Python side: what it takes, says and sends."""

from __future__ import annotations

import math

import pytest
import torch

from grader.views import AlignmentView

PAIRS = [("3 May", "05"), ("May", "5")]


def entries(seed: int) -> list[tuple[torch.Tensor, list[str]]]:
    generator = torch.Generator().manual_seed(seed)
    shapes = [(2, len(answer) + 1, len(source)) for source, answer in PAIRS]
    return [(torch.rand(shape, generator=generator).softmax(-1), ["7"] * shape[1]) for shape in shapes]


@pytest.fixture
def view() -> AlignmentView:
    return AlignmentView(PAIRS, {"before": entries(0), "after": entries(1)})


def test_it_sends_the_weights_of_every_moment_date_and_head(view):
    flat = torch.frombuffer(bytearray(view.weights), dtype=torch.float32)
    pieces = flat.split([math.prod(shape) for _, *shape in view.layout_of_weights])
    sent = {n: p.reshape(s) for (n, *s), p in zip(view.layout_of_weights, pieces, strict=True)}
    assert len(sent) == 2 * 2 * 3
    weights = entries(1)[0][0]
    torch.testing.assert_close(sent["after/0/head 1"], weights[1])
    torch.testing.assert_close(sent["after/0/all heads"], weights.mean(0))
    assert view.guesses["before/1"] == ["7", "7"]


def test_its_repr_is_one_sentence_and_follows_what_is_chosen(view):
    assert repr(view).startswith(
        'Alignment view, "3 May" to "05", after, all heads; character 1 of 3, "0": guessed "7"'
    )
    view.moment, view.pair, view.head, view.row = 0, 1, 2, 1
    weights = entries(0)[1][0][1, 1]
    most = int(weights.argmax())
    assert repr(view) == (
        'Alignment view, "May" to "5", before, head 1; character 2 of 2, "<eos>": guessed "7", '
        f'looks most at "{"May"[most]}" ({weights[most]:.2f}).'
    )


def test_a_row_that_another_answer_has_is_cut_to_the_last_one(view):
    view.row = 2
    view.pair = 1
    assert 'character 2 of 2, "<eos>"' in repr(view)


def test_the_text_alternative_stands_before_the_view(view):
    (data, _metadata), (widget, _) = view.outputs()
    assert data["text/plain"] == view.summary
    assert "application/vnd.jupyter.widget-view+json" in widget


def test_weights_of_another_shape_are_told_with_both():
    wrong = [(torch.ones(2, 3, 4), ["7"] * 3), entries(0)[1]]
    with pytest.raises(ValueError, match=r"\['after'\]\[0\]: got weights \(2, 3, 4\).*expected weights \(H, 3, 5\)"):
        AlignmentView(PAIRS, {"after": wrong})
    with pytest.raises(ValueError, match="got 1 entries, expected 2"):
        AlignmentView(PAIRS, {"after": entries(0)[:1]})
    with pytest.raises(ValueError, match="at least one"):
        AlignmentView(PAIRS, {})
