"""The position explorer in lesson 06, operated by keyboard."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.lab import Lab, Notebook

NAME = "06_embeddings_and_positions.ipynb"
START = "Position explorer, sinusoidal, 32 positions, width 24, base 10000: from position 0 the product with the same"
SAME = "at equal offsets, products differ by at most 0.00."


@pytest.fixture(scope="module")
def notebook(page: Page, lab: Lab) -> Notebook:
    opened = Notebook(page, lab, NAME)
    opened.theme("light")
    return opened


@pytest.fixture(scope="module")
def explorer(notebook: Notebook) -> Locator:
    cell = notebook.cell("PositionExplorer()")
    cell.scroll_into_view_if_needed()
    expect(cell.locator(".jp-OutputArea-output")).to_contain_text(START)  # before anything is run
    notebook.run_cell("PositionExplorer()")
    view = cell.locator(".att-view")
    view.wait_for()
    view.scroll_into_view_if_needed()
    return view


def choose(view: Locator, group: str, name: str) -> None:
    """A button of a group, by keyboard."""
    button = view.get_by_role("group", name=group, exact=True).get_by_role("button", name=name, exact=True)
    button.focus()
    view.page.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-pressed", "true")


def press(view: Locator, *keys: str) -> None:
    view.get_by_role("application").focus()
    for key in keys:
        view.page.keyboard.press(key)


def line(view: Locator) -> str:
    """The strong curve of products, as an SVG path."""
    return view.locator("[data-plot=products] .att-strong").get_attribute("d") or ""


def heights(path: str) -> list[str]:
    """Of the points of a path, from left to right."""
    return re.findall(r" ([\d.]+)", path)


def test_arrow_keys_tell_where_a_number_comes_from(explorer):
    press(explorer, "Control+Home", "ArrowDown", "ArrowDown", "ArrowDown", *["ArrowRight"] * 5)
    told = "Position 3, column 5: 0.798, cos(3 ÷ 10000^(4/24))"
    expect(explorer.locator(".att-sum")).to_contain_text(told)
    expect(explorer.locator("[aria-live]")).to_contain_text(told)
    expect(explorer.locator("[aria-live]")).to_contain_text("with position 3 12, with position 4 11.4, with")
    expect(explorer.get_by_role("application")).to_be_focused()


def test_the_curve_of_products_is_the_same_at_every_position(explorer):
    press(explorer, "Control+Home")
    expect(explorer.locator("[data-plot=products]")).to_contain_text("Products of position 0")
    first = heights(line(explorer))
    press(explorer, "ArrowDown")
    expect(explorer.locator("[data-plot=products]")).to_contain_text("Products of position 1")
    assert heights(line(explorer))[1:] == first[:-1]
    choose(explorer, "Positions", "random table")
    expect(explorer.locator(".att-summary")).to_contain_text("random table")
    expect(explorer.locator(".att-summary")).not_to_contain_text(SAME)
    expect(explorer.get_by_role("slider")).to_be_disabled()
    choose(explorer, "Positions", "rotary")
    expect(explorer.locator(".att-summary")).to_contain_text(SAME)
    expect(explorer.locator(".att-sum")).to_contain_text("pair 0 of the key, turned by 1 ÷ 10000^(0/24) radians")
    expect(explorer.locator(".att-sum")).to_contain_text("Query at position 1 times key")
    choose(explorer, "Positions", "sinusoidal")


def test_width_and_base_change_picture_and_summary(explorer):
    press(explorer, "Control+End")
    choose(explorer, "Width", "8")
    expect(explorer.locator(".att-sum")).to_contain_text("Position 31, column 7")
    explorer.get_by_role("slider").focus()
    explorer.page.keyboard.press("Home")
    expect(explorer.get_by_role("slider")).to_have_attribute("aria-valuetext", "base 10")
    expect(explorer.locator(".att-summary")).to_contain_text("width 8, base 10: from position 0")
    expect(explorer.locator("[aria-live]")).to_contain_text("width 8, base 10: from position 0")
    choose(explorer, "Width", "24")


def test_everything_can_be_read_as_tables(explorer, shot):
    choose(explorer, "Width", "8")
    switch = explorer.get_by_role("button", name="Show as table")
    switch.focus()
    explorer.page.keyboard.press("Enter")
    products = explorer.get_by_role("table", name="Products", exact=True)
    expect(products.get_by_role("row", name=re.compile("^5 ")).get_by_role("cell").nth(5)).to_have_text("4")
    shot(explorer, "positions-table")
    explorer.page.keyboard.press("Enter")
    expect(products).to_be_hidden()
    choose(explorer, "Width", "24")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["sinusoidal", "random table"])
def test_it_is_accessible_and_redrawn_in_both_themes(explorer, notebook, axe, shot, theme, kind):
    notebook.theme(theme)
    choose(explorer, "Positions", kind)
    expect(explorer.locator(".att-summary")).to_contain_text(kind)
    canvas = explorer.locator("canvas").element_handle()
    explorer.page.wait_for_function("canvas => canvas.clientWidth > 150", arg=canvas)
    shot(explorer, f"positions-{kind.split()[0]}-{theme}")
    assert axe(".att-view") == []
