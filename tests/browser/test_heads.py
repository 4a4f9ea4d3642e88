"""The head splitter in lesson 03, operated by keyboard alone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.lab import Lab, Notebook

NAME = "03_multi_head_attention.ipynb"
START = "Head splitter, 3 tokens, 2 heads of 2 columns, step 1 of 7, x: shape (3, 4), strides (4, 1), contiguous."


@pytest.fixture(scope="module")
def notebook(page: Page, lab: Lab) -> Notebook:
    opened = Notebook(page, lab, NAME)
    opened.theme("light")
    return opened


@pytest.fixture(scope="module")
def splitter(notebook: Notebook) -> Locator:
    cell = notebook.cell("HeadSplitter(seq_len=3")
    cell.scroll_into_view_if_needed()
    expect(cell.locator(".jp-OutputArea-output")).to_contain_text(START)  # before anything is run
    notebook.run_cell("HeadSplitter(seq_len=3")
    view = cell.locator(".att-view")
    view.wait_for()
    view.scroll_into_view_if_needed()
    return view


def go(view: Locator, step: int) -> None:
    """To a step, by its button and the keyboard, and wait until the numbers have arrived."""
    button = view.locator("button.att-step").nth(step - 1)
    button.focus()
    view.page.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-current", "step")
    still(view)


def still(view: Locator) -> None:
    view.page.wait_for_function("() => document.getAnimations().every(one => one.playState === 'finished')")


def grid(view: Locator, name: str) -> list[list[str]]:
    rows = view.get_by_role("grid", name=name).locator("tbody tr").all()
    return [row.locator("td").all_inner_texts() for row in rows]


def test_next_goes_through_all_steps_and_back_to_the_start(splitter):
    heading = splitter.locator(".att-title")
    codes = ["cut = x.view(3, 2, 2)", "swapped = cut.transpose(0, 1)", "worked = swapped.contiguous()"]
    codes += ["back = worked.transpose(0, 1)", "copied = back.contiguous()", "joined = copied.view(3, 4)"]
    expect(heading).to_have_text("x")
    numbers = grid(splitter, "x, all tokens")
    splitter.get_by_role("button", name="Next").focus()
    for code in codes:
        splitter.page.keyboard.press("Enter")
        expect(heading).to_have_text(code)
    assert grid(splitter, "joined, all tokens") == numbers


def test_the_short_cut_stands_beside_and_its_mistakes_are_marked(splitter):
    go(splitter, 3)
    assert grid(splitter, "swapped, head 0") == [["00", "01"], ["10", "11"], ["20", "21"]]
    wrong = splitter.get_by_role("grid", name="Short cut: x.view(2, 3, 2), head 0")
    expect(wrong.locator("tbody tr").nth(1).locator("td").first).to_have_text("02✗, wrong: 10 belongs here")
    expect(splitter.locator(".att-misplaced")).to_have_count(8)
    expect(splitter).to_contain_text("8 of 12 numbers in the wrong place")
    expect(splitter.locator(".att-summary")).to_contain_text("swapped: shape (2, 3, 2), strides (2, 4, 1), not contig")


def test_arrow_keys_follow_a_number_through_tensor_and_memory(splitter):
    go(splitter, 3)
    splitter.locator("[tabindex='0'][data-number]").focus()
    for key in ("Control+Home", "ArrowRight", "ArrowRight", "ArrowDown"):
        splitter.page.keyboard.press(key)
    told = splitter.locator(".att-sum")
    expect(told).to_contain_text("12: token 1, column 2, head 1.")
    expect(told).to_contain_text("x[1, 2] → cut[1, 1, 0] → swapped[1, 1, 0].")
    expect(told).to_contain_text("place in memory: 1·2 + 1·4 + 0·1 = 6.")
    expect(told).to_contain_text("in the short cut: [1, 0, 0], where 02 belongs.")
    expect(splitter.locator("[aria-live]")).to_contain_text("12: token 1, column 2, head 1.")
    assert splitter.page.evaluate("document.activeElement.dataset.number") == "12"
    go(splitter, 4)
    expect(told).to_contain_text("place in memory: 1·6 + 1·2 + 0·1 = 8.")


def test_memory_changes_only_when_it_is_copied(splitter):
    def strip(name: str) -> list[str]:
        return splitter.get_by_role("list", name=name).locator("b").all_inner_texts()

    go(splitter, 3)
    assert strip("In memory")[:6] == ["00", "01", "02", "03", "10", "11"]
    assert strip("As the tensor reads it")[:6] == ["00", "01", "10", "11", "20", "21"]
    expect(splitter).to_contain_text("In memory, the same as in the step before")
    go(splitter, 4)
    assert strip("In memory") == strip("As the tensor reads it")
    expect(splitter).to_contain_text("In memory, rewritten: the numbers were copied")
    go(splitter, 5)
    expect(splitter).to_contain_text("back.view(3, 4)RuntimeError: view size is not compatible")


def test_sizes_are_chosen_by_keyboard_and_computed_anew(splitter):
    go(splitter, 3)
    splitter.get_by_label("Heads H").focus()
    splitter.page.keyboard.press("ArrowUp")
    expect(splitter.locator(".att-summary")).to_contain_text("1 head of 2 columns")
    expect(splitter).to_contain_text("0 of 6 numbers in the wrong place")
    for _ in range(3):
        splitter.page.keyboard.press("ArrowDown")
    expect(splitter.locator(".att-summary")).to_contain_text("4 heads of 2 columns")
    assert splitter.get_by_label("Width of a head D").locator("option[disabled]").all_inner_texts() == ["3", "4", "5"]
    for _ in range(2):
        splitter.page.keyboard.press("ArrowUp")
    expect(splitter.locator(".att-summary")).to_contain_text("2 heads of 2 columns")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("step", [3, 5])
def test_it_is_accessible_in_both_themes(splitter, notebook, axe, shot, theme, step):
    notebook.theme(theme)
    go(splitter, step)
    by_head = splitter.get_by_role("button", name="Colour by head" if theme == "dark" else "Colour by token")
    by_head.focus()
    splitter.page.keyboard.press("Space")
    expect(by_head).to_have_attribute("aria-pressed", "true")
    splitter.locator("[tabindex='0'][data-number]").focus()
    shot(splitter, f"heads-{step}-{theme}")
    background = splitter.evaluate("view => getComputedStyle(view).backgroundColor")
    assert background == {"light": "rgb(255, 255, 255)", "dark": "rgb(17, 17, 17)"}[theme]
    assert axe(".att-view") == []
    assert splitter.page.refused == []
