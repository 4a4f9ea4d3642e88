"""A lesson by its name, number or file, the same in every command."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.authoring.repository import Repository
from grader.course.class_directory import ClassDirectory
from grader.errors import CourseError
from grader.lesson_names import choose

LESSONS = ["00_start_here", "01_self_attention", "10_reading_attention"]
SAME = ["1", "01", "001", "01_self", "01_self_attention", "01_self_attention.ipynb", "lessons/01_self_attention.py"]


@pytest.fixture
def places(tmp_path: Path) -> Path:
    """A repository that is a course directory as well."""
    (tmp_path / "lessons").mkdir()
    (tmp_path / "nbgrader_config.py").write_text("c = get_config()\n")
    for name in LESSONS:
        (tmp_path / "lessons" / f"{name}.py").write_text("")
        (tmp_path / "source" / name).mkdir(parents=True)
        (tmp_path / "source" / name / f"{name}.ipynb").write_text("{}")
    return tmp_path


@pytest.mark.parametrize("wanted", SAME)
def test_lesson_is_found_by_name_number_and_file_in_build_and_autograde(places, wanted):
    assert choose(wanted, LESSONS) == "01_self_attention"
    assert Repository(places, {}).choose([wanted]) == ["01_self_attention"]
    assert ClassDirectory(places, wanted).lesson == "01_self_attention"


@pytest.mark.parametrize("wanted", ["", "2", "-1", "1.5", "self_attention", "01_self_attention_2", "²"])
def test_what_is_no_lesson_is_refused(places, wanted):
    assert choose(wanted, LESSONS) is None
    with pytest.raises(CourseError, match="There is no lesson"):
        Repository(places, {}).choose([wanted])
    with pytest.raises(CourseError, match="isn't one of the lessons"):
        ClassDirectory(places, wanted)


def test_teachers_own_names_are_found():
    assert choose("homework1.2", ["homework1", "homework1.2"]) == "homework1.2"
    assert choose("ps1", ["ps1_intro", "ps2_more"]) == "ps1_intro"
    assert choose("ps", ["ps_1", "ps_2"]) is None
