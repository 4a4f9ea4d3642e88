"""What `make site` wrote: every page, every link leads somewhere, nothing comes from elsewhere, no solution."""

from __future__ import annotations

import re
import zipfile
from html import unescape
from pathlib import Path

import jinja2
import pydata_sphinx_theme
import pytest
import yaml
from nbformat import NotebookNode

from grader import __version__
from grader.authoring.notebook import loads
from grader.errors import LessonError
from grader.exercises.registry import exercises
from grader.regions import is_mark
from grader.report.text import headline
from grader.sentences import say
from grader.spec.evaluate import evaluate
from grader.subject.local import LocalSubject
from tests.test_make_environment import CPU_INDEX
from tests.website.conftest import ROOT, broken_links
from website.course import Course
from website.exercises import exercise_page
from website.index import write_index
from website.lessons import lesson_page
from website.pictures import Pictures
from website.start import WHEEL

THEME = Path(pydata_sphinx_theme.__file__).parent / "theme" / "pydata_sphinx_theme" / "static"
LESSONS = sorted(path.stem for path in (ROOT / "lessons").glob("*.py"))
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href", "video": "src"}
GUIDES = (
    "teaching",
    "grading",
    "operations",
    "threat-model",
    "course",
    "own-exercises",
    "jupyterhub",
    "elsewhere",
    "privacy",
    "accessibility",
    "build",
    "writing",
    "checks",
    "views",
)


def words(text):
    return " ".join(unescape(text).split())


def cells(folder, lesson):
    return loads((ROOT / folder / f"{lesson}.ipynb").read_text("utf-8")).cells


def test_there_is_a_page_for_each_lesson_exercise_and_document(pages):
    expected = [f"lessons/{name}.html" for name in LESSONS] + [f"exercises/{name}.html" for name in exercises()]
    expected += [f"docs/{name}.html" for name in GUIDES]
    expected += ["index.html", "search.html", "glossary.html", "reference.html", "CONTRIBUTING.html"]
    assert not set(expected) - set(pages)


def test_the_first_page_says_what_it_takes_and_what_is_shown_comes_from_the_lessons(site, pages):
    first = words(pages["index.html"].text)
    hours = round(sum(times.total for times in Course().times.values()) / 60)
    assert f"What you invest is your time, about {hours} hours for all twelve lessons" in first
    assert f"There are {len(exercises())} exercises" in first
    assert f"Version {__version__}," in first
    assert re.search(r"<\w[\w-]*>", first) is None  # no fact that wasn't filled in
    icon = next(tag["href"] for tag in pages["index.html"].all("link") if tag.get("rel") == "icon")
    assert (site / icon).is_file()


def test_a_lesson_without_what_the_first_page_shows_of_it_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("website.index.REPORT", ("00", "check(nobody"))
    with pytest.raises(
        LessonError, match=r"lessons/00_start_here.py:\d+: the first page shows the cell that begins 'check\(nobody'"
    ):
        write_index(Course(), tmp_path, tmp_path)


def test_every_link_leads_somewhere(site, pages_of):
    pages = {page.path.resolve(): page for found in pages_of.values() for page in found.values()}
    assert broken_links(site, pages.values(), pages) == []


def test_every_term_is_linked_where_its_lesson_introduces_it(pages):
    terms = Course().terms
    lessons = [pages[f"lessons/{name}.html"] for name in LESSONS]
    anchors = {one["href"] for page in lessons for one in page.all("a") if "#term-" in one.get("href", "")}
    assert len(anchors) == len(terms) > 60
    assert [page.name for page in lessons if "](#" in page.text] == []


def test_no_page_loads_anything_from_elsewhere(pages):
    loaded = [
        f"{page.name}: {attributes[LOADED[tag]]}"
        for page in pages.values()
        for tag, attributes in page.tags
        if tag in LOADED and re.match(r"(?:https?:)?//", attributes.get(LOADED[tag], ""))
    ]
    assert loaded == []


def test_style_sheets_load_nothing_from_elsewhere(site):
    found = [
        path.name
        for path in site.rglob("*.css")
        if re.search(r"(?:url\(|@import)\s*[\"']?https?:", path.read_text("utf-8"))
    ]
    assert found == []


def test_every_icon_is_drawn(site, pages):
    drawn = set(re.findall(r"\.(fa-[\w-]+) {\s+--drawing:", (site / "_static" / "icons.css").read_text("utf-8")))
    used = {
        name
        for page in pages.values()
        for tag in page.all("i", "span")
        for name in tag.get("class", "").split()
        if name.startswith("fa-") and name not in ("fa-solid", "fa-lg")
    }
    assert used == drawn


def test_style_sheets_hold_what_the_pages_use_and_little_else(site, pages):
    """The theme's alone has 378 KB as it comes."""
    sheets = {
        path.name: path.read_text("utf-8") for path in site.glob("_static/**/*.css") if path.parent.name != "views"
    }
    assert sum(map(len, sheets.values())) < 150_000
    ours, theme = sheets["pydata-sphinx-theme.css"], (THEME / "styles" / "pydata-sphinx-theme.css").read_text("utf-8")
    classes = {name for page in pages.values() for tag in page.all("div") for name in tag.get("class", "").split()}
    asked = [rf"(?:^|[{{}},]){re.escape(f'.{name}')}\{{" for name in sorted(classes)]
    lost = [one for one in asked if re.search(one, theme) and not re.search(one, ours)]
    assert classes
    assert not lost


def test_the_themes_styles_and_scripts_are_those_that_a_page_names():
    """templates/static/webpack-macros.html stands for the theme's own file, whatever its version."""
    named = re.findall(r"_static/([\w/.-]+)'", (THEME / "webpack-macros.html").read_text("utf-8"))
    ours = ("styles/pydata-sphinx-theme.css", "scripts/bootstrap.js", "scripts/pydata-sphinx-theme.js")
    assert set(named) == {*ours, "styles/theme.css", "scripts/fontawesome.js"}
    assert (THEME / "styles" / "theme.css").read_text("utf-8").splitlines()[-1] == '@import "../basic.css";'


def test_no_page_shows_a_model_solution(site, pages):
    """Lines of solutions that the students' notebooks don't have, as a later lesson gives some of them."""
    given = "\n".join(cell.source for name in LESSONS for cell in cells("notebooks", name))
    texts = {page.name: page.text for page in pages.values()}
    texts |= {path.name: path.read_text("utf-8") for path in (site / "downloads").glob("*.ipynb")}
    texts["searchindex.js"] = (site / "searchindex.js").read_text("utf-8")
    lines = [line for name in LESSONS for line in _solution_lines(name) if len(line) >= 25 and line not in given]
    assert len(lines) > 150
    whole = "\n".join(texts.values())
    leaked = [line for line in lines if line in whole]
    assert [(name, line) for line in leaked for name, text in texts.items() if line in text] == []


def test_a_teachers_pages_have_the_model_solutions(tmp_path):
    course, line = Course(solutions=True), "return query @ key.transpose(-2, -1)"
    lesson = course.lessons["01_self_attention"]
    assert line in str(lesson_page(course, lesson, Pictures(tmp_path, "..")))
    page = exercise_page(course, course.exercises["attention_scores"])
    assert line in page.partition('<details class="solution">')[2].partition("</details>")[0]


def _solution_lines(lesson):
    for cell in cells("solutions", lesson):
        if cell.metadata.get("course", {}).get("role") == "solution":
            inside = False
            for line in cell.source.splitlines():
                if is_mark(line):
                    inside = "BEGIN" in line
                elif inside:
                    yield line.strip()


def _is_a_plot_of_its_own(cell: NotebookNode) -> bool:
    """Whether a cell draws what differs from run to run, and answers no prediction: that stands open on the page."""
    kinds = {kind for output in cell.outputs for kind in output.get("data", {})}
    is_tried = cell.metadata.course["role"] == "try" and "nbval-ignore-output" in cell.metadata.get("tags", ())
    return is_tried and "image/png" in kinds and "text/markdown" not in kinds


@pytest.mark.parametrize("lesson", LESSONS)
def test_answers_of_predictions_are_folded(pages, lesson):
    page = pages[f"lessons/{lesson}.html"]
    folded, shown = words(page.folded), 0
    for cell in cells("solutions", lesson):
        if cell.metadata.get("course", {}).get("role") in ("answer", "try"):
            for output in cell.outputs:
                shown += 1
                printed = words(output.get("text", "")).strip()
                assert not printed or (printed in folded) != _is_a_plot_of_its_own(cell)
                # What stands between code, formulas, marks and addresses is on the page as it is.
                answer = re.sub(r"\]\([^)]*\)", "]", output.get("data", {}).get("text/markdown", ""))
                prose = re.split(r"[`$*\[\]<>|]|^(?:-|\d+\.) ", answer, flags=re.M)
                assert [piece for piece in map(words, prose) if len(piece) > 20 and piece not in folded] == []
    assert shown or lesson.startswith("00")


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lessons_pictures_have_sizes_and_words(pages, lesson):
    page = pages[f"lessons/{lesson}.html"]
    pictures = page.all("img")
    assert all(img.get("alt") and int(img.get("width", 0)) and int(img.get("height", 0)) for img in pictures)
    views = sum("png" in str(output) for cell in cells("solutions", lesson) for output in cell.get("outputs", []))
    assert len(pictures) == views


def test_an_exercises_page_has_its_hints_folded(pages):
    for exercise in exercises().values():
        page = pages[f"exercises/{exercise.name}.html"]
        hints = [hint.replace("`", "") for mistake in exercise.mistakes for hint in mistake.hints]
        folded = words(page.folded)
        assert [hint for hint in hints if words(hint) not in folded] == []
        assert exercise.kind != "answers" or "Hints" in page.text


def test_formulas_are_mathml(pages):
    formulas = sum(text.count("$") // 2 for text in map(_formulas, LESSONS))
    made = sum(len(pages[f"lessons/{name}.html"].all("math")) for name in LESSONS)
    assert made >= formulas > 5
    assert not [page.name for page in pages.values() if "mathjax" in str(page.all("script")).lower()]


def _formulas(lesson):
    prose = "\n".join(cell.source for cell in cells("solutions", lesson) if cell.cell_type == "markdown")
    prose = re.sub(r"(?s)```.*?```|`[^`\n]+`", "", prose)
    return prose.replace("$$", "$")


def test_without_addresses_in_the_settings_no_link_to_colab_is_shown(pages):
    page = pages["lessons/01_self_attention.html"]
    assert "Download the notebook" in page.text
    assert "Colab" not in page.text.partition("1 · The plain average fails")[0].partition("Do it yourself")[2]


def test_the_page_of_the_first_hour_has_every_system_and_the_commands_of_the_package(pages):
    page = pages["install.html"]
    assert {"linux", "macos", "windows", "conda", "google-colab"} <= page.ids
    readme = (ROOT / "release" / "student" / "README.md").read_text("utf-8")
    wheel = f"attention_course-{__version__}-py3-none-any.whl"
    blocks = re.findall(r"(?s)```(?:console|powershell)\n(.*?)```", readme)
    assert len(blocks) == 4
    for line in "".join(blocks).replace("{wheel}", wheel).replace("{index}", CPU_INDEX).splitlines():
        assert line in page.text
    assert f"downloads/attention-course-{__version__}-student.zip" in [one.get("href") for one in page.all("a")]
    assert not re.search(r"<[\w-]+>", page.text)


def test_the_package_to_download_has_that_wheel(site):
    with zipfile.ZipFile(site / "downloads" / f"attention-course-{__version__}-student.zip") as package:
        assert f"attention-course/{WHEEL}" in package.namelist()


def test_what_the_page_says_of_the_first_exercise_is_so(pages):
    report = evaluate(exercises()["first_steps"], LocalSubject({"first_steps": lambda x: 2 * x + 1}))
    assert headline(report) == "first_steps: passed, 1 of 1 points"
    assert "first_steps: passed, 1 of 1 points" in words(pages["install.html"].text)


def test_every_page_says_its_version_and_who_made_it_and_without_an_address_no_link_to_report_a_mistake(pages):
    for page in pages.values():
        foot = words(page.text.rpartition("Version ")[2])
        assert re.match(rf"{re.escape(__version__)}, \d\d \w+ \d{{4}} · The maintainers · .*MIT licence", foot), (
            page.name
        )
        assert "Report a mistake" not in foot, page.name


def test_with_the_repositorys_addresses_the_foot_leads_to_its_issues_with_the_pages_name():
    loader = jinja2.FileSystemLoader(ROOT / "website" / "templates")
    foot = jinja2.Environment(loader=loader, autoescape=True).get_template("about-this-page.html")
    addresses = {"repository": "https://example.org/course", "issues": "https://example.org/new?title={page}"}
    shown = foot.render(
        say=say,
        addresses=addresses,
        pagename="lessons/01_self_attention",
        pathto=lambda name, _: name,
        release="1",
        last_updated="today",
    )
    assert '<a href="https://example.org/course">Source</a>' in shown
    assert (
        '<a href="https://example.org/new?title=lessons/01_self_attention">Report a mistake on this page</a>' in shown
    )


def test_whoever_shares_a_page_shows_what_it_is_about_and_a_picture(site, pages):
    for name in ("index.html", "install.html", *(f"lessons/{lesson}.html" for lesson in LESSONS)):
        about = {one.get("name") or one.get("property"): one.get("content", "") for one in pages[name].all("meta")}
        assert len(about["description"]) >= 50, name
        assert about["og:description"] == about["description"]
        assert about["og:title"]
        assert (pages[name].path.parent / about["og:image"]).resolve().is_file()


def test_the_citation_is_of_this_version_and_is_on_the_page(pages):
    known = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert known["cff-version"] == "1.2.0"
    assert known["version"] == __version__
    assert known["license"] == "MIT"
    assert known["authors"][0]["name"].lower() in (ROOT / "LICENSE").read_text("utf-8").lower()
    assert f"{known['title']}. Version {__version__}." in words(pages["about.html"].text)


def test_there_is_no_sound_and_no_film(pages):
    assert [page.name for page in pages.values() if page.all("audio", "video", "object", "embed", "iframe")] == []


def test_every_page_has_a_language_and_a_title_of_its_own(pages):
    titles: dict[str, str] = {}
    for page in pages.values():
        assert page.all("html")[0]["lang"] == "en"
        title = re.search(r"(?s)<title>(.*?)</title>", page.path.read_text("utf-8"))
        assert title
        assert titles.setdefault(words(title[1]), page.name) == page.name


def test_menu_and_foot_are_the_same_on_every_page(pages):
    for page in pages.values():
        html = page.path.read_text("utf-8")
        menu = re.findall(r'(?s)<a class="nav-link[^"]*" href="[^"]*"[^>]*>\s*(.*?)\s*</a>', html)
        assert menu[:7] == [
            "Install and start",
            "Lessons",
            "Exercises",
            "Glossary",
            "For teachers",
            "For contributors",
            "Reference",
        ], page.name
        assert html.count('class="about-this-page"') == 1
