"""The mask painter: the preset masks, four ways of hiding, the sentence, here and in the browser."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
import traitlets

from grader.views import MaskPainter
from grader.views.mask_painter import PRESETS, WAYS, attend, preset_masks
from tests.views.browser import in_browser

FILE = "mask_numbers.js"
SCORES = torch.tensor([[2.0, 4.0, 4.0, 1.0], [4.0, 8.0, 8.0, 0.5], [4.0, 8.0, 8.0, -3.0], [0.0, -1.0, 2.0, 5.0]])


@pytest.fixture
def painter() -> MaskPainter:
    return MaskPainter(SCORES, ["the", "cat"])


def painted(painter: MaskPainter, cells: list[int], way: str = "fill with -inf") -> dict[str, torch.Tensor]:
    """What the browser has after painting these cells of a mask."""
    [(numbers, _)] = in_browser(FILE, (painter, {"mask": cells, "preset": "free hand", "way": way}))
    return numbers


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
    weights = painted(painter, [0] * 4 + [1] * 12, way)["weights"]
    right = torch.tensor(becomes)
    torch.testing.assert_close(weights[0].float(), right, equal_nan=True)
    torch.testing.assert_close(weights[1:].float(), SCORES[1:].softmax(-1))
    torch.testing.assert_close(attend(SCORES, torch.zeros(4, 4) > 0, way)[1][0], right, equal_nan=True)
    assert WAYS[way] == {0.25: "uniform", 0.0: "all zeros"}.get(becomes[0], "NaN")


def test_every_start_is_the_same_here_and_in_the_browser():
    everything = itertools.product(("a", "ab", "abc", "abcd"), PRESETS, (False, True), WAYS)
    painters = [
        MaskPainter(SCORES, words, preset=preset, in_front=in_front, way=way)
        for words, preset, in_front, way in everything
    ]
    for view, (numbers, sentence) in zip(painters, in_browser(FILE, *((view, {}) for view in painters)), strict=True):
        tokens, visible = view.start()
        masked, weights = attend(SCORES, visible, view.way)
        assert (sentence, numbers["tokens"]) == (repr(view), tokens)
        assert numbers["mask"].tolist() == visible.int().tolist()
        assert numbers["masked"].float().tolist() == masked.tolist()
        torch.testing.assert_close(numbers["weights"].float(), weights, equal_nan=True)


def test_a_choice_in_the_browser_is_one_of_the_constructor(painter):
    chosen = {"preset": "both", "in_front": True, "way": "subtract 1e10"}
    [(_, sentence)] = in_browser(FILE, (painter, chosen))
    assert sentence == repr(MaskPainter(SCORES, ["the", "cat"], **chosen))


def test_a_cell_that_is_painted_moves_the_weights(painter):
    weights = painted(painter, [1, 1, 1, 0] * 4)["weights"]
    torch.testing.assert_close(weights[1, :3].float(), SCORES[1, :3].softmax(-1))
    assert weights[:, 3].tolist() == [0.0] * 4


def test_padding_goes_to_the_front_with_its_tokens_and_its_columns():
    assert MaskPainter(SCORES, ["the", "cat"]).start()[0] == ["the", "cat", "pad", "pad"]
    tokens, visible = MaskPainter(SCORES, ["the", "cat"], preset="padding", in_front=True).start()
    assert tokens == ["pad", "pad", "the", "cat"]
    assert visible.int().tolist() == [[0, 0, 1, 1]] * 4


def test_its_repr_is_one_line(painter):
    start = 'Mask painter, 4 tokens, 2 padding tokens at the end, mask "causal": 10 of 16 visible.'
    assert repr(painter) == f'{start} Every query sees something; way of hiding: "fill with -inf".'
    other = MaskPainter(SCORES, ["the", "cat"], preset="both", in_front=True, way="subtract 1e10")
    start = 'Mask painter, 4 tokens, 2 padding tokens in front, mask "both": 3 of 16 visible.'
    assert repr(other) == f'{start} Queries 0, 1 see nothing; "subtract 1e10" makes the weights uniform.'
    (data, _metadata), _view = painter.outputs()
    assert data["text/plain"] == repr(painter)


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


@pytest.mark.parametrize("wrong", [{"preset": "free hand"}, {"preset": "diagonal"}, {"way": "hide"}])
def test_other_choices_are_refused(wrong):
    with pytest.raises(traitlets.TraitError):
        MaskPainter(SCORES, ["the", "cat"], **wrong)
