"""The mask painter in lesson 04: by keyboard, and drawn on with the pointer."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.lab import Lab, Notebook

NAME = "04_masking.ipynb"
START = 'Mask painter, 5 tokens, 2 padding at the end, mask "causal": 15 of 25 visible. Every query sees something'


@pytest.fixture(scope="module")
def notebook(page: Page, lab: Lab) -> Notebook:
    opened = Notebook(page, lab, NAME)
    opened.theme("light")
    return opened


@pytest.fixture(scope="module")
def painter(notebook: Notebook) -> Locator:
    cell = notebook.cell("MaskPainter(painted_scores")
    cell.scroll_into_view_if_needed()
    expect(cell.locator(".jp-OutputArea-output")).to_contain_text(START)  # before anything is run
    notebook.run_cell("import matplotlib.pyplot")
    notebook.run_cell("MaskPainter(painted_scores")
    view = cell.locator(".att-view")
    view.wait_for()
    view.scroll_into_view_if_needed()
    return view


def choose(view: Locator, group: str, name: str) -> None:
    """A button of a group, by keyboard."""
    button = view.get_by_role("group", name=group).get_by_role("button", name=name)
    button.focus()
    view.page.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-pressed", "true")


def press(view: Locator, *keys: str) -> None:
    view.get_by_role("application").focus()
    for key in keys:
        view.page.keyboard.press(key)


def story(view: Locator) -> Locator:
    return view.locator(".att-sum")


def summary(view: Locator) -> Locator:
    return view.locator(".att-summary")


def picture(view: Locator, place: int) -> str:
    return view.locator("canvas").nth(place).evaluate("canvas => canvas.toDataURL()")


def test_arrow_keys_tell_what_a_cell_does(painter):
    press(painter, "Control+Home", "ArrowDown", "ArrowRight")
    expect(story(painter)).to_contain_text("query 1 (cat), key 1 (cat): visible")
    expect(story(painter).locator("code")).to_have_text(
        re.compile(r"^exp\(.*\) / \(exp\(.*\) \+ exp\(.*\)\) ≈ 0\.\d+$")
    )
    press(painter, "ArrowRight")
    expect(story(painter).locator("code")).to_have_text("exp(−∞) = 0: hidden, and leaves no trace")
    expect(painter.locator("[aria-live]")).to_contain_text("query 1 (cat), key 2 (sat): hidden; weights of query 1: ")


def test_space_empties_a_row_and_every_way_makes_something_else_of_it(painter, shot):
    press(painter, "Control+Home", "Space")
    expect(summary(painter)).to_contain_text('mask "free hand": 14 of 25 visible. Query 0 sees nothing; fill with -inf')
    expect(painter.locator("[aria-live]")).to_contain_text("weights of query 0: NaN, NaN, NaN, NaN, NaN")
    heard = {
        "subtract 1e10": "0.2, 0.2, 0.2, 0.2, 0.2",
        "fill with -1e20": "0.2, 0.2, 0.2, 0.2, 0.2",
        "masked_softmax": "0, 0, 0, 0, 0",
        "fill with -inf": "NaN, NaN, NaN, NaN, NaN",
    }
    for way, weights in heard.items():
        choose(painter, "Way of hiding", way)
        expect(summary(painter)).to_contain_text(f"sees nothing; {way}")
        expect(painter.locator("[aria-live]")).to_contain_text(f"weights of query 0: {weights}.")
        shot(painter, f"mask-painter-{way.replace(' ', '-')}")
    press(painter, "Enter")
    expect(summary(painter)).to_contain_text("15 of 25 visible. Every query sees something")


def test_presets_and_padding_in_front(painter):
    choose(painter, "Mask", "both")
    expect(summary(painter)).to_contain_text("12 of 25 visible. Every query sees something")
    choose(painter, "Padding", "in front")
    expect(summary(painter)).to_contain_text("6 of 25 visible. Queries 0, 1 see nothing; fill with -inf: NaN.")
    choose(painter, "Mask", "padding")
    expect(summary(painter)).to_contain_text("15 of 25 visible")
    choose(painter, "Mask", "all visible")
    expect(summary(painter)).to_contain_text("25 of 25 visible")
    choose(painter, "Padding", "at the end")


def test_the_pointer_draws(painter):
    choose(painter, "Mask", "all visible")
    expect(summary(painter)).to_contain_text("25 of 25")
    painter.scroll_into_view_if_needed()
    box = painter.locator("canvas").first.bounding_box()
    cell = (box["height"] - 22) / 5
    x, y = box["x"] + box["width"] - 2 - cell / 2, box["y"] + 20 + cell / 2  # query 0, key 4
    mouse = painter.page.mouse
    mouse.move(x, y)
    mouse.down()
    for step in range(1, 4):
        mouse.move(x - step * cell, y)
    mouse.up()
    mouse.move(x - 4 * cell, y)  # the pointer is up: nothing is drawn
    expect(summary(painter)).to_contain_text('mask "free hand": 21 of 25 visible')


def test_the_other_convention_shows_the_same_mask(painter, shot):
    choose(painter, "Mask", "both")
    before = picture(painter, 0), picture(painter, 2)
    choose(painter, "True means", "hide")
    expect(painter.locator("[aria-live]")).to_contain_text("True now means hide. What is visible stays the same.")
    expect(painter.get_by_role("application")).to_have_attribute("aria-label", re.compile("^Mask, True = hide"))
    assert picture(painter, 0) != before[0]
    assert picture(painter, 2) == before[1]
    painter.get_by_role("button", name="Show as table").click()
    table = painter.get_by_role("table", name="Mask, True = hide")
    expect(table.get_by_role("row").nth(1).get_by_role("cell")).to_have_text(["0", "1", "1", "1", "1"])
    expect(painter.get_by_role("table", name="Weights").get_by_role("row").nth(1)).to_contain_text("10000")
    shot(painter, "mask-painter-table")
    painter.get_by_role("button", name="Show as table").click()
    choose(painter, "True means", "may attend")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_is_accessible_and_redrawn_in_both_themes(painter, notebook, axe, shot, theme):
    choose(painter, "Mask", "both")
    choose(painter, "Padding", "in front")
    before = picture(painter, 1)
    dark = notebook.page.evaluate("document.body.dataset.jpThemeLight") == "false"
    notebook.theme(theme)
    canvas = painter.locator("canvas").nth(1).element_handle()
    painter.page.wait_for_function(
        "([canvas, old]) => canvas.clientWidth > 150 && (!old || canvas.toDataURL() !== old)",
        arg=[canvas, before if dark != (theme == "dark") else None],
    )
    press(painter, "Control+Home")
    shot(painter, f"mask-painter-{theme}")
    assert axe(".att-view") == []
