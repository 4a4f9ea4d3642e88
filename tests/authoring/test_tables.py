"""The tables of lessons in README.md and in a lesson follow the lessons."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.authoring import Repository, builder, verify
from grader.authoring.lesson import read_folder
from grader.authoring.readme import BEGIN, END, readme
from grader.errors import CommandFailed, CourseError

from .conftest import TOY

ABOUT = TOY.replace(
    "# jupyter:\n", "# jupyter:\n#   course:\n#     about: twice a number\n#     picture: a number line\n"
)
HEADING = ABOUT.replace("# # A lesson for the tests of the build", "# # 01 · Toys")
README = f"# Toys\n\n{BEGIN}\nwhatever was here\n{END}\n\nThe end\n"


@pytest.fixture
def course(built: Repository) -> Repository:
    (built.lessons / "01_toy.py").write_text(HEADING, "utf-8")
    (built.root / "README.md").write_text(README, "utf-8")
    return built


def test_readme_lists_lessons_with_subject_exercises_and_picture(course: Repository):
    builder.build(course, (), jobs=1, use_cache=True, tell=lambda _line: None)
    assert (course.root / "README.md").read_text("utf-8") == (
        f"# Toys\n\n{BEGIN}\n| lesson | about | exercises | in it |\n| --- | --- | --- | --- |\n"
        '| `01_toy` | twice a number | 2 | <img src="docs/pictures/01.png" alt="a number line" width="260"> |\n'
        f"{END}\n\nThe end\n"
    )
    verify(course, ())


def test_a_table_that_has_gone_stale_is_an_error(course: Repository):
    with pytest.raises(CommandFailed, match=r"README\.md: the table of lessons would change"):
        verify(course, ())


def test_a_readme_without_the_tables_place_is_an_error(course: Repository):
    (course.root / "README.md").write_text("# Toys\n")
    with pytest.raises(CourseError, match="the table of lessons belongs between the lines"):
        readme(course, read_folder(course.lessons).values())


def test_a_lesson_gets_the_table_of_all_others(tmp_path: Path):
    for name, text in {"01_toy": HEADING, "02_more": "# %% [markdown]\n# # 02 · More\n#\n# <!-- lessons -->\n"}.items():
        (tmp_path / f"{name}.py").write_text(text, "utf-8")
    lesson = read_folder(tmp_path)["02_more"]
    assert (
        lesson.cells[0].source
        == "# 02 · More\n\n| lesson | about |\n| --- | --- |\n| [01 Toys](01_toy.ipynb) | twice a number |"
    )
    assert "twice a number" in lesson.whole  # so that a changed table builds the lesson anew


def test_a_lesson_gets_the_table_of_letters(tmp_path: Path):
    (tmp_path / "01_toy.py").write_text("# %% [markdown]\n# # 01 · Toys\n#\n# <!-- letters -->\n", "utf-8")
    lines = read_folder(tmp_path)["01_toy"].cells[0].source.splitlines()
    assert lines[2:4] == ["| letter | name in code | meaning |", "| --- | --- | --- |"]
    assert "| `E` | `d_model` | width of a token's vector |" in lines
    assert "| `d_v` |  | width of a value |" in lines
    assert "| ε | `eps` | a small number that keeps a divisor away from zero |" in lines
