"""The attention explorer in lesson 01, operated by keyboard alone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from grader.views.base import style
from tools.lab import Excerpt, application, go, press

EXCERPT = Excerpt(
    "01_self_attention",
    view="AttentionExplorer(x",
    start="Attention explorer, 3 tokens, step 1 of 7; scores divided by 1.73: birds takes most from build",
    whole=True,
)


def arithmetic(view: Locator) -> Locator:
    return view.locator(".att-sum code")


def test_next_goes_through_all_steps(view):
    titles = ["Queries", "Keys", "Values", "Scores", "Scaled scores", "Weights", "Outputs"]
    expect(view.locator(".att-title")).to_contain_text(titles[0])
    view.get_by_role("button", name="Next").focus()
    for title in titles[1:]:
        view.page.keyboard.press("Enter")
        expect(view.locator(".att-title")).to_contain_text(title)
    expect(view.get_by_role("button", name="Next")).to_be_disabled()


def test_arrow_keys_show_the_arithmetic_and_say_it(view, notebook):
    go(view, "Scores")
    press(application(view), "Control+Home", "ArrowDown", "ArrowRight")
    expect(arithmetic(view)).to_have_text("2·4 + 2·4 + 2·0 = 16")
    expect(view.locator("[aria-live]")).to_have_text("Scores, row build, column build: 2·4 + 2·4 + 2·0 = 16")
    expect(application(view)).to_be_focused()


def test_the_pointer_shows_the_arithmetic(view):
    go(view, "Scores")
    view.scroll_into_view_if_needed()
    box = view.locator("canvas").last.bounding_box()
    view.page.mouse.move(box["x"] + box["width"] - 20, box["y"] + box["height"] - 20)
    expect(arithmetic(view)).to_have_text("2·2 + 1·3 + 3·1 = 10")


def test_the_slider_changes_weights_and_summary(view):
    go(view, "Softmax")
    press(application(view), "Control+Home", "ArrowDown", "ArrowRight")
    expect(arithmetic(view)).to_contain_text("≈ 0.909")
    press(view.get_by_role("slider"), "End")
    expect(view.get_by_role("slider")).to_have_attribute("aria-valuetext", "scores divided by 17.3")
    expect(arithmetic(view)).to_contain_text("≈ 0.436")
    expect(view.locator(".att-summary")).to_contain_text("scores divided by 17.32")
    expect(view.locator("[aria-live]")).to_contain_text("Scale 17.3. Weights, row build, column build")
    press(view.get_by_role("button", name="Back to √d_k"), "Space")
    expect(arithmetic(view)).to_contain_text("≈ 0.909")


def test_the_slider_is_answered_at_once(view, at_once):
    go(view, "Softmax")
    at_once(view.get_by_role("slider"), "ArrowRight", view.locator("canvas").last)
    press(view.get_by_role("button", name="Back to √d_k"), "Space")


def test_everything_can_be_read_as_tables(view, shot):
    go(view, "Softmax")
    press(view.get_by_role("button", name="Show as table"), "Enter")
    weights = view.get_by_role("table", name="A", exact=True)
    expect(weights.get_by_role("row", name=re.compile("^build"))).to_contain_text("0.909")
    expect(weights.get_by_role("columnheader")).to_have_text(["birds", "build", "nests"])
    shot(view, "explorer-table")
    view.page.keyboard.press("Enter")
    expect(weights).to_be_hidden()


@pytest.mark.parametrize("step", ["Scores", "Softmax"])
@pytest.mark.parametrize("theme", ["dark", "light"])
def test_it_is_accessible_and_redrawn_in_both_themes(view, notebook, axe, shot, theme, step):
    go(view, step)
    notebook.theme(theme, view.locator("canvas").last)
    shot(view, f"explorer-{step.lower()}-{theme}")
    assert axe(".att-view") == []


def test_a_wrong_answer_is_named_in_lesson_01(notebook, shot):
    notebook.write_cell("def attention_scores", "def attention_scores(query, key):\n    return key @ query.mT")
    report = notebook.run_cell("check(attention_scores)").locator(".grader-report")
    expect(report).to_contain_text("It looks like scores-transposed")
    shot(report, "report-01-wrong")
    notebook.write_cell("def attention_scores", "def attention_scores(query, key):\n    return query @ key.mT")
    report = notebook.run_cell("check(attention_scores)").locator(".grader-report")
    expect(report.get_by_role("status")).to_contain_text("attention_scores: passed 2 of 2 points")


@pytest.mark.parametrize(("theme", "paper"), [("dark", "#111111"), ("light", "#ffffff")])
def test_outside_jupyterlab_it_is_drawn_in_the_colours_of_the_page(browser, theme, paper):
    page = browser.new_page(color_scheme=theme)
    page.set_content(f"<style>{style('attention_explorer.css')}</style><div class=att-view></div><canvas></canvas>")
    drawn = page.evaluate(
        """() => {
          const context = document.querySelector("canvas").getContext("2d");
          context.fillStyle = "red"; // what is no colour would leave it so
          context.fillStyle = getComputedStyle(document.querySelector(".att-view")).getPropertyValue("--att-paper");
          return context.fillStyle;
        }"""
    )
    page.close()
    assert drawn == paper


def test_nothing_was_asked_from_another_host(view, page):
    assert page.refused == []
