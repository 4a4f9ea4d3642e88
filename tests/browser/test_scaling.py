"""The scaling explorer in lesson 02, operated by keyboard alone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tools.lab import Excerpt, picture, press

START = (
    "Scaling explorer, d_k = 1 (range 1 to 512), 500 queries and 10 keys: entropy 1.98 unscaled, "
    "1.98 scaled; slope 0.81"
)
EXCERPT = Excerpt(
    "02_trainable_attention",
    view="ScalingExplorer(random_queries",
    start=START,
    before=("import torch.nn.functional",),
)


def slide(view: Locator, *keys: str) -> Locator:
    slider = view.get_by_role("slider")
    press(slider, *keys)
    return slider


def weights(view: Locator, name: str) -> Locator:
    return view.locator(f"[data-matrix={name}]")


def canvas_of(view: Locator, name: str) -> Locator:
    return weights(view, name).locator("canvas")


def gauges(view: Locator) -> list[str]:
    """Entropy and slope, unscaled, then scaled."""
    return view.locator(".att-gauge-number").all_inner_texts()


def test_both_sides_are_the_same_at_width_one(view):
    slide(view, "Home")
    expect(view.locator(".att-summary")).to_contain_text(START)
    assert gauges(view) == ["1.98 of at most 2.30", "0.81 of at most 0.90"] * 2
    assert picture(canvas_of(view, "raw_weights")) == picture(canvas_of(view, "scaled_weights"))


def test_the_slider_saturates_one_side_only(view):
    slider = slide(view, "Home", *["ArrowRight"] * 11)
    expect(slider).to_have_attribute("aria-valuetext", "d_k = 64, √d_k = 8")
    expect(view.locator("[aria-live]")).to_have_text(
        "d_k = 64, √d_k = 8. Entropy 0.38 not scaled, 1.96 scaled; slope 0.21 not scaled, 0.81 scaled."
    )
    expect(view.locator(".att-summary")).to_contain_text("entropy 0.38 unscaled, 1.96 scaled; slope 0.21 and 0.81")
    assert gauges(view)[:2] == ["0.38 of at most 2.30", "0.21 of at most 0.90"]
    assert picture(canvas_of(view, "raw_weights")) != picture(canvas_of(view, "scaled_weights"))


def test_the_slider_is_answered_at_once(view, at_once):
    at_once(slide(view, "Home"), "ArrowRight", canvas_of(view, "raw_weights"))


def test_arrow_keys_tell_the_way_of_one_score_on_both_sides(view):
    slide(view, "End")
    press(weights(view, "raw_weights"), "Control+Home", "ArrowDown", "ArrowRight")
    where, unscaled, scaled = (
        view.locator(".att-sum").locator(part) for part in ("span", "code >> nth=0", "code >> nth=1")
    )
    expect(where).to_have_text("query 1, key 1.")
    expect(unscaled).to_have_text(re.compile(r"^Not scaled: score .+, weight .+, slope .+\.$"))
    expect(scaled).to_contain_text("÷ 22.6 ≈")
    expect(view.locator("[aria-live]")).to_contain_text("query 1, key 1. Not scaled: score")
    expect(weights(view, "raw_weights")).to_be_focused()


def test_everything_can_be_read_as_tables(view, axe, shot):
    slide(view, "Home", *["ArrowRight"] * 11)
    press(view.get_by_role("button", name="Show as table"), "Enter")
    means = view.get_by_role("table", name="Means at every width")
    expect(means.get_by_role("row", name=re.compile("^d_k = 64 "))).to_contain_text("0.38")
    expect(view.get_by_role("table")).to_have_count(5)
    shot(view, "scaling-table")
    assert axe(".att-view") == []
    view.page.keyboard.press("Enter")
    expect(means).to_be_hidden()


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_it_is_drawn_and_accessible_in_both_themes(view, notebook, axe, shot, theme):
    slide(view, "Home", *["ArrowRight"] * 11)
    notebook.theme(theme, canvas_of(view, "raw"))
    shot(view, f"scaling-{theme}")
    assert axe(".att-view") == []
    assert view.page.refused == []
