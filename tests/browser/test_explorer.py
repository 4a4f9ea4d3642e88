"""The attention explorer in lesson 01, operated by keyboard alone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.lab import Lab, Notebook

SUMMARY = "Attention explorer, 3 tokens, step 1 of 7; scores divided by 1.73: token 0 takes most from token 1"


@pytest.fixture(scope="module")
def notebook(page: Page, lab: Lab) -> Notebook:
    opened = Notebook(page, lab, "01_self_attention.ipynb")
    opened.theme("light")
    return opened


@pytest.fixture(scope="module")
def explorer(notebook: Notebook) -> Locator:
    cell = notebook.cell("AttentionExplorer(x")
    cell.scroll_into_view_if_needed()
    expect(cell.locator(".jp-OutputArea-output")).to_contain_text(SUMMARY)  # before anything is run
    notebook.run_all()
    view = cell.locator(".att-view")
    view.wait_for()
    view.scroll_into_view_if_needed()
    return view


def press(view: Locator, *keys: str) -> None:
    for key in keys:
        view.page.keyboard.press(key)


def go(view: Locator, step: str) -> None:
    """To a step, by its button and the keyboard."""
    view.get_by_role("button", name=step).focus()
    press(view, "Enter")
    expect(view.get_by_role("button", name=step)).to_have_attribute("aria-current", "step")


def picture(view: Locator) -> str:
    """The last heatmap, pixel by pixel."""
    return view.locator("canvas").last.evaluate("canvas => canvas.toDataURL()")


def arithmetic(view: Locator) -> Locator:
    return view.locator(".att-sum code")


def test_next_goes_through_all_steps(explorer):
    titles = ["Queries", "Keys", "Values", "Scores", "Scaled scores", "Weights", "Outputs"]
    expect(explorer.locator(".att-title")).to_contain_text(titles[0])
    explorer.get_by_role("button", name="Next").focus()
    for title in titles[1:]:
        press(explorer, "Enter")
        expect(explorer.locator(".att-title")).to_contain_text(title)
    expect(explorer.get_by_role("button", name="Next")).to_be_disabled()


def test_arrow_keys_show_the_arithmetic_and_say_it(explorer, notebook):
    go(explorer, "Scores")
    explorer.get_by_role("application").focus()
    press(explorer, "Control+Home", "ArrowDown", "ArrowRight")
    expect(arithmetic(explorer)).to_have_text("2·4 + 2·4 + 2·0 = 16")
    expect(explorer.locator("[aria-live]")).to_have_text("Scores, row token 1, column token 1: 2·4 + 2·4 + 2·0 = 16")
    assert explorer.get_by_role("application").evaluate("element => element === document.activeElement")


def test_the_pointer_shows_the_arithmetic(explorer):
    go(explorer, "Scores")
    explorer.scroll_into_view_if_needed()
    box = explorer.locator("canvas").last.bounding_box()
    explorer.page.mouse.move(box["x"] + box["width"] - 20, box["y"] + box["height"] - 20)
    expect(arithmetic(explorer)).to_have_text("2·2 + 1·3 + 3·1 = 10")


def test_the_slider_changes_weights_and_summary(explorer):
    go(explorer, "Softmax")
    explorer.get_by_role("application").focus()
    press(explorer, "Control+Home", "ArrowDown", "ArrowRight")
    expect(arithmetic(explorer)).to_contain_text("≈ 0.909")
    explorer.get_by_role("slider").focus()
    press(explorer, "End")
    expect(explorer.get_by_role("slider")).to_have_attribute("aria-valuetext", "scores divided by 17.3")
    expect(arithmetic(explorer)).to_contain_text("≈ 0.436")
    expect(explorer.locator(".att-summary")).to_contain_text("scores divided by 17.32")
    expect(explorer.locator("[aria-live]")).to_contain_text("Scale 17.3. Weights, row token 1, column token 1")
    explorer.get_by_role("button", name="Back to √d_k").focus()
    press(explorer, "Space")
    expect(arithmetic(explorer)).to_contain_text("≈ 0.909")


def test_everything_can_be_read_as_tables(explorer, shot):
    go(explorer, "Softmax")
    explorer.get_by_role("button", name="Show as table").focus()
    press(explorer, "Enter")
    weights = explorer.get_by_role("table", name="A", exact=True)
    expect(weights.get_by_role("row", name=re.compile("^token 1"))).to_contain_text("0.909")
    expect(weights.get_by_role("columnheader")).to_have_text(["token 0", "token 1", "token 2"])
    shot(explorer, "explorer-table")
    press(explorer, "Enter")
    expect(weights).to_be_hidden()


def test_a_change_of_theme_redraws_the_picture(explorer, notebook):
    notebook.theme("light")
    go(explorer, "Scores")
    light = picture(explorer)
    notebook.theme("dark")
    explorer.page.wait_for_function(
        "([canvas, before]) => canvas.toDataURL() !== before",
        arg=[explorer.locator("canvas").last.element_handle(), light],
    )


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("step", ["Scores", "Softmax"])
def test_it_is_accessible_in_both_themes(explorer, notebook, axe, shot, theme, step):
    notebook.theme(theme)
    go(explorer, step)
    # Legible: while it changes its theme, JupyterLab hides everything, and a picture drawn then has no room.
    canvas = explorer.locator("canvas").last.element_handle()
    explorer.page.wait_for_function("canvas => canvas.clientWidth > 150", arg=canvas)
    shot(explorer, f"explorer-{step.lower()}-{theme}")
    assert axe(".att-view") == []


def test_a_wrong_answer_is_named_in_lesson_01(notebook, shot):
    notebook.write_cell("def attention_scores", "def attention_scores(query, key):\n    return key @ query.mT")
    report = notebook.run_cell("check(attention_scores)").locator(".grader-report")
    expect(report).to_contain_text("It looks like scores-transposed")
    shot(report, "report-01-wrong")
    notebook.write_cell("def attention_scores", "def attention_scores(query, key):\n    return query @ key.mT")
    report = notebook.run_cell("check(attention_scores)").locator(".grader-report")
    expect(report.get_by_role("status")).to_contain_text("attention_scores: passed 2 of 2 points")


def test_nothing_was_asked_from_another_host(explorer, page):
    assert page.refused == []
