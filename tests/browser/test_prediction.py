"""Predictions: a guess by keyboard alone, kept over a restart, and in lesson 01 the answer that waits for it."""

from __future__ import annotations

import shutil

import nbformat
import pytest
from playwright.sync_api import Locator, Page, expect

from grader.authoring.rules import CODE_WIDTH
from tools.lab import Lab, Notebook, press

CHOICES = """
from grader import compare_guess, predict
predict("01_row", "Which row of `x` is larger?", ["row 0", "row 1", "neither of `x`"])
"""
NUMBER = 'predict("01_much", "How much does the first one get?", low=0, high=1, unit="nats")'
ANSWERS = ['compare_guess("01_row", "row 1", because="Why one.")', 'compare_guess("01_much", 0.37, because="Why two.")']
LESSON = "predictions_of_01.ipynb"
OWN_WEIGHT, DIVISOR = "How much of its own vector", "Divide the scores by 100"
WAITS = "The result appears here once you have guessed above."


@pytest.fixture(scope="module")
def notebook(page: Page, lab: Lab) -> Notebook:
    cells = [nbformat.v4.new_code_cell(source.strip()) for source in (CHOICES, NUMBER, *ANSWERS)]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), lab.folder / "prediction.ipynb")
    opened = Notebook(page, lab, "prediction.ipynb")
    opened.theme("light")
    for source in (CHOICES.split("\n")[1], NUMBER):
        opened.run_cell(source)
    return opened


def view_of(notebook: Notebook, source: str) -> Locator:
    found = notebook.cell(source).locator(".att-view")
    found.wait_for()
    found.scroll_into_view_if_needed()
    return found


@pytest.fixture
def choices(notebook: Notebook) -> Locator:
    return view_of(notebook, 'predict("01_row"')


@pytest.fixture
def number(notebook: Notebook) -> Locator:
    return view_of(notebook, 'predict("01_much"')


def compared(notebook: Notebook, source: str) -> Locator:
    return notebook.run_cell(source).locator(".jp-OutputArea")


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_it_is_accessible_before_a_guess_in_both_themes(notebook, choices, number, axe, shot, theme):
    notebook.theme(theme)
    shot(choices, f"prediction-choices-{theme}")
    shot(number, f"prediction-number-{theme}")
    assert axe(".att-view") == []


def test_an_empty_guess_is_asked_for_again(choices, number):
    press(choices.get_by_role("button", name="This is my guess"), "Enter")
    expect(choices.get_by_role("alert")).to_have_text("Choose one first.")
    expect(choices.get_by_role("radio").first).to_be_focused()
    field = number.get_by_role("textbox", name="a number from 0 to 1 nats")
    field.fill("2")
    press(field, "Enter")
    expect(number.get_by_role("alert")).to_have_text("Type a number from 0 to 1 nats first.")
    expect(field).to_be_focused()


def test_a_choice_is_made_by_arrow_keys_and_can_be_changed_before_the_answer_is_seen(choices):
    group = choices.get_by_role("group", name="Predict: Which row of x is larger?")
    press(group.get_by_role("radio").first, "Space", "ArrowDown")
    expect(group.get_by_role("radio", name="row 1")).to_be_checked()
    choices.page.keyboard.press("Enter")
    expect(choices.locator(".att-guessed")).to_contain_text("Your guess: row 1.")
    expect(choices.locator("[aria-live]")).to_contain_text("Your guess: row 1.")
    press(choices.get_by_role("button", name="Guess again"), "Enter")
    expect(group.get_by_role("radio", name="row 1")).to_be_focused()
    choices.page.keyboard.press("ArrowUp")
    choices.page.keyboard.press("Enter")
    expect(choices.locator(".att-guessed")).to_contain_text("Your guess: row 0.")


def test_a_number_may_have_a_comma_and_how_sure_one_is_can_be_said(number):
    field = number.get_by_role("textbox")
    field.fill("0,5")
    press(number.get_by_role("slider", name="How sure are you? (optional)"), "ArrowRight", "ArrowRight")
    expect(number.locator(".att-sure")).to_contain_text("70 %")
    press(field, "Enter")
    expect(number.locator(".att-guessed")).to_contain_text("Your guess: 0.5 nats.")


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_guess_and_outcome_stand_side_by_side_and_the_guess_stays(notebook, choices, axe, shot, theme):
    notebook.theme(theme)
    first, second = (compared(notebook, source) for source in ANSWERS)
    expect(first.get_by_role("columnheader")).to_have_text(["You guessed", "Result"])
    expect(first.get_by_role("cell")).to_have_text(["row 0", "row 1"])
    expect(second.get_by_role("cell")).to_have_text(["0.5 nats", "0.37 nats"])
    expect(first).to_contain_text("Not what you guessed. Can you say why?")
    expect(first).to_contain_text("Why one.")
    expect(choices.get_by_role("button", name="Guess again")).to_be_hidden()
    expect(choices.locator(".att-guessed")).to_contain_text("You have seen what came out, so your guess stays.")
    shot(first, f"prediction-compared-{theme}")
    shot(choices, f"prediction-guessed-{theme}")
    assert axe(".att-view") == []
    assert choices.page.refused == []


def test_a_guess_is_still_there_after_the_cell_is_run_again(notebook):
    notebook.run_cell('predict("01_row"')
    view = view_of(notebook, 'predict("01_row"')
    expect(view.locator(".att-guessed")).to_contain_text("Your guess: row 0. You have seen what came out")
    expect(view.get_by_role("button", name="Guess again")).to_be_hidden()


def test_a_line_of_the_longest_code_is_seen_whole(notebook):
    notebook.write_cell(ANSWERS[1], f"# {'x' * (CODE_WIDTH - 2)}")
    code = notebook.cell("# xxx").locator(".cm-scroller")
    assert code.evaluate("one => one.scrollWidth <= one.clientWidth")
    assert len(code.locator(".cm-line").all()) == 1


@pytest.fixture(scope="module")
def lesson(page: Page, lab: Lab) -> Notebook:
    """Lesson 01 as it is handed out, all of it run at once."""
    shutil.copy(lab.folder / "01_self_attention.ipynb", lab.folder / LESSON)  # other tests need it as it is
    opened = Notebook(page, lab, LESSON)
    opened.theme("light")
    opened.run_all()
    return opened


def asked(lesson: Notebook, question: str) -> Locator:
    view = lesson.page.locator(".att-view", has_text=question)
    view.scroll_into_view_if_needed()
    return view


def answer(lesson: Notebook, question: str) -> Locator:
    """The outputs of the cell below the question's."""
    cell = lesson.page.locator(".jp-CodeCell", has=asked(lesson, question))
    below = cell.locator("xpath=following-sibling::*[1]")
    below.scroll_into_view_if_needed()
    return below


@pytest.mark.parametrize("question", [OWN_WEIGHT, DIVISOR])
def test_a_run_of_all_cells_reveals_no_answer(lesson, question, shot):
    below = answer(lesson, question)
    expect(below).to_contain_text("Run this cell, too.")
    expect(below.locator(".cm-content")).to_be_hidden()
    expect(below.locator(".jp-OutputArea")).to_contain_text(WAITS)
    expect(below.locator("img, table")).to_have_count(0)
    shot(below, "prediction-waits")


def test_a_guess_shows_picture_comparison_and_text_at_once_and_stays(lesson, shot):
    below, view = answer(lesson, OWN_WEIGHT), asked(lesson, OWN_WEIGHT)
    press(view.get_by_role("textbox"), "4", "0", "Enter")
    expect(below.locator("img")).to_be_visible()
    expect(below.get_by_role("cell")).to_have_text(["40 %", "99.3 %"])
    expect(below).to_contain_text("Every word keeps nearly all of its own vector")
    expect(below).not_to_contain_text(WAITS)
    expect(view.get_by_role("button", name="Guess again")).to_be_hidden()
    shot(below, "prediction-answer")


def test_somebody_without_a_guess_can_look(lesson):
    below, view = answer(lesson, DIVISOR), asked(lesson, DIVISOR)
    press(view.get_by_role("button", name="Show me without a guess"), "Enter")
    expect(below).to_contain_text("all three weights are close to a third")
    expect(below.locator("table").first.get_by_role("rowheader")).to_have_text(["1", "√3", "3", "10", "100"])
    expect(view.get_by_role("button", name="This is my guess")).to_be_hidden()


def test_what_was_seen_is_stored_with_the_notebook(lesson, lab):
    lesson.save()
    stored = nbformat.read(lab.folder / LESSON, as_version=4)
    cell = next(cell for cell in stored.cells if 'compare_guess("01_own_weight"' in cell.source)
    kinds = [set(output.get("data", {})) for output in cell.outputs]
    assert any("image/png" in kind for kind in kinds)
    assert any("text/markdown" in kind for kind in kinds)


def test_after_a_guess_the_cell_shows_it_whenever_it_is_run(lesson):
    lesson.run_all()
    expect(answer(lesson, OWN_WEIGHT)).to_contain_text("Every word keeps nearly all of its own vector")
    expect(answer(lesson, OWN_WEIGHT).locator("img")).to_be_visible()
