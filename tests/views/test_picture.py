"""Static pictures: every view with a figure has one, always the same bytes, with the view's own numbers."""

from __future__ import annotations

import base64

import matplotlib.pyplot as plt
import pytest
import torch

from grader import views
from grader.views.base import View
from grader.views.picture import EMPTY, drawing, heatmap, sheet, written

EYE = torch.eye(3)


def monitor() -> views.TrainingMonitor:
    shown = views.TrainingMonitor(10, watched=("May 2024", "2024-05"))
    shown.show([2.0, 1.0, 0.5], {0: 0.0, 3: 0.25}, {0: "", 3: "2020"}, now=True)
    return shown


VIEWS = {
    "AlignmentView": lambda: views.AlignmentView([("ab", "b")], {"after": [(torch.eye(2)[None], ["b", "<eos>"])]}),
    "AttentionExplorer": lambda: views.AttentionExplorer(EYE, EYE, EYE, EYE, ["a", "b", "c"]),
    "HeadExplorer": lambda: views.HeadExplorer({"encoder": (EYE.expand(2, 2, 3, 3), "abc", "abc")}),
    "HeadSplitter": views.HeadSplitter,
    "MaskPainter": lambda: views.MaskPainter(EYE, ["so", "it"], preset="both", in_front=True),
    "NormExplorer": lambda: views.NormExplorer(EYE, norm="BatchNorm"),
    "OnlineSoftmax": lambda: views.OnlineSoftmax(EYE, EYE, EYE),
    "PositionExplorer": lambda: views.PositionExplorer(d_model=8),
    "Sampler": lambda: views.Sampler(lambda tokens: EYE[tokens], ["an", "owl", "\n"], "an owl", top_k=2),
    "ScalingExplorer": lambda: views.ScalingExplorer(EYE, 9 * EYE),
    "ShapeTracer": views.ShapeTracer,
    "TrainingMonitor": monitor,
}
TEXT_ONLY = {
    "Prediction": lambda: views.Prediction("Which?", ["a", "b"]),
    "ProgressTable": lambda: views.ProgressTable(list),
}


WIDGET = "application/vnd.jupyter.widget-view+json"


def still(view: View) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """What a view displays before itself."""
    found, (widget, _metadata) = view.outputs()
    assert set(widget) == {WIDGET}
    return found


def test_every_view_is_in_one_of_the_two_lists():
    assert sorted([*VIEWS, *TEXT_ONLY]) == sorted(views.__all__)


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_is_shown_with_a_picture_that_is_the_same_every_time(name: str):
    before = plt.get_fignums()
    data, metadata = still(VIEWS[name]())
    assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG")
    assert metadata["image/png"]["alt"] == data["text/plain"]
    assert WIDGET not in data
    with plt.style.context("dark_background"):
        assert still(VIEWS[name]())[0]["image/png"] == data["image/png"]
    assert plt.get_fignums() == before  # nothing is left for the notebook's own plt.show()


@pytest.mark.parametrize("name", TEXT_ONLY)
def test_a_view_of_text_has_none(name: str):
    assert "image/png" not in still(TEXT_ONLY[name]())[0]


def test_a_monitor_without_a_step_has_none():
    assert "image/png" not in still(views.TrainingMonitor(10))[0]


def test_a_picture_follows_what_the_view_shows():
    painter = VIEWS["MaskPainter"]()
    other = views.MaskPainter(EYE, ["so", "it"])
    assert drawing(painter.picture) != drawing(other.picture)


def test_an_attention_is_drawn_with_its_numbers():
    explorer = VIEWS["AttentionExplorer"]()
    places = explorer.picture().axes
    assert [axes.get_title() for axes in places] == [
        *("query", "key", "value", "scores"),
        "weights (scores / 1.73)",
        "output",
    ]
    weights = (EYE / 3**0.5).softmax(-1)
    assert [text.get_text() for text in places[4].texts] == [written(float(w)) for w in weights.flatten()]


def test_colours_and_ink_are_those_of_the_views():
    axes = sheet(2, 2).add_subplot()
    heatmap(axes, torch.tensor([[0.0, 1.0, float("nan")]]), "title")
    assert [text.get_color() for text in axes.texts] == ["#fff", "#000", "#000"]
    [image] = axes.images
    shown = image.cmap(image.norm(image.get_array()))
    assert [round(255 * float(part)) for part in shown[0, 1][:3]] == [254, 232, 56]
    assert tuple(shown[0, 2][:3]) == pytest.approx(tuple(int(EMPTY[i : i + 2], 16) / 255 for i in (1, 3, 5)))


@pytest.mark.parametrize("matrix", [torch.zeros(2, 2), torch.full((1, 2), float("nan")), torch.ones(1, 1)])
def test_a_matrix_without_a_range_can_be_drawn(matrix: torch.Tensor):
    figure = sheet(2, 2)
    heatmap(figure.add_subplot(), matrix, "title")
    assert drawing(lambda: figure)


def test_no_token_keeps_a_view_from_being_shown(recwarn):
    odd = ["$a$", "$\\nothing$", "\U0001f600", "字", "", "a" * 60]
    six = torch.eye(6)
    assert "image/png" in still(views.AttentionExplorer(six, six, six, six, odd))[0]
    assert [str(warning.message) for warning in recwarn if "Glyph" in str(warning.message)] == []


def test_a_large_view_has_a_picture_of_the_usual_size():
    large, small = torch.randn(200, 48), torch.randn(12, 12)
    weights = torch.randn(48, 48)
    figures = [
        views.AttentionExplorer(large, weights, weights, weights).picture(),
        views.AttentionExplorer(small, *[torch.randn(12, 12)] * 3).picture(),
        views.OnlineSoftmax(torch.randn(20, 8), torch.randn(90, 8), torch.randn(90, 8)).picture(),
    ]
    for figure in figures:
        assert figure is not None
        assert max(figure.get_size_inches()) < 25  # a screen is some 12 wide
