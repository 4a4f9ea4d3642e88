"""The scaling explorer in lesson 02, operated by keyboard alone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.lab import Lab, Notebook

NAME = "02_trainable_attention.ipynb"
START = "Scaling explorer, d_k = 1 of 1 to 512, 500 queries on 10 keys: entropy 1.98 unscaled, 1.98 scaled; slope 0.81"


@pytest.fixture(scope="module")
def notebook(page: Page, lab: Lab) -> Notebook:
    opened = Notebook(page, lab, NAME)
    opened.theme("light")
    return opened


@pytest.fixture(scope="module")
def explorer(notebook: Notebook) -> Locator:
    cell = notebook.cell("ScalingExplorer(random_queries")
    cell.scroll_into_view_if_needed()
    expect(cell.locator(".jp-OutputArea-output")).to_contain_text(START)  # before anything is run
    notebook.run_cell("import torch.nn.functional")
    notebook.run_cell("ScalingExplorer(random_queries")
    view = cell.locator(".att-view")
    view.wait_for()
    view.scroll_into_view_if_needed()
    return view


def slide(view: Locator, *keys: str) -> Locator:
    slider = view.get_by_role("slider")
    slider.focus()
    for key in keys:
        view.page.keyboard.press(key)
    return slider


def weights(view: Locator, name: str) -> Locator:
    return view.locator(f"[data-matrix={name}]")


def picture(view: Locator, name: str) -> str:
    return weights(view, name).locator("canvas").evaluate("canvas => canvas.toDataURL()")


def gauges(view: Locator) -> list[str]:
    """Entropy and slope, unscaled, then scaled."""
    return view.locator(".att-gauge-number").all_inner_texts()


def test_both_sides_are_the_same_at_width_one(explorer):
    slide(explorer, "Home")
    expect(explorer.locator(".att-summary")).to_contain_text(START)
    assert gauges(explorer) == ["1.98 of at most 2.30", "0.81 of at most 0.90"] * 2
    assert picture(explorer, "raw_weights") == picture(explorer, "scaled_weights")


def test_the_slider_saturates_one_side_only(explorer):
    slider = slide(explorer, "Home", *["ArrowRight"] * 11)
    expect(slider).to_have_attribute("aria-valuetext", "d_k = 64, √d_k = 8")
    expect(explorer.locator("[aria-live]")).to_have_text(
        "d_k = 64, √d_k = 8. Entropy 0.38 not scaled, 1.96 scaled; slope 0.21 not scaled, 0.81 scaled."
    )
    expect(explorer.locator(".att-summary")).to_contain_text("entropy 0.38 unscaled, 1.96 scaled; slope 0.21 and 0.81")
    assert gauges(explorer)[:2] == ["0.38 of at most 2.30", "0.21 of at most 0.90"]
    assert picture(explorer, "raw_weights") != picture(explorer, "scaled_weights")


def test_arrow_keys_tell_the_way_of_one_score_on_both_sides(explorer):
    slide(explorer, "End")
    weights(explorer, "raw_weights").focus()
    for key in ("Control+Home", "ArrowDown", "ArrowRight"):
        explorer.page.keyboard.press(key)
    where, unscaled, scaled = (
        explorer.locator(".att-sum").locator(part) for part in ("span", "code >> nth=0", "code >> nth=1")
    )
    expect(where).to_have_text("query 1, key 1.")
    expect(unscaled).to_have_text(re.compile(r"^Not scaled: score .+, weight .+, slope .+\.$"))
    expect(scaled).to_contain_text("÷ 22.6 ≈")
    expect(explorer.locator("[aria-live]")).to_contain_text("query 1, key 1. Not scaled: score")
    assert weights(explorer, "raw_weights").evaluate("element => element === document.activeElement")


def test_everything_can_be_read_as_tables(explorer, axe, shot):
    slide(explorer, "Home", *["ArrowRight"] * 11)
    explorer.get_by_role("button", name="Show as table").focus()
    explorer.page.keyboard.press("Enter")
    means = explorer.get_by_role("table", name="Means at every width")
    expect(means.get_by_role("row", name=re.compile("^d_k = 64 "))).to_contain_text("0.38")
    expect(explorer.get_by_role("table")).to_have_count(5)
    shot(explorer, "scaling-table")
    assert axe(".att-view") == []
    explorer.page.keyboard.press("Enter")
    expect(means).to_be_hidden()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_is_drawn_and_accessible_in_both_themes(explorer, notebook, axe, shot, theme):
    slide(explorer, "Home", *["ArrowRight"] * 11)
    canvas = weights(explorer, "raw").locator("canvas").element_handle()
    legible = "canvas => canvas.clientWidth > 150"  # while it changes its theme, JupyterLab hides everything
    notebook.theme("dark" if theme == "light" else "light")
    explorer.page.wait_for_function(legible, arg=canvas)
    before = picture(explorer, "raw")
    notebook.theme(theme)
    redrawn = "([canvas, before]) => canvas.clientWidth > 150 && canvas.toDataURL() !== before"
    explorer.page.wait_for_function(redrawn, arg=[canvas, before])
    shot(explorer, f"scaling-{theme}")
    assert axe(".att-view") == []
    assert explorer.page.refused == []
