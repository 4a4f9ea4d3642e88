"""`grader grade`: one notebook without a course. That its marks are a course's is tested with the packages in
tests/release/test_elsewhere.py."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from grader.classroom.single import Settings, lesson_in
from grader.cli.main import main
from grader.judge.limits import Limits
from tests.classroom.conftest import ROOT, solved


def grade(*words: object):
    return CliRunner().invoke(main, ["grade", "--solutions", str(ROOT / "solutions"), *map(str, words)])


def test_one_notebook_is_graded_without_a_course(tmp_path):
    document = solved("def first_steps(x):\n    return x ** 2 + 1")
    for cell in document["cells"]:  # as Colab saves it, under another name
        cell["metadata"] = {}
        cell.pop("id", None)
    (tmp_path / "Copy of it.ipynb").write_text(json.dumps(document))
    done = grade(tmp_path / "Copy of it.ipynb", "--json")
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert said["lesson"] == "00_start_here"
    (exercise,) = said["exercises"]
    assert (exercise["name"], exercise["points"]) == ("first_steps", said["points"])
    assert 0 <= said["mark"] == exercise["mark"] < said["points"]
    assert exercise["diagnosis"]
    assert exercise["hints"]


@pytest.mark.parametrize("notebook", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_the_lesson_is_told_by_the_exercises_in_it(notebook):
    lessons = {path.stem: path for path in (ROOT / "solutions").glob("*.ipynb")}
    assert lesson_in(notebook, lessons, Settings(ROOT / "solutions", Limits())) == notebook.stem


@pytest.mark.parametrize(
    ("content", "words", "code", "said"),
    [
        ("{", [], 1, "it is not valid JSON"),
        ('{"cells": []}', [], 1, "none of the course's exercises is in it"),
        ("{}", ["--lesson", "99"], 2, "--lesson 99 is none of 00_start_here"),
        ("{}", ["--limit", "speed=3"], 2, "The names are check_seconds"),
        ("{}", ["--limit", "check_seconds=fast"], 2, "expected NAME=NUMBER"),
        ("{}", ["--limit", "check_seconds=nan"], 2, "a number above 0"),
    ],
)
def test_a_problem_is_a_sentence(tmp_path, content, words, code, said):
    (tmp_path / "one.ipynb").write_text(content)
    done = grade(tmp_path / "one.ipynb", *words)
    assert (done.exit_code, done.output.count("\n")) == (code, 1)
    assert said in done.output


def test_a_folder_needs_the_lesson(tmp_path):
    done = grade(tmp_path)
    assert done.exit_code == 2
    assert "say which lesson is in it" in done.output
