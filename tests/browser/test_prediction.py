"""The prediction in lesson 01: a guess by keyboard alone, kept over a restart, beside what came out."""

from __future__ import annotations

import nbformat
import pytest
from playwright.sync_api import Locator, Page, expect

from tools.lab import Lab, Notebook, press

CHOICES = """
from grader import compare_guess, predict
predict("01_row", "Which row of `x` is larger?", ["row 0", "row 1", "neither of `x`"])
"""
NUMBER = 'predict("01_much", "How much does the first one get?", low=0, high=1, unit="nats")'
ANSWERS = 'compare_guess("01_row", "row 1")\ncompare_guess("01_much", 0.37)'


@pytest.fixture(scope="module")
def notebook(page: Page, lab: Lab) -> Notebook:
    cells = [nbformat.v4.new_code_cell(source.strip()) for source in (CHOICES, NUMBER, ANSWERS)]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), lab.folder / "prediction.ipynb")
    opened = Notebook(page, lab, "prediction.ipynb")
    opened.theme("light")
    opened.run_all()
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


def compared(notebook: Notebook) -> Locator:
    return notebook.run_cell('compare_guess("01_row"').locator(".jp-OutputArea")


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_it_is_accessible_before_a_guess_in_both_themes(notebook, choices, number, axe, shot, theme):
    notebook.theme(theme)
    shot(choices, f"prediction-choices-{theme}")
    shot(number, f"prediction-number-{theme}")
    assert axe(".att-view") == []


def test_who_has_not_guessed_is_not_held_up(notebook):
    shown = compared(notebook)
    expect(shown.get_by_role("table").first).to_contain_text("row 1")
    expect(shown).to_contain_text("You haven't guessed yet")


def test_an_empty_guess_is_asked_for_again(choices, number):
    press(choices.get_by_role("button", name="This is my guess"), "Enter")
    expect(choices.get_by_role("alert")).to_have_text("Choose one first.")
    expect(choices.get_by_role("radio").first).to_be_focused()
    field = number.get_by_role("textbox", name="a number from 0 to 1 nats")
    field.fill("2")
    press(field, "Enter")
    expect(number.get_by_role("alert")).to_have_text("Type a number from 0 to 1 nats first.")
    expect(field).to_be_focused()


def test_a_choice_is_made_by_arrow_keys_and_can_be_changed(choices):
    group = choices.get_by_role("group", name="Predict: Which row of x is larger?")
    press(group.get_by_role("radio").first, "Space", "ArrowDown")
    expect(group.get_by_role("radio", name="row 1")).to_be_checked()
    choices.page.keyboard.press("Enter")
    expect(choices.locator(".att-guessed")).to_contain_text("Your guess: row 1.")
    expect(choices.locator("[aria-live]")).to_contain_text("Your guess: row 1.")
    again = choices.get_by_role("button", name="Guess again")
    expect(again).to_be_focused()
    press(again, "Enter")
    expect(group.get_by_role("radio", name="row 1")).to_be_focused()
    choices.page.keyboard.press("ArrowUp")
    choices.page.keyboard.press("Enter")
    expect(choices.locator(".att-guessed")).to_contain_text("Your guess: row 0.")


def test_a_number_may_have_a_comma(number):
    field = number.get_by_role("textbox")
    field.fill("0,5")
    press(field, "Enter")
    expect(number.locator(".att-guessed")).to_contain_text("Your guess: 0.5 nats.")


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_guess_and_outcome_stand_side_by_side(notebook, choices, axe, shot, theme):
    notebook.theme(theme)
    shown = compared(notebook)
    first, second = shown.get_by_role("table").all()
    expect(first.get_by_role("columnheader")).to_have_text(["You guessed", "It came out"])
    expect(first.get_by_role("cell")).to_have_text(["row 0", "row 1"])
    expect(second.get_by_role("cell")).to_have_text(["0.5 nats", "0.37 nats"])
    expect(shown).to_contain_text("Not what you guessed: can you say why?")
    shot(shown, f"prediction-compared-{theme}")
    shot(choices, f"prediction-guessed-{theme}")
    assert axe(".att-view") == []
    assert choices.page.refused == []


def test_a_guess_is_still_there_after_the_cell_is_run_again(notebook):
    notebook.run_cell('predict("01_row"')
    expect(view_of(notebook, 'predict("01_row"').locator(".att-guessed")).to_contain_text("Your guess: row 0.")
