"""The online softmax in lesson 09, operated by keyboard alone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.lab import Lab, Notebook

NAME = "09_efficient_attention.ipynb"
START = "Online softmax, 3 queries, 8 keys, block 1 of 4 (keys 0 to 1), with rescaling: the output so far is up to 2.02"


@pytest.fixture(scope="module")
def notebook(page: Page, lab: Lab) -> Notebook:
    opened = Notebook(page, lab, NAME)
    opened.theme("light")
    return opened


@pytest.fixture(scope="module")
def view(notebook: Notebook) -> Locator:
    cell = notebook.cell("OnlineSoftmax(few_queries")
    cell.scroll_into_view_if_needed()
    expect(cell.locator(".jp-OutputArea-output")).to_contain_text(START)  # before anything is run
    notebook.run_cell("import weakref")
    notebook.run_cell("OnlineSoftmax(few_queries")
    found = cell.locator(".att-view")
    found.wait_for()
    found.scroll_into_view_if_needed()
    return found


def press(view: Locator, *keys: str) -> None:
    for key in keys:
        view.page.keyboard.press(key)


def go(view: Locator, keys: str) -> None:
    """To a block, by its button and the keyboard."""
    view.get_by_role("button", name=keys).focus()
    press(view, "Enter")
    expect(view.get_by_role("button", name=keys)).to_have_attribute("aria-current", "step")


def rescale(view: Locator, wanted: bool) -> None:
    switch = view.get_by_role("checkbox", name="Rescaling")
    if switch.is_checked() != wanted:
        switch.focus()
        press(view, "Space")
    expect(switch).to_be_checked(checked=wanted)


def picture(view: Locator, name: str) -> str:
    return view.locator(f"[data-matrix={name}] canvas").evaluate("canvas => canvas.toDataURL()")


def lines(view: Locator) -> Locator:
    return view.locator(".att-sum code")


def test_the_last_block_brings_the_final_output(view):
    rescale(view, True)
    go(view, "keys 0 and 1")
    view.get_by_role("button", name="Next").focus()
    press(view, "Enter", "Enter", "Enter")
    expect(view.get_by_role("button", name="Next")).to_be_disabled()
    expect(view.locator(".att-summary")).to_contain_text("block 4 of 4 (keys 6 to 7), with rescaling")
    expect(lines(view).last).to_have_text("Output so far: equal to the final one.")
    expect(view.locator("[aria-live]")).to_contain_text("Block 4 of 4, keys 6 and 7. query 0.")


def test_without_rescaling_it_goes_wrong_and_says_what_was_needed(view):
    go(view, "keys 6 and 7")
    right = picture(view, "output")
    rescale(view, False)
    expect(view.locator(".att-summary")).to_contain_text("without rescaling: the output so far is up to")
    expect(lines(view).last).to_contain_text("away from the final one")
    view.page.wait_for_function(
        "([canvas, before]) => canvas.toDataURL() !== before",
        arg=[view.locator("[data-matrix=output] canvas").element_handle(), right],
    )
    go(view, "keys 2 and 3")  # where the maximum of query 0 rises
    expect(lines(view).nth(1)).to_contain_text("is needed")
    rescale(view, True)


def test_arrow_keys_choose_a_query_and_tell_its_arithmetic(view):
    go(view, "keys 2 and 3")
    view.get_by_role("application").focus()
    press(view, "Control+Home", "ArrowDown", "ArrowDown")
    expect(view.locator(".att-place")).to_have_text("query 2.")
    expect(lines(view).first).to_contain_text("maximum: max(")
    expect(view.locator("[aria-live]")).to_contain_text("query 2. maximum: max(")
    assert view.get_by_role("application").evaluate("element => element === document.activeElement")
    expect(view.locator(".att-memory")).to_have_text(
        "In memory: scores of the block 3 · 2 = 6; carried on: maxima 3, sums 3, outputs 3 · 2 = 6. "
        "The whole table: 3 · 8 = 24."
    )


def test_everything_can_be_read_as_tables(view, axe, shot):
    go(view, "keys 2 and 3")
    view.get_by_role("button", name="Show as table").focus()
    press(view, "Enter")
    block = view.get_by_role("table", name="scores of the block")
    expect(block.get_by_role("columnheader")).to_have_text(["key 2", "key 3"])
    expect(view.get_by_role("table")).to_have_count(6)
    shot(view, "online-table")
    assert axe(".att-view") == []
    press(view, "Enter")
    expect(block).to_be_hidden()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_is_drawn_and_accessible_in_both_themes(view, notebook, axe, shot, theme):
    go(view, "keys 2 and 3")
    notebook.theme("dark" if theme == "light" else "light")
    canvas = view.locator("[data-matrix=scores] canvas").element_handle()
    view.page.wait_for_function("canvas => canvas.clientWidth > 150", arg=canvas)
    before = picture(view, "scores")
    notebook.theme(theme)
    redrawn = "([canvas, before]) => canvas.clientWidth > 150 && canvas.toDataURL() !== before"
    view.page.wait_for_function(redrawn, arg=[canvas, before])
    shot(view, f"online-{theme}")
    assert axe(".att-view") == []
    assert view.page.refused == []
