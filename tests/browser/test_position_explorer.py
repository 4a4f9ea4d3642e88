"""The position explorer in lesson 06, operated by keyboard."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tools.lab import Excerpt, application, choose, press

EXCERPT = Excerpt(
    "06_embeddings_and_positions",
    view="PositionExplorer()",
    start="Position explorer, sinusoidal, 32 positions, width 24, base 10000: from position 0 the products are 12.00",
)
SAME = "at equal offsets, products differ by at most 0.00."


def line(view: Locator) -> str:
    """The strong curve of products, as an SVG path."""
    return view.locator("[data-plot=products] .att-strong").get_attribute("d") or ""


def heights(path: str) -> list[str]:
    """Of the points of a path, from left to right."""
    return re.findall(r" ([\d.]+)", path)


def test_arrow_keys_tell_where_a_number_comes_from(view):
    press(application(view), "Control+Home", "ArrowDown", "ArrowDown", "ArrowDown", *["ArrowRight"] * 5)
    told = "Position 3, column 5: 0.798, cos(3 ÷ 10000^(4/24))"
    expect(view.locator(".att-sum")).to_contain_text(told)
    expect(view.locator("[aria-live]")).to_contain_text(told)
    expect(view.locator("[aria-live]")).to_contain_text("position 3: 12, position 4: 11.4, position")
    expect(application(view)).to_be_focused()


def test_the_curve_of_products_is_the_same_at_every_position(view):
    press(application(view), "Control+Home")
    expect(view.locator("[data-plot=products]")).to_contain_text("Products of position 0")
    first = heights(line(view))
    press(application(view), "ArrowDown")
    expect(view.locator("[data-plot=products]")).to_contain_text("Products of position 1")
    assert heights(line(view))[1:] == first[:-1]
    choose(view, "Positions", "random table")
    expect(view.locator(".att-summary")).to_contain_text("random table")
    expect(view.locator(".att-summary")).not_to_contain_text(SAME)
    expect(view.get_by_role("slider")).to_be_disabled()
    choose(view, "Positions", "rotary")
    expect(view.locator(".att-summary")).to_contain_text(SAME)
    expect(view.locator(".att-sum")).to_contain_text("pair 0 of the key, turned by 1 ÷ 10000^(0/24) radians")
    expect(view.locator(".att-sum")).to_contain_text("Query at position 1 times the key at")
    choose(view, "Positions", "sinusoidal")


def test_the_slider_is_answered_at_once(view, at_once):
    at_once(view.get_by_role("slider"), "ArrowLeft", view.locator("canvas"))
    press(view.get_by_role("slider"), "ArrowRight")


def test_width_and_base_change_picture_and_summary(view):
    press(application(view), "Control+End")
    choose(view, "Width", "8")
    expect(view.locator(".att-sum")).to_contain_text("Position 31, column 7")
    press(view.get_by_role("slider"), "Home")
    expect(view.get_by_role("slider")).to_have_attribute("aria-valuetext", "base 10")
    expect(view.locator(".att-summary")).to_contain_text("width 8, base 10: from position 0")
    expect(view.locator("[aria-live]")).to_contain_text("width 8, base 10: from position 0")
    choose(view, "Width", "24")


def test_everything_can_be_read_as_tables(view, shot):
    choose(view, "Width", "8")
    press(view.get_by_role("button", name="Show as table"), "Enter")
    products = view.get_by_role("table", name="Products", exact=True)
    expect(products.get_by_role("row", name=re.compile("^5 ")).get_by_role("cell").nth(5)).to_have_text("4")
    shot(view, "positions-table")
    view.page.keyboard.press("Enter")
    expect(products).to_be_hidden()
    choose(view, "Width", "24")


@pytest.mark.parametrize("kind", ["sinusoidal", "random table"])
@pytest.mark.parametrize("theme", ["dark", "light"])
def test_it_is_accessible_and_redrawn_in_both_themes(view, notebook, axe, shot, theme, kind):
    choose(view, "Positions", kind)
    expect(view.locator(".att-summary")).to_contain_text(kind)
    notebook.theme(theme, view.locator("canvas"))
    shot(view, f"positions-{kind.split()[0]}-{theme}")
    assert axe(".att-view") == []
