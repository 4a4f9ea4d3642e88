"""The sample class gets the marks it should, and the demonstration runs from its first command to its last."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from demo.sample_class import CLASS, LESSON, SOLUTIONS
from grader.judge.grading import grade
from grader.judge.limits import Limits
from grader.judge.outline import Outline
from grader.judge.reader import read
from grader.judge.sandbox import Sandbox

ROOT = Path(__file__).parents[2]
PERFECT = {"ada", "alan", "barbara", "dorothy", "donald", "margaret", "niklaus", "radia"}
MARKS = {"edsger": 2, "emmy": 7, "frances": 14, "sophie": 0}
NAMED = {
    "grace": ("scaled_dot_product_attention", "no-scaling"),
    "hedy": ("stable_softmax", "overflow"),
    "ida": ("project_qkv", "weights-transposed"),
    "joan": ("scaled_dot_product_attention", "no-scaling"),
    "john": ("attention_scores", "scores-transposed"),
    "karen": ("self_attention", "no-value-projection"),
    "katherine": ("attention_scores", "gradient-cut"),
    "ken": ("stable_softmax", "excluded-function"),
    "leslie": ("validate_attention", "nan-passes"),
    "tim": ("attention_scores", "wrong-type"),
    "vera": ("attention_scores", None),
    "zuse": ("stable_softmax", "time-limit"),
}


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(Limits(check_seconds=2)) as place:
        yield place


@pytest.mark.parametrize("student", CLASS)
def test_every_student_gets_the_mark_that_is_due(student, sandbox):
    outline = Outline.of((SOLUTIONS / f"{LESSON}.ipynb").read_bytes())
    result = grade(CLASS[student](), outline, secret=b"demo" * 8, student=student, place=sandbox)
    assert (result.mark == result.points) == (student in PERFECT)
    assert result.mark == MARKS.get(student, result.mark)
    assert bool(result.unreadable) == (student == "sophie")
    if student in NAMED:
        exercise, mistake = NAMED[student]
        assert result[exercise].diagnosis == mistake
        assert result[exercise].score < 1


def test_class_is_complete():
    assert len(CLASS) == 24
    assert CLASS.keys() == PERFECT | MARKS.keys() | NAMED.keys()
    assert len(read(CLASS["radia"](), 10**8, 10**4)) == len(read(CLASS["ada"](), 10**8, 10**4)) + 1


def test_demonstration_runs_from_the_course_to_the_insights():
    command = [sys.executable, "-m", "demo", "ada", "grace"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^2 graded, 1 with full marks, on average 13\.\d+ of 16 points$", done.stdout, re.MULTILINE)
    assert re.search(r"^ +1  no-scaling +scaled_dot_product_attention$", done.stdout, re.MULTILINE)
    [page] = re.findall(r"^  (/.+\.html)$", done.stdout, re.MULTILINE)
    assert "no-scaling" in Path(page).read_text("utf-8")


def test_a_student_whom_nobody_knows_is_told_so():
    done = subprocess.run([sys.executable, "-m", "demo", "nobody"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert "No such student: nobody" in done.stderr
