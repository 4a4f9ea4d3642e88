"""The head explorer in lesson 10: from head to head and from cell to cell by keyboard."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tools.lab import Excerpt, application, choose, picture, press

START = "Head explorer, encoder, layer 0 of 2, head 0 of 4, 13 by 13: most like"
# What the view needs: imports, the given classes, the model, its weights for one date.
BEFORE = (
    "import matplotlib.pyplot",
    "def split_heads",
    "def padding_mask",
    "class FeedForward",
    "class Encoder(",
    "class Transformer(",
    "trained = trained_dates()",
    "def ids_of",
    "def attentions_of",
    "def outputs_of",
    "def look_inside",
    "text, answer = date",
)
EXCERPT = Excerpt("10_reading_attention", view="HeadExplorer({", start=START, before=BEFORE)


def chosen(view: Locator) -> Locator:
    """The small table of the head that is shown large."""
    return view.locator(".att-head[aria-pressed=true]")


def large(view: Locator) -> Locator:
    return application(view).locator("canvas")


def summary(view: Locator) -> Locator:
    return view.locator(".att-summary")


def test_arrow_keys_go_from_head_to_head(view):
    expect(summary(view)).to_contain_text(START)
    expect(view.locator(".att-head")).to_have_count(8)
    before = picture(large(view))
    press(chosen(view), "ArrowDown", "ArrowRight", "ArrowRight")
    expect(summary(view)).to_contain_text("encoder, layer 1 of 2, head 2 of 4")
    expect(view.locator(".att-title")).to_have_text("encoder, layer 1, head 2")
    expect(view.locator(".att-head:focus")).to_have_attribute(
        "aria-label", re.compile("^layer 1, head 2: .* of the weight; entropy ")
    )
    expect(view.locator("[aria-live]")).to_contain_text("encoder, layer 1, head 2: most like")
    assert picture(large(view)) != before
    assert view.page.sent  # Python gives the sentence
    press(chosen(view), "Control+Home", "ArrowUp", "ArrowLeft")
    expect(summary(view)).to_contain_text(START)


def test_cells_are_told_with_their_tokens(view):
    choose(view, "Attention", "cross")
    expect(summary(view)).to_contain_text("cross, layer 0 of 2")
    press(application(view), "Control+Home", "ArrowDown", "ArrowRight", "ArrowRight")
    told = re.compile(r'query 1 "1" gives 0?\.?\d+.* to key 2 "A"')
    expect(view.locator(".att-sum")).to_contain_text(told)
    expect(view.locator("[aria-live]")).to_contain_text(told)
    expect(view.locator("[aria-live]")).to_contain_text("it gives most to key")


def test_the_decoder_hides_the_future(view):
    choose(view, "Attention", "decoder")
    press(application(view), "Control+Home")
    expect(view.locator(".att-sum")).to_contain_text('query 0 "<bos>" gives 1 to key 0 "<bos>"')
    press(application(view), "End")
    expect(view.locator(".att-sum")).to_contain_text('query 0 "<bos>" gives 0 to key 10 "6"')


def test_pointer_and_table_say_the_same(view, shot):
    choose(view, "Attention", "encoder")
    view.locator(".att-head").nth(5).click()
    expect(summary(view)).to_contain_text("encoder, layer 1 of 2, head 1 of 4")
    view.get_by_role("button", name="Show as table").click()
    expect(view.get_by_role("table", name="encoder, layer 1, head 1").get_by_role("row")).to_have_count(14)
    heads = view.get_by_role("table", name="All heads, encoder")
    expect(heads.get_by_role("row").nth(6)).to_contain_text("layer 1, head 1: ")
    shot(view, "head-explorer-table")
    view.get_by_role("button", name="Show as table").click()


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_it_is_accessible_and_redrawn_in_both_themes(view, notebook, axe, shot, theme):
    choose(view, "Attention", "cross")
    notebook.theme(theme, large(view))
    press(chosen(view), "End")
    expect(summary(view)).to_contain_text("head 3 of 4")
    shot(view, f"head-explorer-{theme}")
    assert axe(".att-view") == []
