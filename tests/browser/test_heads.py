"""The head splitter in lesson 03, operated by keyboard alone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tools.lab import Excerpt, press

EXCERPT = Excerpt(
    "03_multi_head_attention",
    view="HeadSplitter(seq_len=3",
    start="Head splitter, 3 tokens, 2 heads of 2 columns, step 1 of 7, x: shape (3, 4), strides (4, 1), contiguous.",
)


def go(view: Locator, step: int) -> None:
    """To a step, by its button and the keyboard, and wait until the numbers have arrived."""
    button = view.locator("button.att-step").nth(step - 1)
    press(button, "Enter")
    expect(button).to_have_attribute("aria-current", "step")
    still(view)


def still(view: Locator) -> None:
    view.page.wait_for_function("() => document.getAnimations().every(one => one.playState === 'finished')")


def grid(view: Locator, name: str) -> list[list[str]]:
    rows = view.get_by_role("grid", name=name).locator("tbody tr").all()
    return [row.locator("td").all_inner_texts() for row in rows]


def test_next_goes_through_all_steps_and_back_to_the_start(view):
    heading = view.locator(".att-title")
    codes = ["cut = x.view(3, 2, 2)", "swapped = cut.transpose(0, 1)", "worked = swapped.contiguous()"]
    codes += ["back = worked.transpose(0, 1)", "copied = back.contiguous()", "joined = copied.view(3, 4)"]
    expect(heading).to_have_text("x")
    numbers = grid(view, "x, all tokens")
    view.get_by_role("button", name="Next").focus()
    for code in codes:
        view.page.keyboard.press("Enter")
        expect(heading).to_have_text(code)
    assert grid(view, "joined, all tokens") == numbers


def test_the_short_cut_stands_beside_and_its_mistakes_are_marked(view):
    go(view, 3)
    assert grid(view, "swapped, head 0") == [["00", "01"], ["10", "11"], ["20", "21"]]
    wrong = view.get_by_role("grid", name="Short cut: x.view(2, 3, 2), head 0")
    expect(wrong.locator("tbody tr").nth(1).locator("td").first).to_have_text("02✗, wrong: 10 belongs here")
    expect(view.locator(".att-misplaced")).to_have_count(8)
    expect(view).to_contain_text("8 of 12 numbers in the wrong place")
    expect(view.locator(".att-summary")).to_contain_text("swapped: shape (2, 3, 2), strides (2, 4, 1), not contig")


def test_arrow_keys_follow_a_number_through_tensor_and_memory(view):
    go(view, 3)
    press(view.locator("[tabindex='0'][data-number]"), "Control+Home", "ArrowRight", "ArrowRight", "ArrowDown")
    told = view.locator(".att-sum")
    expect(told).to_contain_text("12: token 1, column 2, head 1.")
    expect(told).to_contain_text("x[1, 2] → cut[1, 1, 0] → swapped[1, 1, 0].")
    expect(told).to_contain_text("place in memory: 1·2 + 1·4 + 0·1 = 6.")
    expect(told).to_contain_text("in the short cut: [1, 0, 0], where 02 belongs.")
    expect(view.locator("[aria-live]")).to_contain_text("12: token 1, column 2, head 1.")
    assert view.page.evaluate("document.activeElement.dataset.number") == "12"
    go(view, 4)
    expect(told).to_contain_text("place in memory: 1·6 + 1·2 + 0·1 = 8.")


def test_memory_changes_only_when_it_is_copied(view):
    def strip(name: str) -> list[str]:
        return view.get_by_role("list", name=name).locator("b").all_inner_texts()

    go(view, 3)
    assert strip("In memory")[:6] == ["00", "01", "02", "03", "10", "11"]
    assert strip("As the tensor reads it")[:6] == ["00", "01", "10", "11", "20", "21"]
    expect(view).to_contain_text("In memory, the same as in the step before")
    go(view, 4)
    assert strip("In memory") == strip("As the tensor reads it")
    expect(view).to_contain_text("In memory, rewritten by copying the numbers")
    go(view, 5)
    expect(view).to_contain_text("back.view(3, 4)RuntimeError: view size is not compatible")


def test_sizes_are_chosen_by_keyboard_and_computed_anew(view):
    go(view, 3)
    heads = view.get_by_label("Heads H")
    press(heads, "ArrowUp")
    expect(view.locator(".att-summary")).to_contain_text("1 head of 2 columns")
    expect(view).to_contain_text("0 of 6 numbers in the wrong place")
    press(heads, *["ArrowDown"] * 3)
    expect(view.locator(".att-summary")).to_contain_text("4 heads of 2 columns")
    assert view.get_by_label("Width of a head D").locator("option[disabled]").all_inner_texts() == ["3", "4", "5"]
    press(heads, *["ArrowUp"] * 2)
    expect(view.locator(".att-summary")).to_contain_text("2 heads of 2 columns")


def test_a_step_is_taken_at_once(view, at_once):
    go(view, 1)
    at_once(view.locator("button.att-step").nth(2), "Enter", view.locator(".att-tensors"))


@pytest.mark.parametrize("step", [3, 5])
@pytest.mark.parametrize("theme", ["dark", "light"])
def test_it_is_accessible_in_both_themes(view, notebook, axe, shot, theme, step):
    notebook.theme(theme)
    go(view, step)
    by_head = view.get_by_role("button", name="Colour by head" if theme == "dark" else "Colour by token")
    press(by_head, "Space")
    expect(by_head).to_have_attribute("aria-pressed", "true")
    view.locator("[tabindex='0'][data-number]").focus()
    shot(view, f"heads-{step}-{theme}")
    background = view.evaluate("view => getComputedStyle(view).backgroundColor")
    assert background == {"light": "rgb(255, 255, 255)", "dark": "rgb(17, 17, 17)"}[theme]
    assert axe(".att-view") == []
    assert view.page.refused == []
