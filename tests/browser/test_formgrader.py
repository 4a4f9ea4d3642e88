"""Formgrader in a real browser: a teacher opens a graded course, goes to a submission, and reads the mark and what the
judge said. What the student wrote is shown and does nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.classroom import LESSON, answered, classroom_at, solved
from tools.lab import page_of, running_lab

IMAGE = "<img src=x onerror='window.harmed = 1'>"
SCRIPT = "<script>window.harmed = 1</script>"
# What a page that is open does for its reader: it asks for these without a click.
REQUESTS = (
    "<img src='/logout'> <img src='../../../logout'> ![](/logout) <img src='http:/logout'> "
    "<img src='https://pixel.example/1.png'> ![](//pixel.example/2.png) <img src='data:text/html,x'>"
)
# Bootstrap's classes make a box that covers the page and can't be seen, and hide what is on it.
OVER_ALL = (
    "<a class='modal show' href='https://elsewhere.example/'> </a> <div class='modal show'>"
    "<a class='navbar-fixed-top' style='position:fixed;inset:0' href='https://elsewhere.example/'>x</a></div>"
    "<area href='https://elsewhere.example/'><a href='/logout'>relative</a> <a href='http:/logout'>relative</a>"
)
DOT = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
FORGOTTEN = f'def first_steps(x):\n    print("{IMAGE} {SCRIPT}")\n    return 2 * x'


def harmful() -> bytes:
    """A wrong answer, with active HTML wherever a student can leave some."""
    notebook = answered(solved(), FORGOTTEN)
    output = {"output_type": "display_data", "metadata": {}, "data": {"text/html": IMAGE + SCRIPT}}
    cell = {"cell_type": "code", "metadata": {}, "source": "1", "outputs": [output], "execution_count": None}
    parts = (
        "**My notes.** " + IMAGE,
        SCRIPT,
        "[link](javascript:window.harmed=1)",
        REQUESTS,
        OVER_ALL,
        f"![dot]({DOT})",
    )
    text = "\n\n".join(parts)
    notebook["cells"][:0] = [{"cell_type": "markdown", "metadata": {}, "source": text}, cell]
    return json.dumps(notebook).encode()


@pytest.fixture(scope="module")
def formgrader(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Page]:
    """Formgrader's first page, on a course with one graded submission."""
    classroom = classroom_at(tmp_path_factory.mktemp("formgrader"))
    classroom.submit_directly("ann", harmful())
    classroom.steps(("course", "generate_assignment", LESSON), ("course", "autograde", LESSON))
    home: Path = tmp_path_factory.mktemp("home")
    with running_lab(classroom.course, home) as lab:
        page = page_of(browser)
        page.asked = []
        page.on("request", lambda request: page.asked.append(request.url))
        page.on("dialog", lambda dialog: pytest.fail(dialog.message))
        page.goto(f"{lab.url}/formgrader?token={lab.token}")
        yield page


def test_a_teacher_reads_the_mark_and_the_judges_words(formgrader: Page, shot):
    page = formgrader
    row = page.get_by_role("row", name=LESSON)
    expect(row).to_contain_text("1")  # one submission
    page.get_by_role("link", name="Manual Grading").click()
    page.get_by_role("link", name=LESSON).click()
    page.get_by_role("link", name=LESSON).last.click()
    page.get_by_role("link", name=re.compile("Submission #1")).click()
    report = page.locator("section", has_text="first_steps: 0.07 of 1 points")
    expect(report).to_be_visible()
    expect(report).to_contain_text("It looks like one-forgotten")
    expect(page.locator("input.score").first).to_have_attribute("placeholder", "0.07")
    expect(page.locator("textarea.comment").first).to_be_attached()
    expect(report.locator("pre")).to_contain_text(IMAGE)
    shot(page.locator("body"), "formgrader-submission")


def test_what_the_student_wrote_does_nothing(formgrader: Page):
    page = formgrader
    expect(page.get_by_text("My notes.")).to_be_visible()
    assert page.evaluate("window.harmed") is None
    assert page.locator("img[onerror], [href^='javascript:']").count() == 0
    assert not [text for text in page.locator("script").all_text_contents() if "harmed" in text]


def test_page_asks_for_nothing_that_the_student_wrote(formgrader: Page):
    page = formgrader
    expect(page.get_by_text("My notes.")).to_be_visible()
    assert not [url for url in page.asked if "logout" in url or "pixel.example" in url]
    assert page.locator(f"img[src='{DOT}']").count() == 1  # a picture in the text itself is shown
    response = page.reload()  # the teacher is still logged in
    assert response is not None
    assert response.url.endswith(page.url.split("/")[-1])
    expect(page.get_by_text("My notes.")).to_be_visible()


def test_nothing_of_the_students_lies_over_the_page(formgrader: Page):
    page = formgrader
    links = "a[href*='elsewhere.example'], a[href*='logout'], area"
    covered = """links => [...Array(400).keys()].filter(i => document
        .elementFromPoint(innerWidth * (i % 20 + .5) / 20, innerHeight * (Math.floor(i / 20) + .5) / 20)
        ?.closest(links)).length"""
    assert page.evaluate(covered, links) <= 2  # a link where it stands, as wide as its own text
    assert page.get_by_role("link", name="relative").count() == 0
    student = page.locator(".text_cell_render", has_text="My notes.")
    assert student.locator("[class], [style], [id]").count() == 0
    page.get_by_role("button", name="Full credit").first.click(trial=True)  # the page's own buttons can be reached


def test_formulas_library_from_elsewhere_is_not_needed(formgrader: Page):
    assert any("mathjax" in url.lower() for url in formgrader.refused)  # type: ignore[attr-defined]
