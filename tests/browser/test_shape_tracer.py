"""The shape tracer in lesson 07, operated by keyboard alone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tools.lab import Excerpt, press

EXCERPT = Excerpt(
    "07_transformer",
    view="import ShapeTracer",
    start="Shape tracer, step 1 of 19, Token ids: src (128, 28), trg (128, 29).",
    before=("import torch.nn.functional",),
)
# A model that comes as far as its tables and then gives something else.
MODEL = """\
from torch import nn
class Half(nn.Module):
    def __init__(self, words):
        super().__init__()
        self.token_embedding = nn.Embedding(words, 24)
    def forward(self, tokens, *rest):
        return self.token_embedding(tokens)
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = Half(50), Half(60)
    def forward(self, src, trg):
        return self.decoder(trg, self.encoder(src, None).mean(1))
ShapeTracer(Model())"""


def walk(view: Locator, *keys: str) -> None:
    press(view.get_by_role("slider"), *keys)


def test_arrow_keys_walk_through_the_steps_and_say_them(view):
    walk(view, "Home", *["ArrowRight"] * 7)
    expect(view.locator(".att-title")).to_have_text("Step 8: Scores")
    expect(view.locator(".trace-shapes")).to_contain_text("(B, H, Ts, Ts) = (128, 8, 28, 28)")
    expect(view.locator(".trace-now")).to_contain_text("scores")
    expect(view.get_by_role("slider")).to_have_attribute("aria-valuetext", "8 of 19, Scores")
    said = "Step 8 of 19, Scores. In: query heads (128, 28, 8, 64), key heads (128, 28, 8, 64). Out: scores"
    expect(view.locator("[aria-live]")).to_contain_text(said)
    expect(view.locator(".att-summary")).to_contain_text("step 8 of 19, Scores: scores (128, 8, 28, 28)")


def test_buttons_stop_at_both_ends(view):
    walk(view, "End")
    expect(view.locator(".trace-shapes")).to_contain_text("(B, Tt, V) = (128, 29, 10000)")
    expect(view.get_by_role("button", name="Next")).to_be_disabled()
    press(view.get_by_role("button", name="Back"), "Enter")
    expect(view.locator(".att-title")).to_have_text("Step 18: The decoder")
    walk(view, "Home")
    expect(view.get_by_role("button", name="Back")).to_be_disabled()


def test_a_click_on_a_box_goes_to_its_step(view):
    view.locator("[data-steps='13']").click()
    expect(view.locator(".att-title")).to_have_text("Step 13: Add, normalise")


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_it_is_accessible_in_both_themes(view, notebook, axe, shot, theme):
    notebook.theme(theme)
    view.scroll_into_view_if_needed()
    walk(view, "Home", *["ArrowRight"] * 9)
    expect(view.locator(".trace-now").first).to_be_visible()
    expect(view.locator(".att-summary")).to_contain_text("step 10 of 19")
    shot(view, f"tracer-{theme}")
    assert axe(".att-view") == []


def test_all_steps_can_be_read_as_a_table(view, shot):
    press(view.get_by_role("button", name="Show as table"), "Enter")
    table = view.get_by_role("table", name="The nineteen steps")
    expect(table.get_by_role("row")).to_have_count(20)
    expect(table.get_by_role("row", name=re.compile("^17 "))).to_contain_text("cross weights (128, 8, 29, 28)")
    shot(view, "tracer-table")
    view.page.keyboard.press("Enter")
    expect(table).to_be_hidden()


def test_a_model_is_held_against_the_steps(view, notebook, axe, shot):
    notebook.write_cell("import ShapeTracer", f"from grader.views import ShapeTracer\n{MODEL}")
    view = notebook.cell("import ShapeTracer").locator(".att-view")
    view.wait_for()
    expect(view.locator(".att-title")).to_have_text("Step 19: The whole")
    expect(view.locator(".att-summary")).to_contain_text("Your model differs at step 19, The whole")
    walk(view, "End")
    expect(view.locator(".trace-mine")).to_contain_text(["yours (2, 28, 24)", "✗ yours (2, 29, 24)"])
    shot(view, "tracer-model")
    assert axe(".att-view") == []


def test_nothing_was_asked_from_another_host(view, page):
    assert page.refused == []
