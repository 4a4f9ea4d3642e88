"""Gradescope's and PrairieLearn's packages: each grades a few of the sample class as `grader autograde` does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from demo.sample_class import CLASS, LESSON
from grader.batch.run import Options, run
from grader.cli.main import main
from grader.exercises.registry import exercises
from grader.source.create import create
from tests.release.test_release import ROOT, released

BIN = Path(sys.executable).parent
POINTS = sum(exercise.points for exercise in exercises().values() if exercise.lesson == LESSON)
STUDENTS = ("dorothy", "grace", "sophie")  # right, and saved by Colab; a named mistake; cut off half way


@pytest.fixture(scope="module")
def marks(tmp_path_factory) -> dict[str, float]:
    """What a course gives."""
    folder = tmp_path_factory.mktemp("elsewhere")
    (folder / "solutions").mkdir()
    (folder / "solutions" / f"{LESSON}.ipynb").write_bytes((ROOT / "solutions" / f"{LESSON}.ipynb").read_bytes())
    create(folder / "course", folder / "solutions", "elsewhere")
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    command = [str(BIN / "nbgrader"), "generate_assignment", LESSON]
    subprocess.run(command, cwd=folder / "course", env=environment, check=True, capture_output=True)
    for student in STUDENTS:
        place = folder / "course" / "submitted" / student / LESSON
        place.mkdir(parents=True)
        (place / f"{LESSON}.ipynb").write_bytes(CLASS[student]())
    outcome = run(folder / "course", LESSON, Options(workers=1, add_students=True))
    return {student: mark.score for student, mark in outcome.marks.items()}


def unpacked(folder: Path, *options: str) -> Path:
    """A package, where its platform would unpack it; the scripts can be run."""
    with zipfile.ZipFile(released(folder, *options)) as archive:
        archive.extractall(folder / "unpacked")
        for entry in archive.infolist():
            (folder / "unpacked" / entry.filename).chmod(entry.external_attr >> 16)
    return folder / "unpacked"


@pytest.fixture(scope="module")
def gradescope(tmp_path_factory) -> Path:
    return unpacked(tmp_path_factory.mktemp("gradescope"), "--gradescope", "01", "--visibility", "after_due_date")


@pytest.fixture(scope="module")
def prairielearn(tmp_path_factory) -> Path:
    return unpacked(tmp_path_factory.mktemp("prairielearn"), "--prairielearn", "1")


def graded(script: Path, here: Path, student: str, folder: str) -> dict[str, object]:
    """The results.json that a platform's script writes in `here`."""
    (here / folder).mkdir(exist_ok=True)
    (here / folder / f"{LESSON}.ipynb").write_bytes(CLASS[student]())
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run([str(script)], cwd=here, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads((here / "results" / "results.json").read_text())


def test_packages_hold_one_lesson_and_a_secret_of_their_own(gradescope, prairielearn):
    question = prairielearn / "questions" / LESSON
    for folder, installer in ((gradescope, "setup.sh"), (question / "tests", "../../../image/Dockerfile")):
        assert [path.name for path in (folder / "solutions").iterdir()] == [f"{LESSON}.ipynb"]
        text = (folder / installer).read_text()
        (wheel,) = (folder / installer).parent.glob("*.whl")
        assert "{" not in text
        assert all(name in text for name in (wheel.name, "bubblewrap", "requirements.lock"))
        assert (wheel.parent / "requirements.lock").is_file()
    assert (gradescope / "judge_secret").read_text() != (question / "tests" / "judge_secret").read_text()
    about = json.loads((question / "info.json").read_text())
    assert about["externalGradingOptions"]["entrypoint"] == "/grade/tests/run.sh"


def test_gradescope_gives_the_marks_of_a_course(marks, gradescope, tmp_path):
    (tmp_path / "source").symlink_to(gradescope)
    (gradescope / ".venv" / "bin").mkdir(parents=True)
    (gradescope / ".venv" / "bin" / "grader").symlink_to(BIN / "grader")
    (tmp_path / "run_autograder").symlink_to(gradescope / "run_autograder")
    for student in STUDENTS:
        results = graded(tmp_path / "run_autograder", tmp_path, student, "submission")
        tests = results["tests"]
        assert results["score"] == marks[student]
        assert round(sum(test["score"] for test in tests), 2) == marks[student]
        assert sum(test["max_score"] for test in tests) == POINTS
        assert {results["visibility"], *(test["visibility"] for test in tests)} == {"after_due_date"}
        if student == "grace":
            failed = next(test for test in tests if test["status"] == "failed")
            assert failed["name"] == "scaled_dot_product_attention"
            assert "It looks like no-scaling" in failed["output"]
            assert "Hint: " in failed["output"]
        if student == "sophie":
            assert "was it cut off?" in results["output"]


def test_prairielearn_gives_the_marks_of_a_course(marks, prairielearn, tmp_path):
    (tmp_path / "tests").symlink_to(prairielearn / "questions" / LESSON / "tests")
    for student in STUDENTS:
        results = graded(tmp_path / "tests" / "run.sh", tmp_path, student, "student")
        if student == "sophie":
            assert results["gradable"] is False
            assert "was it cut off?" in results["format_errors"][0]
            continue
        assert results["score"] == pytest.approx(marks[student] / POINTS, abs=1e-6)
        assert round(sum(test["points"] for test in results["tests"]), 2) == marks[student]
        assert any("Hint: " in test["output"] for test in results["tests"]) == (student == "grace")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--gradescope", "77"], "'77' isn't one of the lessons"),
        (["--gradescope", "01", "--teacher"], "Make one package at a time"),
    ],
)
def test_what_cannot_be_packed_is_a_sentence(monkeypatch, options, said):
    monkeypatch.chdir(ROOT)
    done = CliRunner().invoke(main, ["release", *options])
    assert done.exit_code == 2
    assert said in done.output
