"""The head explorer in lesson 10: from head to head and from cell to cell by keyboard."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.lab import Lab, Notebook

NAME = "10_reading_attention.ipynb"
START = "Head explorer, encoder, layer 0 of 2, head 0 of 4, 13 by 13: most like"
# What the view needs: imports, the given classes, the model, its weights for one date.
CELLS = (
    "import matplotlib.pyplot",
    "def split_heads",
    "def padding_mask",
    "class FeedForward",
    "class Encoder(",
    "class Transformer(",
    "trained = trained_dates()",
    "def ids_of",
    "def look_inside",
    "HeadExplorer({",
)


@pytest.fixture(scope="module")
def notebook(page: Page, lab: Lab) -> Notebook:
    opened = Notebook(page, lab, NAME)
    opened.theme("light")
    return opened


@pytest.fixture(scope="module")
def explorer(notebook: Notebook) -> Locator:
    cell = notebook.cell("HeadExplorer({")
    cell.scroll_into_view_if_needed()
    expect(cell.locator(".jp-OutputArea-output")).to_contain_text(START)  # before anything is run
    for source in CELLS:
        notebook.run_cell(source)
    view = cell.locator(".att-view")
    view.wait_for()
    view.scroll_into_view_if_needed()
    return view


def choose(view: Locator, kind: str) -> None:
    button = view.get_by_role("group", name="Attention").get_by_role("button", name=kind)
    button.focus()
    view.page.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-pressed", "true")


def press_among_heads(view: Locator, *keys: str) -> None:
    view.locator(".att-head[aria-pressed=true]").focus()
    for key in keys:
        view.page.keyboard.press(key)


def press_in_table(view: Locator, *keys: str) -> None:
    view.get_by_role("application").focus()
    for key in keys:
        view.page.keyboard.press(key)


def summary(view: Locator) -> Locator:
    return view.locator(".att-summary")


def large(view: Locator) -> str:
    return view.get_by_role("application").locator("canvas").evaluate("canvas => canvas.toDataURL()")


def test_arrow_keys_go_from_head_to_head(explorer):
    expect(summary(explorer)).to_contain_text(START)
    expect(explorer.locator(".att-head")).to_have_count(8)
    before = large(explorer)
    press_among_heads(explorer, "ArrowDown", "ArrowRight", "ArrowRight")
    expect(summary(explorer)).to_contain_text("encoder, layer 1 of 2, head 2 of 4")
    expect(explorer.locator(".att-title")).to_have_text("encoder, layer 1, head 2")
    expect(explorer.locator(".att-head:focus")).to_have_attribute(
        "aria-label", re.compile("^layer 1, head 2: most like")
    )
    expect(explorer.locator("[aria-live]")).to_contain_text("encoder, layer 1, head 2: most like")
    assert large(explorer) != before
    press_among_heads(explorer, "Control+Home", "ArrowUp", "ArrowLeft")
    expect(summary(explorer)).to_contain_text(START)


def test_cells_are_told_with_their_tokens(explorer):
    choose(explorer, "cross")
    expect(summary(explorer)).to_contain_text("cross, layer 0 of 2")
    press_in_table(explorer, "Control+Home", "ArrowDown", "ArrowRight", "ArrowRight")
    told = re.compile(r'query 1 "1" gives 0?\.?\d+.* to key 2 "A"')
    expect(explorer.locator(".att-sum")).to_contain_text(told)
    expect(explorer.locator("[aria-live]")).to_contain_text(told)
    expect(explorer.locator("[aria-live]")).to_contain_text("it gives most to key")


def test_the_decoder_hides_the_future(explorer):
    choose(explorer, "decoder")
    press_in_table(explorer, "Control+Home")
    expect(explorer.locator(".att-sum")).to_contain_text('query 0 "<bos>" gives 1 to key 0 "<bos>"')
    press_in_table(explorer, "End")
    expect(explorer.locator(".att-sum")).to_contain_text('query 0 "<bos>" gives 0 to key 10 "6"')


def test_pointer_and_table_say_the_same(explorer, shot):
    choose(explorer, "encoder")
    explorer.locator(".att-head").nth(5).click()
    expect(summary(explorer)).to_contain_text("encoder, layer 1 of 2, head 1 of 4")
    explorer.get_by_role("button", name="Show as table").click()
    expect(explorer.get_by_role("table", name="encoder, layer 1, head 1").get_by_role("row")).to_have_count(14)
    heads = explorer.get_by_role("table", name="All heads of encoder")
    expect(heads.get_by_role("row").nth(6)).to_contain_text("layer 1, head 1: ")
    shot(explorer, "head-explorer-table")
    explorer.get_by_role("button", name="Show as table").click()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_is_accessible_and_redrawn_in_both_themes(explorer, notebook, axe, shot, theme):
    choose(explorer, "cross")
    before = large(explorer)
    dark = notebook.page.evaluate("document.body.dataset.jpThemeLight") == "false"
    notebook.theme(theme)
    canvas = explorer.get_by_role("application").locator("canvas").element_handle()
    explorer.page.wait_for_function(
        "([canvas, old]) => canvas.clientWidth > 150 && (!old || canvas.toDataURL() !== old)",
        arg=[canvas, before if dark != (theme == "dark") else None],
    )
    press_among_heads(explorer, "End")
    expect(summary(explorer)).to_contain_text("head 3 of 4")
    shot(explorer, f"head-explorer-{theme}")
    assert axe(".att-view") == []
