"""The norm explorer in lesson 05, operated by keyboard."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.lab import Lab, Notebook

NAME = "05_normalization.ipynb"
START = (
    "Norm explorer, 4 by 5, LayerNorm: mean of each row 3.00, 6.60, 1.00, 1.00, variance 2.00, 2.64, 1.20, 4.00; 0 of"
)


@pytest.fixture(scope="module")
def notebook(page: Page, lab: Lab) -> Notebook:
    opened = Notebook(page, lab, NAME)
    opened.theme("light")
    return opened


@pytest.fixture(scope="module")
def explorer(notebook: Notebook) -> Locator:
    cell = notebook.cell("small_table = ")
    cell.scroll_into_view_if_needed()
    expect(cell.locator(".jp-OutputArea-output")).to_contain_text(START)  # before anything is run
    notebook.run_cell("import torch.nn.functional")
    notebook.run_cell("small_table = ")
    view = cell.locator(".att-view")
    view.wait_for()
    view.scroll_into_view_if_needed()
    return view


def choose(view: Locator, group: str, name: str) -> None:
    """A button of a group, by keyboard."""
    button = view.get_by_role("group", name=group, exact=True).get_by_role("button", name=name)
    button.focus()
    view.page.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-pressed", "true")


def press(view: Locator, *keys: str) -> None:
    view.get_by_role("application").focus()
    for key in keys:
        view.page.keyboard.press(key)


def story(view: Locator) -> Locator:
    return view.locator(".att-sum")


def picture(view: Locator, place: int) -> str:
    return view.locator("canvas").nth(place).evaluate("canvas => canvas.toDataURL()")


def test_arrow_keys_show_the_group_of_a_number_and_say_it(explorer):
    press(explorer, "Control+Home", "ArrowRight", "ArrowRight")
    expect(story(explorer)).to_contain_text("row 0, column 2; its row: mean 3, var 2")
    expect(story(explorer).locator("code")).to_have_text("(4 − 3) / √(2 + 0.00001) ≈ 0.707")
    expect(explorer.locator("[aria-live]")).to_contain_text("4 in row 0, column 2; its row: mean 3, var 2; (4 − 3)")
    choose(explorer, "Norm", "BatchNorm")
    expect(story(explorer)).to_contain_text("its column: mean 3.25")
    choose(explorer, "Norm", "RMSNorm")
    expect(story(explorer).locator("code")).to_have_text("4 / √(11 + 0.000001) ≈ 1.21")
    choose(explorer, "Norm", "LayerNorm")


def test_a_typed_number_moves_its_row_then_its_column(explorer, shot):
    press(explorer, "Control+Home", "ArrowRight", "ArrowRight", "2", "0", "Enter")
    expect(explorer.get_by_role("application")).to_be_focused()
    expect(story(explorer)).to_contain_text("5 outputs moved, in row 0")
    expect(explorer.locator(".att-summary")).to_contain_text("mean of each row 6.20, 6.60")
    shot(explorer, "norm-explorer-edited")
    choose(explorer, "Norm", "BatchNorm")
    expect(story(explorer)).to_contain_text("4 outputs moved, in column 2")
    expect(explorer.locator("[aria-live]")).to_contain_text("4 outputs moved, in column 2")
    choose(explorer, "Norm", "LayerNorm")


def test_page_keys_add_one_and_escape_takes_back(explorer):
    choose(explorer, "Table", "start")
    press(explorer, "Control+Home", "PageUp", "PageUp", "PageDown")
    field = explorer.get_by_role("textbox", name="Number in row 0, column 0:")
    expect(field).to_have_value("3")
    press(explorer, "-", "7")
    expect(explorer.locator(".att-summary")).to_contain_text("mean of each row 1.20")
    explorer.page.keyboard.press("Escape")
    expect(field).to_have_value("3")
    expect(explorer.locator(".att-summary")).to_contain_text("mean of each row 3.20")
    expect(explorer.get_by_role("application")).to_be_focused()


def test_what_is_no_number_is_refused(explorer):
    press(explorer, "Control+Home", "Enter")
    field = explorer.get_by_role("textbox")
    expect(field).to_be_focused()
    explorer.page.keyboard.type("x")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(explorer).to_contain_text("A number from −99999 to 99999, please.")
    explorer.page.keyboard.press("Enter")
    expect(field).to_have_value("3")
    expect(field).to_have_attribute("aria-invalid", "false")


def test_presets_tell_the_norms_apart(explorer):
    choose(explorer, "Table", "common offset 1000")
    expect(story(explorer)).to_contain_text("No output moved")
    choose(explorer, "Norm", "RMSNorm")
    expect(story(explorer)).to_contain_text("20 outputs moved")
    choose(explorer, "Norm", "LayerNorm")
    choose(explorer, "Table", "constant row")
    expect(explorer.locator(".att-summary")).to_contain_text("variance 2.00, 0.00, 1.20, 4.00")
    expect(story(explorer)).to_contain_text("5 outputs moved, in row 1")


def test_everything_can_be_read_as_tables(explorer, shot):
    choose(explorer, "Table", "start")
    switch = explorer.get_by_role("button", name="Show as table")
    switch.focus()
    explorer.page.keyboard.press("Enter")
    table = explorer.get_by_role("table", name="Table", exact=True)
    heads = ["col 0", "col 1", "col 2", "col 3", "col 4", "mean", "var"]
    expect(table.get_by_role("columnheader")).to_have_text(heads)
    expect(table.get_by_role("row", name=re.compile("^row 3")).get_by_role("cell").last).to_have_text("4")
    shot(explorer, "norm-explorer-table")
    explorer.page.keyboard.press("Enter")
    expect(table).to_be_hidden()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("norm", ["BatchNorm", "LayerNorm"])
def test_it_is_accessible_and_redrawn_in_both_themes(explorer, notebook, axe, shot, theme, norm):
    choose(explorer, "Norm", norm)
    before = picture(explorer, 0)
    dark = notebook.page.evaluate("document.body.dataset.jpThemeLight") == "false"
    notebook.theme(theme)
    canvas = explorer.locator("canvas").first.element_handle()
    explorer.page.wait_for_function(
        "([canvas, old]) => canvas.clientWidth > 150 && (!old || canvas.toDataURL() !== old)",
        arg=[canvas, before if dark != (theme == "dark") else None],
    )
    press(explorer, "Control+Home", "ArrowDown", "ArrowRight", "2", "0", "Enter")
    expect(story(explorer)).to_contain_text("in column 1" if norm == "BatchNorm" else "in row 1")
    shot(explorer, f"norm-explorer-{norm.lower()}-{theme}")
    assert axe(".att-view") == []
    choose(explorer, "Table", "start")
