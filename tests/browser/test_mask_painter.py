"""The mask painter in lesson 04: by keyboard, and drawn on with the pointer."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tools.lab import Excerpt, application, choose, picture, press

EXCERPT = Excerpt(
    "04_masking",
    view="MaskPainter(painted_scores",
    start='Mask painter, 5 tokens, 2 padding tokens at the end, mask "causal": 15 of 25 visible. '
    "Every query sees something",
    before=("import matplotlib.pyplot",),
)


def story(view: Locator) -> Locator:
    return view.locator(".att-sum")


def summary(view: Locator) -> Locator:
    return view.locator(".att-summary")


def test_arrow_keys_tell_what_a_cell_does(view):
    press(application(view), "Control+Home", "ArrowDown", "ArrowRight")
    expect(story(view)).to_contain_text("query 1 (cat), key 1 (cat): visible")
    expect(story(view).locator("code")).to_have_text(re.compile(r"^exp\(.*\) / \(exp\(.*\) \+ exp\(.*\)\) ≈ 0\.\d+$"))
    press(application(view), "ArrowRight")
    expect(story(view).locator("code")).to_have_text("exp(−∞) = 0, so the hidden key leaves no trace")
    expect(view.locator("[aria-live]")).to_contain_text("query 1 (cat), key 2 (sat): hidden; weights of query 1: ")


def test_space_empties_a_row_and_every_way_makes_something_else_of_it(view, shot):
    press(application(view), "Control+Home", "Space")
    expect(summary(view)).to_contain_text('mask "free hand": 14 of 25 visible. Query 0 sees nothing; "fill with -inf"')
    expect(view.locator("[aria-live]")).to_contain_text("weights of query 0: NaN, NaN, NaN, NaN, NaN")
    heard = {
        "subtract 1e10": "0.2, 0.2, 0.2, 0.2, 0.2",
        "fill with -1e20": "0.2, 0.2, 0.2, 0.2, 0.2",
        "masked_softmax": "0, 0, 0, 0, 0",
        "fill with -inf": "NaN, NaN, NaN, NaN, NaN",
    }
    for way, weights in heard.items():
        choose(view, "Way of hiding", way)
        expect(summary(view)).to_contain_text(f'sees nothing; "{way}"')
        expect(view.locator("[aria-live]")).to_contain_text(f"weights of query 0: {weights}.")
        shot(view, f"mask-painter-{way.replace(' ', '-')}")
    press(application(view), "Enter")
    expect(summary(view)).to_contain_text("15 of 25 visible. Every query sees something")


def test_a_cell_is_turned_over_at_once(view, at_once):
    choose(view, "Mask", "causal")
    press(application(view), "Control+Home")
    at_once(application(view), "Space", view.locator("canvas").nth(2))


def test_presets_and_padding_in_front(view):
    choose(view, "Mask", "both")
    expect(summary(view)).to_contain_text("12 of 25 visible. Every query sees something")
    choose(view, "Padding", "in front")
    expect(summary(view)).to_contain_text(
        '6 of 25 visible. Queries 0, 1 see nothing; "fill with -inf" makes the weights NaN.'
    )
    choose(view, "Mask", "padding")
    expect(summary(view)).to_contain_text("15 of 25 visible")
    choose(view, "Mask", "all visible")
    expect(summary(view)).to_contain_text("25 of 25 visible")
    choose(view, "Padding", "at the end")


def test_the_pointer_draws(view):
    choose(view, "Mask", "all visible")
    expect(summary(view)).to_contain_text("25 of 25")
    view.scroll_into_view_if_needed()
    box = view.locator("canvas").first.bounding_box()
    cell = (box["height"] - 22) / 5
    x, y = box["x"] + box["width"] - 2 - cell / 2, box["y"] + 20 + cell / 2  # query 0, key 4
    mouse = view.page.mouse
    mouse.move(x, y)
    mouse.down()
    for step in range(1, 4):
        mouse.move(x - step * cell, y)
    mouse.up()
    mouse.move(x - 4 * cell, y)  # the pointer is up: nothing is drawn
    expect(summary(view)).to_contain_text('mask "free hand": 21 of 25 visible')


def test_the_other_convention_shows_the_same_mask(view, shot):
    choose(view, "Mask", "both")
    expect(view.locator(".att-summary")).to_contain_text('mask "both"')
    before = picture(view.locator("canvas").nth(0)), picture(view.locator("canvas").nth(2))
    choose(view, "True means", "hide")
    expect(view.locator("[aria-live]")).to_contain_text("True now means hide. What is visible stays the same.")
    expect(view.get_by_role("application")).to_have_attribute("aria-label", re.compile("^Mask, True = hide"))
    assert picture(view.locator("canvas").nth(0)) != before[0]
    assert picture(view.locator("canvas").nth(2)) == before[1]
    view.get_by_role("button", name="Show as table").click()
    table = view.get_by_role("table", name="Mask, True = hide")
    expect(table.get_by_role("row").nth(1).get_by_role("cell")).to_have_text(["0", "1", "1", "1", "1"])
    expect(view.get_by_role("table", name="Weights").get_by_role("row").nth(1)).to_contain_text("10000")
    shot(view, "mask-painter-table")
    view.get_by_role("button", name="Show as table").click()
    choose(view, "True means", "may attend")


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_it_is_accessible_and_redrawn_in_both_themes(view, notebook, axe, shot, theme):
    choose(view, "Mask", "both")
    choose(view, "Padding", "in front")
    notebook.theme(theme, view.locator("canvas").nth(1))
    press(application(view), "Control+Home")
    shot(view, f"mask-painter-{theme}")
    assert axe(".att-view") == []
