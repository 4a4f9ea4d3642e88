"""The pages in other languages in a browser: the switch stays at the paragraph, everything is said in the language, is
accessible, and fits a telephone."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.website.test_languages import CODES, Read
from tests.website.test_pages import CUT_HEADINGS, CUT_WORDS, LESSONS, PHONE, TOO_WIDE, faults, set_theme, views_of

# How far a place is below the header, in pixels.
BELOW = """id => document.getElementById(id).getBoundingClientRect().top
  - Math.max(0, document.querySelector(".bd-header").getBoundingClientRect().bottom)"""
# Puts a place just below the header.
GO = """id => {
  document.documentElement.style.scrollBehavior = "auto";
  const top = document.getElementById(id).getBoundingClientRect().top + scrollY;
  scrollTo(0, top - document.querySelector(".bd-header").offsetHeight - 2);
}"""
PLACES = """() => [...document.querySelectorAll("article p[id]")]
  .filter(one => one.checkVisibility() && one.offsetHeight).map(one => one.id)"""
KINDS = (
    "index",
    "install",
    "about",
    "glossary",
    "search",
    "lessons/index",
    "exercises/causal_mask",
    f"lessons/{LESSONS[4]}",
)


@pytest.fixture(params=["server", "disk"])
def start(request, address: str, site: Path, page: Page) -> str:
    """The address of the site: on a server, and on a disk."""
    if request.param == "disk":
        page.unroute_all()
        return site.as_uri()
    return address


def switch(page: Page, language: str) -> None:
    """Click where the switch is: `Locator.click` scrolls the page first, although the header stays in its place."""
    box = page.locator(f"a.language-switch[hreflang={language}]:visible").bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    there = "code => document.documentElement.lang === code && document.readyState === 'complete'"
    page.wait_for_function(there, arg=language)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("name", [f"lessons/{LESSONS[1]}", f"lessons/{LESSONS[6]}", "install", "exercises/causal_mask"])
def test_the_switch_stays_at_the_paragraph(page: Page, start: str, code: str, name: str):
    page.goto(f"{start}/{name}.html")
    places = page.evaluate(PLACES)
    for place in (places[len(places) // 3], places[2 * len(places) // 3]):
        page.goto("about:blank")  # else the browser may go back to where it was on this page
        page.goto(f"{start}/{name}.html")
        page.evaluate(GO, place)
        for language, folder in ((code, f"{code}/"), ("en", "")):
            switch(page, language)
            assert page.url == f"{start}/{folder}{name}.html#{place}"
            page.wait_for_function(f"place => Math.abs(({BELOW})(place)) < innerHeight / 2", arg=place)


@pytest.mark.parametrize("code", CODES)
def test_the_switch_keeps_an_anchor_that_is_seen_and_has_none_at_the_top(page: Page, address: str, code: str):
    name = f"lessons/{LESSONS[4]}.html"
    page.goto(f"{address}/{name}")
    switch(page, code)
    assert page.url == f"{address}/{code}/{name}"
    page.goto(f"{address}/{name}#section-2")
    switch(page, code)
    assert page.url == f"{address}/{code}/{name}#section-2"
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    switch(page, "en")
    assert "#" in page.url
    assert not page.url.endswith("#section-2")
    page.goto(f"{address}/docs/teaching.html")
    switch(page, code)
    assert page.url.startswith(f"{address}/{code}/index.html")


@pytest.mark.parametrize("code", CODES)
def test_without_scripts_the_switch_leads_to_the_same_page(browser: Browser, address: str, code: str):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/glossary.html")
    page.locator("a.language-switch:visible").first.click()
    page.wait_for_url(f"{address}/{code}/glossary.html")
    context.close()


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("lesson", LESSONS)
def test_views_are_alive_and_speak_the_language(page: Page, address: str, code: str, lesson: str):
    page.goto(f"{address}/{code}/lessons/{lesson}.html")
    figures = views_of(page)
    left = {figure.get_attribute("data-view"): Read(figure.evaluate("one => one.innerHTML")).left for figure in figures}
    assert {view: texts for view, texts in left.items() if texts} == {}
    set_theme(page, "light")
    assert faults(page, "article") == []
    page.set_viewport_size(PHONE)
    assert page.evaluate(TOO_WIDE) == 0
    assert page.evaluate(CUT_HEADINGS) == []
    assert page.evaluate(CUT_WORDS) == []
    set_theme(page, "dark")
    assert faults(page, "figure.course-view") == []
    assert page.refused == []
    assert page.wrong == []


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_page_is_accessible(page: Page, address: str, code: str, name: str, theme: str):
    page.goto(f"{address}/{code}/{name}.html")
    set_theme(page, theme)
    assert faults(page, "main") == []
    assert faults(page, "header") == []


@pytest.mark.parametrize("code", CODES)
def test_no_page_is_wider_than_a_telephone(page: Page, address: str, site: Path, code: str):
    page.set_viewport_size(PHONE)
    wide = {}
    for path in sorted((site / code).rglob("*.html")):
        name = path.relative_to(site).as_posix()
        if "_static" not in path.parts:
            page.goto(f"{address}/{name}")
            if by := page.evaluate(TOO_WIDE):
                wide[name] = by
    assert wide == {}


@pytest.mark.skipif("ko" not in CODES, reason="there are no Korean pages")
@pytest.mark.parametrize("asked", ["마스크", "마스크가"])
def test_the_search_finds_a_korean_word_with_any_particle(page: Page, address: str, asked: str):
    page.goto(f"{address}/ko/search.html?q={asked}")
    page.locator("#search-results li a").first.wait_for()
    page.wait_for_timeout(500)
    found = [str(one.get_attribute("href")) for one in page.locator("#search-results li a").all()]
    assert len(found) > 10
    assert any(LESSONS[4] in one for one in found)
