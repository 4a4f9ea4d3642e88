"""The pages in other languages: the same pages with the same anchors, all of it said in the language, links that lead
somewhere, and the switch in the header."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from grader.learner.predict import Comparison
from tests.website.conftest import ROOT, VOID, Page
from website.course import Course
from website.exercises import exercise_page
from website.guides import is_in_english_alone
from website.outputs import CHECKED, OF, WRONG, outcome_of, report_on
from website.pages import write

CODES = [code for code in Course().languages if code != "en"]
BLOCKS = (
    "p",
    "li",
    "td",
    "th",
    "dt",
    "dd",
    "summary",
    "figcaption",
    "button",
    "caption",
    "label",
    "div",
    "option",
)
SAID = ("alt", "title", "aria-label", "placeholder")
# What is no prose: code, formulas, what is marked as English, which is what a lesson's own code shows and links to
# English pages.
NOT_READ = ("script", "style", "code", "pre", "math")
ENGLISH = re.compile(r"[A-Za-z][a-z’']+ [A-Za-z][a-z’']+")
# English that stays in every language, with the reason.
STAYS = {
    r"[:, ]*(?:Windows, macOS, Linux, conda, )?Google Colab#?": "names of products",
    r", Transformer Feed-Forward Layers Are Key-Value Memories\.": "the title of a paper",
    r"The authors of the attention course\. Attention and Transformers.*": "how to cite the course",
    r'[" ]*(?:The course needs Python 3\.11|python3: command not found|ensurepip is not|No matching distribution).*': (
        "what programs print, to be looked for"
    ),
    r'[ "]*(?:Float did not match Double|Sizes of tensors must match except|Subtraction, the operator, with|'
    r"Expected target size).*": "what torch says, to be looked for",
}


class Read(HTMLParser):
    """What is read on a page, element by element; `left` is what of it is English."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[tuple[str, bool]] = []
        self.text = ""
        self.left: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        is_elsewhere = str(found.get("href")).startswith("http")  # what others have written, by its authors and title
        skipped = tag in NOT_READ or "en" in (found.get("lang"), found.get("hreflang")) or is_elsewhere
        if not self.is_skipped:
            for name in SAID:
                self.keep(found.get(name) or "")
            if found.get("name", found.get("property")) in ("description", "og:description", "og:title"):
                self.keep(found["content"] or "")
        if tag not in VOID:
            if tag in BLOCKS or re.fullmatch(r"h\d", tag):
                self.end()
            self.open.append((tag, skipped))

    def handle_endtag(self, tag):
        if tag in BLOCKS or re.fullmatch(r"h\d", tag):
            self.end()
        while any(tag == name for name, _ in self.open) and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        self.text += "" if self.is_skipped else data

    @property
    def is_skipped(self) -> bool:
        return any(skipped for _, skipped in self.open)

    def end(self) -> None:
        text, self.text = " ".join(self.text.split()), ""
        self.keep(text)

    def keep(self, text: str) -> None:
        stays = any(re.fullmatch(pattern, text.strip(), re.DOTALL) for pattern in STAYS)
        if ENGLISH.search(text) and not re.search("[가-힣]", text) and not stays:
            self.left.append(text)


@pytest.fixture(params=CODES)
def code(request) -> str:
    return request.param


@pytest.fixture
def others(code, pages_of) -> dict[str, Page]:
    """The pages in the other language."""
    return pages_of[code]


@pytest.fixture
def pairs(pages, others) -> list[tuple[Page, Page]]:
    """The English and the other page of each name."""
    return [(pages[name], page) for name, page in others.items()]


def test_there_is_a_page_for_each_english_one_that_is_no_document(pages, others):
    expected = {name for name in pages if not is_in_english_alone(name.removesuffix(".html"))}
    assert set(others) == expected
    assert len(expected) > 100


def test_both_pages_have_the_same_anchors(pairs):
    for english, other in pairs:
        assert english.ids ^ other.ids == set(), english.name


def test_a_paragraph_of_a_lesson_has_an_anchor(pairs):
    for english, _other in pairs:
        named = [one for one in english.all("p") if re.fullmatch(r"[\w.-]+-\d+", one.get("id", ""))]
        assert len(named) > 30 or not re.match(r"lessons/\d", english.name)


def test_nothing_is_left_in_english_but_code_outputs_and_what_is_listed(pairs):
    left = {other.name: found for _, other in pairs if (found := Read(other.path.read_text("utf-8")).left)}
    assert left == {}


def test_what_is_left_in_english_is_found():
    assert Read("<p>한국어</p><p>This is left here.</p>").left == ["This is left here."]
    assert Read('<img alt="A plot of the loss"><p lang="en">This is an output.</p>').left == ["A plot of the loss"]


def test_a_page_knows_its_language_and_where_it_is_in_others(code, pages, others, site):
    for page in [*pages.values(), *others.values()]:
        is_other = page in others.values()
        assert page.all("html")[0]["lang"] == (code if is_other else "en"), page.name
        name = page.name.removeprefix(f"{code}/")
        is_alone = is_in_english_alone(name.removesuffix(".html"))
        switch = [one for one in page.all("a") if "language-switch" in one.get("class", "")]
        assert switch
        wanted = name if is_other else f"{code}/{'index.html' if is_alone else name}"
        for link in switch:
            assert (page.path.parent / link["href"]).resolve() == (site / wanted).resolve()
            assert link["lang"] == link["hreflang"] == ("en" if is_other else code)
        alternates = {one["hreflang"]: one["href"] for one in page.all("link") if one.get("rel") == "alternate"}
        assert set(alternates) == (set() if is_alone else {"en", code})
        for language, address in alternates.items():
            target = site / (name if language == "en" else f"{language}/{name}")
            assert (page.path.parent / address).resolve() == target.resolve()


def test_titles_differ_and_say_what_the_page_is(pairs):
    titles: dict[str, str] = {}
    for _, other in pairs:
        title = re.search(r"(?s)<title>(.*?)</title>", other.path.read_text("utf-8"))
        assert title
        assert titles.setdefault(" ".join(title[1].split()), other.name) == other.name


def test_whoever_shares_a_page_shows_what_it_is_about_in_its_language(code, others):
    for name in ("index.html", "install.html", *(f"lessons/{lesson}.html" for lesson in Course().lessons)):
        page = others[name]
        about = {one.get("name") or one.get("property"): one.get("content", "") for one in page.all("meta")}
        assert re.search("[가-힣]", about["description"]) or code != "ko"
        assert (page.path.parent / about["og:image"]).resolve().is_file()


def test_every_term_is_linked_where_its_lesson_introduces_it(code, others):
    lessons = [others[f"lessons/{name}.html"] for name in Course().lessons]
    anchors = {one["href"] for page in lessons for one in page.all("a") if "#term-" in one.get("href", "")}
    assert len(anchors) == len(Course().terms)


def test_the_students_package_is_one_for_all_languages(site, code, others):
    packages = [one.relative_to(site).as_posix() for one in site.rglob("*.zip")]
    assert len(packages) == 1
    links = [one.get("href", "") for one in others["install.html"].all("a")]
    assert f"../{packages[0]}" in links
    notebooks = {one.name for one in (site / code / "downloads").iterdir()}
    assert notebooks == {f"{name}.ipynb" for name in Course().lessons}
    assert (site / code / "downloads" / "00_start_here.ipynb").read_bytes() == (
        ROOT / "notebooks" / code / "00_start_here.ipynb"
    ).read_bytes()


def test_what_the_course_shows_again_is_what_was_stored():
    """In English, where both are there."""
    course, shown = Course(), 0
    for lesson in course.lessons.values():
        cells = course.solved(lesson).cells
        for above, cell in zip([None, *cells], cells, strict=False):
            if cell.source == CHECKED.format(name=WRONG, exercise=OF):
                assert report_on(above.source, course.exercises[OF]) == cell.outputs[0].data["text/html"]
                shown += 1
            for output in cell.get("outputs", ()):
                outcome = outcome_of(output.get("data", {}).get("text/plain", ""))
                if outcome and "text/html" in output.data:
                    assert Comparison("", outcome, "")._repr_html_() == output.data["text/html"]
                    shown += 1
    assert shown > 40


def test_a_third_language_needs_a_catalogue_and_no_code(tmp_path):
    course = Course().in_language("fr")
    vars(course)["translations"] = {
        "Hints": "Indices",
        "04 · Masks": "04 · Masques",
        "Hint {number}": "Indice {number}",
    }
    write(course, tmp_path / "causal_mask.md", exercise_page, course.exercises["causal_mask"])
    page = (tmp_path / "causal_mask.md").read_text("utf-8")
    assert "{.id-hints .slug-hints}\n## Indices" in page
    assert "<summary>Indice 2</summary>" in page
    assert "Masques](../lessons/04_masking.ipynb)" in page
    assert "## What you get" in page  # which has no translation
