"""A page of feedback as a student reads it: without the network, in light and dark, on paper and on a telephone."""

from __future__ import annotations

import json
import re
from contextlib import suppress

import pytest
from playwright.sync_api import Browser, Error, Page, expect

from grader.book.rebuild import dump, rebuild
from grader.book.shown import CellMark, FeedbackMarks
from grader.course.release import Release
from grader.feedback.page import Feedback
from grader.judge.limits import Limits
from grader.judge.outline import Outline
from grader.judge.result import SubmissionResult
from grader.report import ExerciseResult, PartResult
from tests.browser.conftest import AXE, ROOT, SCREENSHOTS
from tools.lab import page_of

LESSON = "05_normalization"  # with formulas
HARM = (
    "<script>window.harmed = 1</script><img alt='' src='https://pixel.example/1.png'> "
    "<a class='graded' style='position:fixed;inset:0' href='https://elsewhere.example/'>over all</a> "
    "$\\href{javascript:window.harmed=1}{x}$\n\n```\n" + "long_" * 60 + "\n```"
)
HINTS = ("Look at the axis.", "Count the axes.")
PARTS = (
    PartResult("returns the right shape", True, 1),
    PartResult("the right values", False, 1, "values", "`y` differs."),
)


@pytest.fixture(scope="module")
def feedback() -> str:
    """Of the longest text with formulas: an exercise is right, one wrong, one waits for a teacher."""
    source = (ROOT / "solutions" / f"{LESSON}.ipynb").read_bytes()
    document = json.loads(source)
    document["cells"][1:1] = [{"cell_type": "markdown", "id": "harm", "metadata": {}, "source": HARM}]
    names = [
        cell["metadata"]["course"]["exercise"]
        for cell in document["cells"]
        if cell["metadata"].get("course", {}).get("role") == "check"
    ]
    states = ("full", "part", "open", *["full"] * len(names))
    results, marks = [], {}
    for name, state in zip(names, states, strict=False):
        score = 1.0 if state == "full" else 0.5
        more = (
            {}
            if state == "full"
            else {"diagnosis": "wrong-axis", "symptom": "the mean is over the batch", "hints": HINTS}
        )
        results.append(
            ExerciseResult(name, 2, score, PARTS[: 1 if state == "full" else 2], **more, output="printed " * 40)
        )
        marks[f"{name}-check"] = CellMark(2 * score, 2, 0, False, state == "open")
    made = rebuild(
        Outline.of(source), json.dumps(document).encode(), SubmissionResult(tuple(results)), Release(), Limits()
    )
    comments = {names[1]: ("", "Come to my *office*: $\\frac{1}{N}$")}
    return Feedback(dump(made), FeedbackMarks(marks, comments, 1.5), LESSON, "ann").page()


def opened(browser: Browser, html: str, width: int, scheme: str) -> Page:
    page = page_of(browser, width)
    page.emulate_media(color_scheme=scheme)
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    page.set_content(html)
    return page


def test_page_is_small(feedback):
    assert 50_000 < len(feedback.encode()) < 300_000


@pytest.mark.parametrize(("width", "scheme"), [(1000, "light"), (1000, "dark"), (360, "light")])
def test_page_is_read_by_everybody_and_asks_for_nothing(browser, feedback, width, scheme):
    page = opened(browser, feedback, width, scheme)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    with suppress(Error):  # for people to look at: on a busy machine Chromium may have no picture of a whole page
        page.screenshot(path=SCREENSHOTS / f"feedback-{scheme}-{width}.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(22, 22, 22)" if scheme == "dark" else "rgb(255, 255, 255)")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("() => window.axe.run()")
    assert found["passes"]
    assert not [one for one in found["violations"] if one["impact"] in ("serious", "critical")], found["violations"]
    assert not asked
    assert not page.refused  # type: ignore[attr-defined]
    assert page.evaluate("window.harmed") is None
    assert page.locator("math").count() > 3
    page.close()


def test_summary_leads_to_the_answer_and_to_what_the_teacher_wrote(browser, feedback):
    page = opened(browser, feedback, 1000, "light")
    row = page.locator(".rows li.part")
    expect(row).to_contain_text("It looks like wrong-axis: the mean is over the batch")
    expect(row).to_contain_text("Look at the axis.")
    row.get_by_role("link", name=re.compile("^[a-z_]+$")).click()
    target = page.locator(":target")
    expect(target).to_be_in_viewport()
    expect(target).to_contain_text("Your answer:")
    page.locator("li.part").get_by_role("link", name="Your teacher wrote").click()
    expect(page.locator(":target")).to_be_in_viewport()
    expect(page.get_by_text("Come to my office")).to_be_visible()
    covered = "[...document.querySelectorAll('main a')].filter(a => getComputedStyle(a).position === 'fixed').length"
    assert page.evaluate(covered) == 0
    page.close()


def test_page_is_printed_on_white_and_whole(browser, feedback):
    page = opened(browser, feedback, 794, "dark")
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator(".up").first.is_hidden()
    wide = "[...document.querySelectorAll('pre')].filter(pre => pre.scrollWidth > pre.clientWidth).length"
    assert page.evaluate(wide) == 0  # nothing is cut off
    page.close()
