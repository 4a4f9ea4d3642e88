"""Lesson 00 as a learner goes through it: a wrong answer, a right one, the way back, progress, Validate."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tools.lab import Lab, Notebook, page_of

WRONG = "def first_steps(x):\n    return 2 * x"
RIGHT = "def first_steps(x):\n    return 2 * x + 1"


@pytest.fixture(scope="module")
def notebook(page: Page, lab: Lab) -> Notebook:
    opened = Notebook(page, lab, "00_start_here.ipynb")
    opened.run_all()
    return opened


def checked(notebook: Notebook, source: str) -> Locator:
    """The report after this was typed into the exercise's cell and both cells were run."""
    notebook.write_cell("def first_steps", source)
    return notebook.run_cell("check(first_steps)").locator(".grader-report")


def validated(notebook: Notebook) -> str:
    """What nbgrader's Validate button says."""
    notebook.save()
    notebook.page.locator(".jp-Toolbar-item", has_text="Validate").click()
    dialog = notebook.page.locator(".jp-Dialog", has_text="Validation Results")
    dialog.wait_for(timeout=60_000)
    said = dialog.inner_text()
    dialog.get_by_role("button", name="Ok").click()
    dialog.wait_for(state="hidden")
    return said


def test_teachers_tools_and_the_question_about_news_are_not_there(notebook):
    """What JupyterLab shows with release/student/jupyter, which `make start` and the zip's commands name."""
    has = "window.jupyterapp.commands.listCommands().filter(name => name.startsWith('nbgrader:'))"
    assert notebook.page.evaluate(has) == []
    expect(notebook.page.locator(".lm-MenuBar-itemLabel", has_text="Help")).to_have_count(1)
    expect(notebook.page.locator(".lm-MenuBar-itemLabel", has_text="Nbgrader")).to_have_count(0)
    expect(notebook.page.locator("[title*='Create Assignment']")).to_have_count(0)
    expect(notebook.page.get_by_text("Would you like to get notified about official Jupyter news?")).to_have_count(0)


def test_notebook_7_has_validate_but_no_menu_of_teachers_tools(browser: Browser, lab: Lab):
    page = page_of(browser)
    page.goto(f"{lab.url}/notebooks/01_self_attention.ipynb?token={lab.token}")
    expect(page.get_by_role("button", name="Validate")).to_be_visible()
    expect(page.get_by_role("menuitem", name="Kernel", exact=True)).to_be_visible()
    expect(page.get_by_role("menuitem", name="Nbgrader")).to_have_count(0)
    page.context.close()


def test_the_set_up_is_found_right(notebook, shot):
    report = notebook.cell("from grader.learner.doctor import doctor").locator(".grader-report")
    expect(report).to_contain_text("Everything is ready.")
    shot(report, "doctor")


def test_an_exercise_that_is_not_written_says_so(notebook):
    report = notebook.cell("check(first_steps)").locator(".grader-report")
    expect(report).to_contain_text("is not written yet")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_wrong_answer_is_named_and_its_report_is_accessible(notebook, axe, shot, theme):
    notebook.theme(theme)
    report = checked(notebook, WRONG)
    expect(report.get_by_role("status")).to_contain_text("not passed yet")
    expect(report).to_contain_text("It looks like one-forgotten")
    expect(report.locator(".grader-pair table")).to_have_count(2)
    shot(report, f"report-wrong-{theme}")
    assert axe(".grader-report") == []


def test_hints_unfold_one_after_the_other_by_keyboard(notebook):
    report = checked(notebook, WRONG)
    hints = report.locator("details.grader-hint")
    first, second = hints.nth(0), hints.nth(1)
    expect(second.locator("summary")).to_be_hidden()
    first.locator("summary").first.focus()
    notebook.page.keyboard.press("Enter")
    expect(first.get_by_text("too small by the same amount")).to_be_visible()
    expect(second.get_by_text("ask for after the doubling")).to_be_hidden()
    notebook.page.keyboard.press("Tab")
    notebook.page.keyboard.press("Space")
    expect(second.get_by_text("ask for after the doubling")).to_be_visible()


def test_a_learner_who_thinks_the_answer_right_saves_a_file_by_keyboard(notebook):
    report = checked(notebook, WRONG)
    report.get_by_role("link", name="I think this is right").focus()
    with notebook.page.expect_download() as saved:
        notebook.page.keyboard.press("Enter")
    assert saved.value.suggested_filename == "first_steps.json"
    assert json.loads(saved.value.path().read_text())["cells"] == [f"{WRONG}\n"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_right_answer_passes(notebook, axe, shot, theme):
    notebook.theme(theme)
    report = checked(notebook, RIGHT)
    expect(report.get_by_role("status")).to_contain_text("first_steps: passed 1 of 1 points")
    shot(report, f"report-right-{theme}")
    assert axe(".grader-report") == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_progress_table_follows_by_itself(notebook, axe, shot, theme):
    notebook.theme(theme)
    table = notebook.cell("ProgressTable(rows, predictions)").locator(".att-view")
    table.scroll_into_view_if_needed()
    expect(table.locator("tr", has_text="first_steps")).to_contain_text("passed")
    shot(table, f"progress-{theme}")
    assert axe(".att-view") == []


def test_the_original_cell_comes_back(notebook):
    notebook.write_cell("def first_steps", 'from grader import reset\nreset("first_steps")')
    cell = notebook.cell("def first_steps")
    expect(cell.locator(".cm-content")).to_contain_text("raise NotImplementedError()")
    expect(cell.locator(".cm-content")).not_to_contain_text("reset")


def test_validate_tells_the_truth(notebook):
    assert "first_steps: returns the right shape" in validated(notebook)
    notebook.write_cell("def first_steps", RIGHT)
    assert "Success! Your notebook passes all the tests." in validated(notebook)
