"""The norm explorer in lesson 05, operated by keyboard."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tools.lab import Excerpt, application, choose, press

EXCERPT = Excerpt(
    "05_normalization",
    view="small_table = ",
    start="Norm explorer, 4 by 5, LayerNorm: mean of each row 3.00, 6.60, 1.00, 1.00, variance 2.00, 2.64, 1.20, 4.00",
    before=("import torch.nn.functional",),
)


def story(view: Locator) -> Locator:
    return view.locator(".att-sum")


def test_arrow_keys_show_the_group_of_a_number_and_say_it(view):
    press(application(view), "Control+Home", "ArrowRight", "ArrowRight")
    expect(story(view)).to_contain_text("row 0, column 2; its row: mean 3, var 2")
    expect(story(view).locator("code")).to_have_text("(4 − 3) / √(2 + 0.00001) ≈ 0.707")
    expect(view.locator("[aria-live]")).to_contain_text("4 in row 0, column 2; its row: mean 3, var 2; (4 − 3)")
    choose(view, "Norm", "BatchNorm")
    expect(story(view)).to_contain_text("its column: mean 3.25")
    choose(view, "Norm", "RMSNorm")
    expect(story(view).locator("code")).to_have_text("4 / √(11 + 0.000001) ≈ 1.21")
    choose(view, "Norm", "LayerNorm")


def test_a_typed_number_moves_its_row_then_its_column(view, shot):
    press(application(view), "Control+Home", "ArrowRight", "ArrowRight", "2", "0", "Enter")
    expect(application(view)).to_be_focused()
    expect(story(view)).to_contain_text("5 outputs moved, in row 0")
    expect(view.locator(".att-summary")).to_contain_text("mean of each row 6.20, 6.60")
    shot(view, "norm-explorer-edited")
    choose(view, "Norm", "BatchNorm")
    expect(story(view)).to_contain_text("4 outputs moved, in column 2")
    expect(view.locator("[aria-live]")).to_contain_text("4 outputs moved, in column 2")
    choose(view, "Norm", "LayerNorm")


def test_a_number_is_changed_at_once(view, at_once):
    choose(view, "Table", "start")
    press(application(view), "Control+Home")
    at_once(application(view), "PageUp", view.locator("canvas").last)


def test_page_keys_add_one_and_escape_takes_back(view):
    choose(view, "Table", "start")
    press(application(view), "Control+Home", "PageUp", "PageUp", "PageDown")
    field = view.get_by_role("textbox", name="Number in row 0, column 0:")
    expect(field).to_have_value("3")
    press(application(view), "-", "7")
    expect(view.locator(".att-summary")).to_contain_text("mean of each row 1.20")
    view.page.keyboard.press("Escape")
    expect(field).to_have_value("3")
    expect(view.locator(".att-summary")).to_contain_text("mean of each row 3.20")
    expect(application(view)).to_be_focused()


def test_what_is_no_number_is_refused(view):
    press(application(view), "Control+Home", "Enter")
    field = view.get_by_role("textbox")
    expect(field).to_be_focused()
    view.page.keyboard.type("x")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(view).to_contain_text("A number from −99999 to 99999, please.")
    view.page.keyboard.press("Enter")
    expect(field).to_have_value("3")
    expect(field).to_have_attribute("aria-invalid", "false")


def test_presets_tell_the_norms_apart(view):
    choose(view, "Table", "common offset 1000")
    expect(story(view)).to_contain_text("No output moved")
    choose(view, "Norm", "RMSNorm")
    expect(story(view)).to_contain_text("20 outputs moved")
    choose(view, "Norm", "LayerNorm")
    choose(view, "Table", "constant row")
    expect(view.locator(".att-summary")).to_contain_text("variance 2.00, 0.00, 1.20, 4.00")
    expect(story(view)).to_contain_text("5 outputs moved, in row 1")


def test_everything_can_be_read_as_tables(view, shot):
    choose(view, "Table", "start")
    press(view.get_by_role("button", name="Show as table"), "Enter")
    table = view.get_by_role("table", name="Table", exact=True)
    heads = ["col 0", "col 1", "col 2", "col 3", "col 4", "mean", "var"]
    expect(table.get_by_role("columnheader")).to_have_text(heads)
    expect(table.get_by_role("row", name=re.compile("^row 3")).get_by_role("cell").last).to_have_text("4")
    shot(view, "norm-explorer-table")
    view.page.keyboard.press("Enter")
    expect(table).to_be_hidden()


@pytest.mark.parametrize("norm", ["BatchNorm", "LayerNorm"])
@pytest.mark.parametrize("theme", ["dark", "light"])
def test_it_is_accessible_and_redrawn_in_both_themes(view, notebook, axe, shot, theme, norm):
    choose(view, "Norm", norm)
    notebook.theme(theme, view.locator("canvas").first)
    press(application(view), "Control+Home", "ArrowDown", "ArrowRight", "2", "0", "Enter")
    expect(story(view)).to_contain_text("in column 1" if norm == "BatchNorm" else "in row 1")
    shot(view, f"norm-explorer-{norm.lower()}-{theme}")
    assert axe(".att-view") == []
    choose(view, "Table", "start")
