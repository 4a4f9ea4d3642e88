"""The sampler in lesson 11, operated by keyboard alone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tools.lab import Excerpt, press

EXCERPT = Excerpt(
    "11_small_gpt",
    view="Sampler(course",
    start='Sampler after "Once there was a", temperature 1, top-k all, top-p all: 330 words stay, ',
    before=("import textwrap",),
)
START = "Once there was a"
WORD = r"(?: ?(?:(?<![\w'])[\w']+(?![\w'])|[^\w\s])|\n)"  # a mark is one too


def slide(view: Locator, name: str, *keys: str) -> Locator:
    slider = view.get_by_role("slider", name=name)
    press(slider, *keys)
    return slider


def text(view: Locator) -> Locator:
    return view.get_by_role("textbox", name="The text so far")


def button(view: Locator, name: str) -> Locator:
    return view.get_by_role("button", name=name, exact=True)


@pytest.fixture(autouse=True)
def fresh(view: Locator) -> None:
    """The prompt, and nothing cut."""
    slide(view, "Temperature", "Home", *["ArrowRight"] * 10)
    slide(view, "Top-k", "End")
    slide(view, "Top-p", "End")
    press(button(view, "Start again"), "Enter")
    expect(text(view)).to_have_value(START)
    expect(view.locator(".att-summary")).to_contain_text(EXCERPT.start)


def test_a_word_is_drawn_and_taken_back(view):
    press(button(view, "Draw one"), "Enter")
    expect(text(view)).to_have_value(re.compile(f"^{START}{WORD}$"))
    expect(view.locator("[aria-live]")).to_contain_text(re.compile(r"^Drawn: .+ stay"))
    expect(button(view, "Draw one")).to_be_focused()
    press(button(view, "Take back the last word"), "Enter")
    expect(text(view)).to_have_value(START)


def test_at_temperature_0_one_word_stays_and_the_text_is_always_the_same(view):
    expect(slide(view, "Temperature", "Home")).to_have_attribute("aria-valuetext", "Temperature 0")
    expect(view.locator("[aria-live]")).to_contain_text("1 word stays: ")
    expect(view.locator(".att-summary")).to_contain_text("temperature 0, top-k all, top-p all: 1 word stays")
    written = []
    for _ in range(2):
        press(button(view, "Start again"), "Enter")
        expect(text(view)).to_have_value(START)
        press(button(view, "Draw 40"), "Enter")
        expect(text(view)).to_have_value(re.compile(rf"^{START}{WORD}{{40}}$"), timeout=30_000)  # 40 answers
        written.append(text(view).input_value())
    assert written[0] == written[1]


def test_what_is_asked_before_the_model_has_read_the_text_waits_for_it(view):
    press(button(view, "Draw one"), "Enter")
    expect(text(view)).to_have_value(re.compile(f"^{START}{WORD}$"))
    kernel = "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel"
    view.page.evaluate(f"{kernel}.requestExecute({{ code: 'import time; time.sleep(2)' }}) && null")
    press(button(view, "Start again"), "Enter")
    press(button(view, "Draw 40"), "Enter")
    expect(text(view)).to_have_value(re.compile(rf"^{START}{WORD}{{40}}$"), timeout=30_000)


def test_browser_and_kernel_cut_alike(view):
    slide(view, "Temperature", *["ArrowRight"] * 5)
    slide(view, "Top-k", "Home", *["ArrowRight"] * 9)
    slide(view, "Top-p", *["ArrowLeft"] * 6)
    summary = view.locator(".att-summary")
    expect(summary).to_contain_text(re.compile(r"temperature 1\.5, top-k 10, top-p 0\.7(?!\d)"))
    stay = re.search(r"(\d+) words stay", summary.inner_text())
    assert stay
    assert 1 < int(stay[1]) < 10
    expect(view.locator(".att-sum code")).to_contain_text(f"{stay[1]} words stay: ")
    bars = view.get_by_role("button", name=re.compile("^Take .*: [1-9]"))
    expect(bars).to_have_count(int(stay[1]))


def test_a_word_can_be_chosen_and_a_text_be_typed(view):
    first = view.get_by_role("button", name=re.compile("^Take ")).nth(2)
    name = re.match(r"Take (.+): ", first.get_attribute("aria-label") or "")
    assert name
    press(first, "Enter")
    expect(text(view)).to_have_value(re.compile(f"^{START}{WORD}$"))
    expect(view.locator("[aria-live]")).to_contain_text(f"Taken: {name[1]}.")
    text(view).fill("Ida the ow")
    expect(view.locator(".att-summary")).to_contain_text('after "Ida the"')
    expect(text(view)).to_have_value("Ida the ow")  # half a word isn't known yet
    text(view).fill("Ida the owl möved")
    text(view).blur()
    expect(text(view)).to_have_value("Ida the owl")
    expect(view.locator(".att-summary")).to_contain_text('after "Ida the owl"')
    text(view).fill("")
    expect(view.locator(".att-summary")).to_contain_text('after "Ida the owl"')


def test_everything_can_be_read_as_a_table(view, axe, shot):
    slide(view, "Top-k", "Home", "ArrowRight", "ArrowRight")
    press(view.get_by_role("button", name="Show as table"), "Enter")
    table = view.get_by_role("table", name="All words, with the likeliest first")
    expect(table.get_by_role("row")).to_have_count(332)
    expect(table.get_by_role("row").nth(4).get_by_role("cell").last).to_have_text("0 %")
    shot(view, "sampler-table")
    assert axe(".att-view") == []
    view.page.keyboard.press("Enter")
    expect(table).to_be_hidden()


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_it_is_accessible_in_both_themes(view, notebook, axe, shot, theme):
    slide(view, "Top-p", *["ArrowLeft"] * 4)
    notebook.theme(theme)
    shot(view, f"sampler-{theme}")
    assert axe(".att-view") == []
    assert view.page.refused == []
