"""The mask painter's Python side: the preset masks, four ways of hiding, the summary, what is sent."""

from __future__ import annotations

import math

import pytest
import torch
import traitlets

from grader.views import MaskPainter
from grader.views.mask_painter import WAYS, attend, preset_masks
from tests.views.test_attention_explorer import unpacked

SCORES = torch.tensor([[2.0, 4.0, 4.0, 1.0], [4.0, 8.0, 8.0, 0.5], [4.0, 8.0, 8.0, -3.0], [0.0, -1.0, 2.0, 5.0]])


@pytest.fixture
def painter() -> MaskPainter:
    return MaskPainter(SCORES, ["the", "cat"])


def weights(painter: MaskPainter) -> torch.Tensor:
    return unpacked(painter.moving_layout, painter.moving)["weights"]


def paint(painter: MaskPainter, row: int, column: int, value: int) -> None:
    """As the browser does it: the mask and its new name in one message."""
    cells = bytearray(painter.mask)
    cells[row * 4 + column] = value
    painter.set_state({"mask": memoryview(bytes(cells)), "preset": "free hand"})


def test_presets_are_those_of_the_lesson():
    masks = preset_masks(4, [2, 3])
    lower = [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
    assert masks["all visible"].all()
    assert masks["causal"].int().tolist() == lower
    assert masks["padding"].int().tolist() == [[1, 1, 0, 0]] * 4
    assert masks["both"].int().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 0, 0]]
    assert preset_masks(4, [0, 1])["both"].int().tolist() == [[0] * 4, [0] * 4, [0, 0, 1, 0], [0, 0, 1, 1]]


@pytest.mark.parametrize("way", WAYS)
def test_rows_that_see_something_are_the_softmax_over_what_they_see(way):
    visible = preset_masks(4, [])["causal"]
    _, masked_weights = attend(SCORES, visible, way)
    for row in range(4):
        torch.testing.assert_close(masked_weights[row, : row + 1], SCORES[row, : row + 1].softmax(-1))
        assert (masked_weights[row, row + 1 :] == 0).all()


@pytest.mark.parametrize(
    ("way", "becomes"),
    [
        ("fill with -inf", [math.nan] * 4),
        ("subtract 1e10", [0.25] * 4),
        ("fill with -1e20", [0.25] * 4),
        ("masked_softmax", [0.0] * 4),
    ],
)
def test_each_way_makes_something_else_of_an_empty_row(painter, way, becomes):
    paint(painter, 0, 0, 0)
    painter.way = way
    torch.testing.assert_close(weights(painter)[0], torch.tensor(becomes), equal_nan=True)
    assert weights(painter)[1:].isfinite().all()
    assert WAYS[way] == {0.25: "uniform", 0.0: "all zeros"}.get(becomes[0], "NaN")


@pytest.mark.parametrize(
    ("way", "hidden"), [("fill with -inf", -math.inf), ("subtract 1e10", -1e10), ("fill with -1e20", -1e20)]
)
def test_masked_scores_show_what_stands_for_hidden(painter, way, hidden):
    painter.way = way
    masked = unpacked(painter.moving_layout, painter.moving)["masked"]
    assert masked[0].tolist() == [2.0, *[torch.tensor(hidden).item()] * 3]
    assert unpacked(painter.fixed_layout, painter.fixed)["scores"].tolist() == SCORES.tolist()


def test_a_cell_that_is_painted_moves_the_weights(painter):
    paint(painter, 1, 2, 1)
    assert painter.preset == "free hand"
    assert painter.visible[1].tolist() == [True, True, True, False]
    torch.testing.assert_close(weights(painter)[1, :3], SCORES[1, :3].softmax(-1))


def test_padding_goes_to_the_front_with_its_tokens_and_its_columns(painter):
    assert painter.tokens == ["the", "cat", "pad", "pad"]
    painter.preset, painter.in_front = "padding", True
    assert painter.tokens == ["pad", "pad", "the", "cat"]
    assert painter.visible.int().tolist() == [[0, 0, 1, 1]] * 4


def test_free_hand_keeps_the_mask_where_padding_moves(painter):
    paint(painter, 3, 0, 0)
    before = painter.mask
    painter.in_front = True
    assert painter.mask == before
    painter.preset = "causal"
    assert painter.visible.tolist() == torch.ones(4, 4).tril().bool().tolist()


def test_its_repr_is_one_line_and_follows_mask_and_way(painter):
    start = 'Mask painter, 4 tokens, 2 padding at the end, mask "causal": 10 of 16 visible.'
    assert repr(painter) == f"{start} Every query sees something; fill with -inf."
    painter.preset, painter.in_front, painter.way = "both", True, "subtract 1e10"
    start = 'Mask painter, 4 tokens, 2 padding in front, mask "both": 3 of 16 visible.'
    assert repr(painter) == f"{start} Queries 0, 1 see nothing; subtract 1e10: uniform."
    data, _metadata = painter._repr_mimebundle_()
    assert data["text/plain"] == painter.summary


def test_a_stroke_sends_only_what_it_changes(painter):
    sent = []
    painter.observe(lambda change: sent.append(change["name"]), names=list(painter.keys))
    paint(painter, 0, 1, 1)
    assert set(sent) == {"mask", "preset", "moving", "summary"}
    assert len(painter.moving) == 4 * (16 + 16)


def test_options_of_the_constructor_are_what_the_buttons_do():
    painter = MaskPainter(SCORES, ["the", "cat"], preset="both", in_front=True, way="masked_softmax")
    assert weights(painter)[:2].tolist() == [[0.0] * 4] * 2


@pytest.mark.parametrize(
    ("scores", "words", "message"),
    [
        (SCORES[:3], ["a"], r"scores: got shape \(3, 4\), expected \(T, T\)"),
        (SCORES, [], "words: got 0, expected 1 to 4"),
        (SCORES, list("abcde"), "words: got 5, expected 1 to 4"),
    ],
)
def test_wrong_arguments_are_told_by_name(scores, words, message):
    with pytest.raises(ValueError, match=message):
        MaskPainter(scores, words)


@pytest.mark.parametrize("cells", [b"\x01" * 15, b"\x02" * 16])
def test_a_mask_has_a_byte_for_each_cell(painter, cells):
    with pytest.raises(traitlets.TraitError, match="expected 16 bytes, each 0 or 1"):
        painter.mask = cells
