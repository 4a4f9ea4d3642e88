"""Where a lesson names another lesson, a section or a paper, it is a link; what leads nowhere ends the build."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from grader.authoring.lesson import read_folder
from grader.authoring.links import PAPERS, Places
from grader.authoring.prose import filled
from grader.authoring.rules import problems

LESSONS = Path(__file__).parents[2] / "lessons"
JAIN, NONE, BY = "https://arxiv.org/abs/1902.10186", "none: it is a letter", "https://example.org/by"
PLACES = Places(
    names={"01": "01_one", "02": "02_two", "03": "03_three"},
    sections={"01": frozenset({"1", "4", "10"}), "02": frozenset({"5"})},
    papers={"Jain 2019": JAIN, "Noether 1918": NONE, "by 2020": BY, "Ouch 2021": "http://x.org"},
)


@pytest.mark.parametrize(
    ("text", "linked"),
    [
        ("Lessons 01, 02 and 03;", "Lessons 01, [02](02_two.ipynb) and [03](03_three.ipynb);"),
        (
            "lessons 02 (of 12 words, `n`), 03 (masks) and 01",
            "lessons [02](02_two.ipynb) (of 12 words, `n`), [03](03_three.ipynb) (masks) and 01",
        ),
        (
            "lesson 02 (a) and lesson 03 (b), 12",
            "[lesson 02](02_two.ipynb) (a) and [lesson 03](03_three.ipynb) (b), 12",
        ),
        ("lesson 02's `lesson 03`.", "[lesson 02](02_two.ipynb)'s `lesson 03`."),
        ("**Next lesson:** 02", "**Next lesson:** [02](02_two.ipynb)"),
        ("(section 4)", "([section 4](#section-4))"),
        ("Sections 1, 4 and 10.", "Sections [1](#section-1), [4](#section-4) and [10](#section-10)."),
        ("In section 4, 2000 rows", "In [section 4](#section-4), 2000 rows"),
        ("section 5 of lesson 02", "[section 5 of lesson 02](02_two.ipynb#section-5)"),
        ("lesson 02's section 5", "[lesson 02's section 5](02_two.ipynb#section-5)"),
        ("lesson 02 (section 5)", "lesson 02 ([section 5](02_two.ipynb#section-5))"),
        ("The paper (section 4.2) and sections 4.1 and 4", "The paper (section 4.2) and sections 4.1 and 4"),
        ("Jain and Wallace (2019)", f"[Jain and Wallace (2019)]({JAIN})"),
        ("As Jain et al.\n(2019) say", f"As [Jain et al.\n(2019)]({JAIN}) say"),
        ("Both Jain and Wallace 2019", f"Both [Jain and Wallace 2019]({JAIN})"),
        ("(Jain 2019, section 4)", f"([Jain 2019]({JAIN}), section 4)"),
        ("Jain et al. (2019,\nsection 4) say", f"[Jain et al.]({JAIN}) (2019,\nsection 4) say"),
        (
            "Jain, Foo and Bar (2019), *A Title* (JFB), section 4: our section 4.",
            f"[Jain, Foo and Bar (2019)]({JAIN}), *A Title* (JFB), section 4: our [section 4](#section-4).",
        ),
        ("by (2020), (by 2020), by 2020", f"[by (2020)]({BY}), ([by 2020]({BY})), by 2020"),
        ("Noether (1918)", "Noether (1918)"),
        ("on 6 August 1939, in May 2024 or (2048)", "on 6 August 1939, in May 2024 or (2048)"),
        ("## 1 · Jain (2019)\n\n`Jain (2019)`, $4$", "## 1 · Jain (2019)\n\n`Jain (2019)`, $4$"),
    ],
)
def test_what_a_lesson_names_is_a_link(text: str, linked: str):
    assert PLACES.linked(text, "01") == linked
    assert not any(link.wrong for link in PLACES.links(text, "01"))


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("lesson 07", "there is no lesson 07"),
        ("section 4 of lesson 07", "there is no lesson 07"),
        ("sections 1 and 2", "lesson 01 has no section 2"),
        ("lesson 02's section 4", "lesson 02 has no section 4"),
        (
            "Foo\net al. (2019)",
            'lessons/papers.toml has no address of Foo et al. (2019); write there "Foo 2019" = "https://…", '
            'or "none: " and why there is no address',
        ),
        ("(Jain 2018)", 'lessons/papers.toml has no address of Jain 2018; write there "Jain 2018"'),
        ("Ouch (2021)", "lessons/papers.toml has 'http://x.org' as the address of Ouch (2021); write there"),
    ],
)
def test_what_leads_nowhere_is_named(text: str, wrong: str):
    (found,) = (link.wrong for link in PLACES.links(text, "01") if link.wrong)
    assert found.startswith(wrong)


def test_a_link_that_leads_nowhere_is_an_error_with_its_line(tmp_path: Path):
    text = "# %% [markdown]\n# # 01 · Toys\n#\n# ## 1 · One\n#\n# See section 1,\n# section 2 and Foo (2019).\n"
    (tmp_path / "01_toy.py").write_text(text, "utf-8")
    (tmp_path / PAPERS).write_text('"Foo 2018" = "https://example.org"\n', "utf-8")
    lesson = read_folder(tmp_path)["01_toy"]
    wrong = [str(problem) for problem in problems(lesson, {})]
    assert wrong[0] == "lessons/01_toy.py:7: lesson 01 has no section 2"
    assert wrong[1].startswith("lessons/01_toy.py:7: lessons/papers.toml has no address of Foo (2019)")
    assert '<a id="section-1"></a>\n\n## 1 · One' in (*filled(lesson),)[0]
    assert "See [section 1](#section-1)," in lesson.whole  # so that a new address builds the lesson anew


def test_every_address_is_of_a_paper_that_a_lesson_cites():
    papers = tomllib.loads((LESSONS / PAPERS).read_text("utf-8"))
    lessons = read_folder(LESSONS).values()
    cited = {link.to for lesson in lessons for cell in lesson.cells for link in lesson.places.links(cell.source, "")}
    assert [paper for paper, address in papers.items() if address not in cited] == []
    assert len({*papers.values()}) == len(papers)
