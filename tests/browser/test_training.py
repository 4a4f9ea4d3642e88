"""The training monitor and the alignment view of lesson 08, on numbers that no training has made."""

from __future__ import annotations

import nbformat
import pytest
from playwright.sync_api import Locator, Page, expect

from tools.lab import Lab, Notebook, application, choose, press

MONITOR = """
import time
from grader.views import TrainingMonitor
monitor = TrainingMonitor(40, watched=("May 2024", "2024-05"))
monitor
"""
LIVE = """
losses, shares, written = [], {0: 0.0}, {0: "7777777777"}
for step in range(1, 31):
    losses.append(2.6 * 0.8**step)
    if step % 10 == 0:
        shares[step], written[step] = step / 40, {10: "2020", 20: "2020", 30: "2024-05"}[step]
    monitor.show(losses, shares, written, now=True)
    time.sleep(0.02)
"""
VIEW = """
import torch
from grader.views import AlignmentView
pairs = [("3 May 2024", "2024-05-03"), ("May 1999", "1999-05")]
def found(sharp, wrong):
    tables = []
    for source, answer in pairs:
        scores = torch.tensor([[float(a == s) for s in source] for a in [*answer, "?"]])
        heads = torch.stack([sharp * scores, 2 * sharp * scores]).softmax(-1)
        tables.append((heads, [*answer.replace("2", "7" if wrong else "2"), "<eos>"]))
    return tables
AlignmentView(pairs, {"before": found(0.0, True), "after": found(4.0, False)})
"""


@pytest.fixture(scope="module")
def notebook(page: Page, lab: Lab) -> Notebook:
    cells = [nbformat.v4.new_code_cell(source.strip()) for source in (MONITOR, LIVE, VIEW)]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), lab.folder / "training.ipynb")
    opened = Notebook(page, lab, "training.ipynb")
    opened.theme("light")
    opened.run_all()
    return opened


@pytest.fixture(scope="module")
def monitor(notebook: Notebook) -> Locator:
    view = notebook.cell("TrainingMonitor(40, ").locator(".att-view")
    view.wait_for()
    return view


@pytest.fixture(scope="module")
def alignment(notebook: Notebook) -> Locator:
    view = notebook.cell("AlignmentView(pairs").locator(".att-view")
    view.wait_for()
    view.scroll_into_view_if_needed()
    return view


def test_the_monitor_follows_a_training_that_runs_below_it(monitor, shot):
    monitor.scroll_into_view_if_needed()
    expect(monitor.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "30")
    expect(monitor.locator(".att-steps-done")).to_have_text("30 of 40 steps")
    told = "Training monitor, step 30 of 40: loss 0.0032, 75 % of held-out dates right. "
    told += 'The model writes "May 2024" as "2024-05".'
    expect(monitor.locator(".att-summary")).to_have_text(told)
    expect(monitor.locator("[aria-live]")).to_have_text(told)
    shot(monitor, "training-monitor-light")


def test_the_monitor_shows_a_date_being_written_with_what_is_wrong_underlined(monitor):
    written = monitor.get_by_role("table", name="“May 2024” as the model writes it")
    expect(written.get_by_role("rowheader")).to_have_text(["step 0", "step 10", "step 30"])
    expect(written.get_by_role("cell")).to_have_text(["7777777777", "2020…", "2024-05"])
    assert "".join(written.locator("tr").nth(1).locator(".att-wrong").all_inner_texts()) == "0"
    expect(written.locator("tr").nth(2).locator(".att-wrong")).to_have_count(0)


def test_the_monitor_can_be_read_as_a_table(monitor):
    press(monitor.get_by_role("button", name="Show as table"), "Enter")
    table = monitor.get_by_role("table", name="The training so far")
    expect(table.get_by_role("columnheader")).to_have_text(["step", "loss", "held-out dates right"])
    expect(table.get_by_role("rowheader")).to_have_text(["10", "20", "30"])
    expect(table.get_by_role("cell")).to_have_text(["0.28", "25 %", "0.03", "50 %", "0.0032", "75 %"])
    monitor.page.keyboard.press("Enter")
    expect(table).to_be_hidden()


def test_the_monitor_draws_curves(monitor):
    monitor.scroll_into_view_if_needed()
    pixels = "canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data"
    for canvas in monitor.locator("canvas").all():
        drawn = f"canvas => canvas.width && new Set({pixels}).size > 20"
        monitor.page.wait_for_function(drawn, arg=canvas.element_handle())


def test_arrow_keys_step_through_the_answer_and_say_where_it_looked(alignment):
    expect(alignment.locator(".att-written")).to_have_text("Expected 2024-05-03, guessed 2024-05-03.")
    press(application(alignment), "Control+Home", "ArrowDown", "ArrowDown", "ArrowDown")
    told = 'Character 4 of 11, "4": guessed "4". Looks most at "4" (character 10, 0.93)'
    expect(alignment.locator(".att-sum")).to_contain_text(told)
    expect(alignment.locator("[aria-live]")).to_contain_text(told)
    expect(alignment.locator(".att-summary")).to_contain_text('character 4 of 11, "4": guessed "4", looks most at "4"')
    expect(application(alignment)).to_be_focused()


def test_another_moment_head_and_date_are_chosen_by_keyboard(alignment):
    choose(alignment, "Training", "before")
    expect(alignment.locator(".att-written")).to_contain_text("guessed 7074-05-03")
    expect(alignment.locator("[aria-live]")).to_contain_text("guessed 7074-05-03")
    choose(alignment, "Training", "after")
    choose(alignment, "Heads", "head 1")
    expect(alignment.locator(".att-summary")).to_contain_text("after, head 1;")
    choose(alignment, "Date", "May 1999")
    expect(alignment.locator(".att-written")).to_have_text("Expected 1999-05, guessed 1999-05.")
    expect(alignment.locator(".att-sum")).to_contain_text("of 8")
    choose(alignment, "Date", "3 May 2024")


def test_the_weights_can_be_read_as_a_table(alignment):
    press(alignment.get_by_role("button", name="Show as table"), "Enter")
    weights = alignment.get_by_role("table", name="Weights")
    expect(weights.get_by_role("columnheader")).to_have_text([*"3␣May␣2024"])
    alignment.page.keyboard.press("Enter")
    expect(weights).to_be_hidden()


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_both_are_accessible_in_both_themes(monitor, alignment, notebook, axe, shot, theme):
    notebook.theme(theme, alignment.locator("canvas").last)
    for view, name in ((monitor, "training-monitor"), (alignment, "alignment")):
        view.scroll_into_view_if_needed()
        canvas = view.locator("canvas").last.element_handle()
        view.page.wait_for_function("canvas => canvas.clientWidth > 150", arg=canvas)
        shot(view, f"{name}-{theme}")
        assert axe(".att-view") == []
