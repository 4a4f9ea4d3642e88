"""`grader grade`: one notebook without a course. That its marks are a course's is tested with the packages in
tests/release/test_elsewhere.py."""

from __future__ import annotations

import json
import random

import pytest
from click.testing import CliRunner

from grader.batch.single import Settings, lesson_in
from grader.cli.main import main
from grader.exercises.registry import exercises
from grader.judge.limits import Limits
from grader.report import ExerciseResult, PartResult
from tests.classroom import ROOT, solved


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
    assert sum(part["mark"] for part in exercise["parts"]) == pytest.approx(exercise["mark"])
    assert sum(part["points"] for part in exercise["parts"]) == pytest.approx(exercise["points"])
    assert {part["state"] for part in exercise["parts"]} > {"failed"}


@pytest.mark.parametrize("name", exercises())
def test_the_parts_points_add_up_to_the_exercises(name):
    """Whichever parts pass, whatever points a course gives, to the hundredth."""
    exercise, chance = exercises()[name], random.Random(name)
    for _ in range(40):
        passed = [chance.random() < 0.6 for _ in exercise.parts]
        parts = tuple(PartResult(part.name, ok, part.weight) for part, ok in zip(exercise.parts, passed, strict=True))
        score = 1.0 if all(passed) else sum(p.weight for p in parts if p.passed) / sum(p.weight for p in parts)
        carried = chance.choice([0.0, (1 - score) / 2])
        points = chance.choice([exercise.points, 7.5, 1, 0])
        result = ExerciseResult(name, points, score + carried, parts, carried=carried)
        earned, possible = (round(sum(numbers), 2) for numbers in zip(*result.part_points, strict=True))
        assert earned == (round(points * score, 2) if not carried else pytest.approx(points * score, abs=0.0051))
        assert possible == round(points, 2)
        assert all(0 <= got <= most for got, most in result.part_points)
        assert all(
            got == (most if part.passed else 0) for part, (got, most) in zip(parts, result.part_points, strict=True)
        )


def test_where_the_score_is_forfeited_no_part_has_earned_anything():
    parts = (PartResult("shape", True, 1.0), PartResult("values", True, 2.0), PartResult("by itself", False, 0.0))
    assert ExerciseResult("x", 2, 0.0, parts).part_points == ((0.0, 0.67), (0.0, 1.33), (0.0, 0.0))


@pytest.mark.parametrize("notebook", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_the_lesson_is_told_by_the_exercises_in_it(notebook):
    lessons = {path.stem: path for path in (ROOT / "solutions").glob("*.ipynb")}
    assert lesson_in(notebook, lessons, Settings(ROOT / "solutions", Limits())) == notebook.stem


@pytest.mark.parametrize(
    ("content", "words", "code", "said"),
    [
        ("{", [], 1, "it isn't valid JSON"),
        ('{"cells": []}', [], 1, "has none of the course's exercises"),
        ("{}", ["--lesson", "99"], 2, "--lesson 99 isn't one of 00_start_here"),
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
