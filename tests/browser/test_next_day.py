"""A notebook that was saved, closed and opened again: its views and predictions are alive, though nothing was run."""

from __future__ import annotations

import nbformat
import pytest
from playwright.sync_api import Locator, Page, expect

from tools.lab import Lab, Notebook, go, press

NAME = "next_day.ipynb"
VIEW = """
import torch
from grader.views import AttentionExplorer
AttentionExplorer(torch.tensor([[1, 0], [2, 1]]), torch.tensor([[1], [3]]), torch.eye(2)[:, :1], torch.eye(2))
"""
QUESTION = 'from grader import compare_guess, predict\npredict("next_day", "How long is a night?", unit="hours")'
ANSWER = 'compare_guess("next_day", 8, because="It is **dark** for longer.")'
CELLS = (VIEW.strip(), QUESTION, ANSWER)
# As a program saves it that keeps no state of views. The server trusts what a page saves.
WITHOUT_STATE = """async name => {
  const { contents } = window.jupyterapp.serviceManager;
  const model = await contents.get(name);
  delete model.content.metadata.widgets;
  await contents.save(name, model);
}"""
SAID = "Attention explorer, 2 tokens, step 1 of 7; scores divided by 1.00"


@pytest.fixture(scope="module")
def notebook(page: Page, lab: Lab) -> Notebook:
    """The notebook on the next morning. Yesterday all of it was run, a guess was made, and its answer was read."""
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), lab.folder / NAME)
    yesterday = Notebook(page, lab, NAME)
    yesterday.theme("light")
    yesterday.run_all()
    field = yesterday.cell(QUESTION.splitlines()[1]).locator(".att-view").get_by_role("textbox")
    field.fill("9")
    press(field, "Enter")
    expect(yesterday.cell(ANSWER).locator(".jp-OutputArea")).to_contain_text("It is dark for longer.")
    yesterday.save()
    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    page.goto("about:blank")
    return Notebook(page, lab, NAME)


@pytest.fixture
def explorer(notebook: Notebook) -> Locator:
    return notebook.cell("AttentionExplorer(").locator(".att-view")


@pytest.fixture
def question(notebook: Notebook) -> Locator:
    return notebook.cell("predict(").locator(".att-view")


def test_a_view_has_yesterdays_numbers_and_can_be_stepped_without_a_kernel(explorer, shot):
    expect(explorer.locator(".att-summary")).to_contain_text(SAID)
    go(explorer, "Scores")
    press(explorer.get_by_role("application"), "Control+Home", "ArrowDown", "ArrowRight")
    expect(explorer.locator(".att-sum code")).to_have_text("5·2 = 10")
    shot(explorer, "next-day-explorer")


def test_a_prediction_has_the_guess_and_its_answer_the_result(notebook, question, shot):
    expect(question).to_contain_text("Your guess: 9 hours. You have seen what came out, so your guess stays.")
    expect(notebook.cell(ANSWER).locator(".jp-OutputArea")).to_contain_text("It is dark for longer.")
    shot(question, "next-day-prediction")


def test_run_again_they_are_todays(notebook, explorer, question):
    notebook.run_all()
    expect(explorer.locator(".att-summary")).to_contain_text(SAID)
    expect(question).to_contain_text("so your guess stays")


def test_beside_a_view_its_picture_is_hidden(explorer, notebook):
    expect(explorer).to_be_visible()
    expect(notebook.cell("AttentionExplorer(").locator(".jp-OutputArea-child:visible")).to_have_count(1)
    expect(notebook.cell("predict(").locator(".jp-OutputArea-child:visible")).to_have_count(1)


def test_where_no_state_was_saved_there_is_the_picture_and_the_question(notebook, page, lab, shot):
    notebook.save()
    page.evaluate(WITHOUT_STATE, NAME)
    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    page.goto("about:blank")
    again = Notebook(page, lab, NAME)
    expect(again.cell("AttentionExplorer(").locator(".jp-RenderedImage img")).to_be_visible()
    expect(again.cell("AttentionExplorer(")).to_contain_text("model not found")  # JupyterLab's own words, below it
    expect(again.cell("predict(")).to_contain_text("Your guess: 9 hours.")
    shot(again.cell("AttentionExplorer("), "next-day-picture")
