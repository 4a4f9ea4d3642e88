"""The online softmax in lesson 09, operated by keyboard alone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tools.lab import Excerpt, application, go, picture, press

EXCERPT = Excerpt(
    "09_efficient_attention",
    view="OnlineSoftmax(few_queries",
    start="Online softmax, 3 queries, 8 keys, block 1 of 4 (keys 0 to 1), with rescaling: the output so far is up to",
    before=("import warnings",),
)


def rescale(view: Locator, wanted: bool) -> None:
    switch = view.get_by_role("checkbox", name="Rescale")
    if switch.is_checked() != wanted:
        press(switch, "Space")
    expect(switch).to_be_checked(checked=wanted)


def canvas_of(view: Locator, name: str) -> Locator:
    return view.locator(f"[data-matrix={name}] canvas")


def lines(view: Locator) -> Locator:
    return view.locator(".att-sum code")


def test_the_last_block_brings_the_final_output(view):
    rescale(view, True)
    go(view, "keys 0 and 1")
    press(view.get_by_role("button", name="Next"), "Enter", "Enter", "Enter")
    expect(view.get_by_role("button", name="Next")).to_be_disabled()
    expect(view.locator(".att-summary")).to_contain_text("block 4 of 4 (keys 6 to 7), with rescaling")
    expect(lines(view).last).to_have_text("Output so far: equal to the final one.")
    expect(view.locator("[aria-live]")).to_contain_text("Block 4 of 4, keys 6 and 7. query 0.")


def test_without_rescaling_it_goes_wrong_and_says_what_was_needed(view):
    go(view, "keys 6 and 7")
    right = picture(canvas_of(view, "output"))
    rescale(view, False)
    expect(view.locator(".att-summary")).to_contain_text("without rescaling: the output so far is up to")
    expect(lines(view).last).to_contain_text("away from the final one")
    view.page.wait_for_function(
        "([canvas, before]) => canvas.toDataURL() !== before",
        arg=[canvas_of(view, "output").element_handle(), right],
    )
    go(view, "keys 2 and 3")  # where the maximum of query 0 rises
    expect(lines(view).nth(1)).to_contain_text("is needed")
    rescale(view, True)


def test_a_block_is_read_at_once(view, at_once):
    go(view, "keys 0 and 1")
    at_once(view.get_by_role("button", name="keys 2 and 3"), "Enter", canvas_of(view, "output"))


def test_arrow_keys_choose_a_query_and_tell_its_arithmetic(view):
    go(view, "keys 2 and 3")
    press(application(view), "Control+Home", "ArrowDown", "ArrowDown")
    expect(view.locator(".att-place")).to_have_text("query 2.")
    expect(lines(view).first).to_contain_text("maximum: max(")
    expect(view.locator("[aria-live]")).to_contain_text("query 2. maximum: max(")
    expect(application(view)).to_be_focused()
    expect(view.locator(".att-memory")).to_have_text(
        "In memory: scores of the block 3 · 2 = 6. Carried over: maxima 3, sums 3, outputs 3 · 2 = 6. "
        "The whole matrix: 3 · 8 = 24."
    )


def test_everything_can_be_read_as_tables(view, axe, shot):
    go(view, "keys 2 and 3")
    press(view.get_by_role("button", name="Show as table"), "Enter")
    block = view.get_by_role("table", name="scores of the block")
    expect(block.get_by_role("columnheader")).to_have_text(["key 2", "key 3"])
    expect(view.get_by_role("table")).to_have_count(6)
    shot(view, "online-table")
    assert axe(".att-view") == []
    view.page.keyboard.press("Enter")
    expect(block).to_be_hidden()


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_it_is_drawn_and_accessible_in_both_themes(view, notebook, axe, shot, theme):
    go(view, "keys 2 and 3")
    notebook.theme(theme, canvas_of(view, "scores"))
    shot(view, f"online-{theme}")
    assert axe(".att-view") == []
    assert view.page.refused == []
