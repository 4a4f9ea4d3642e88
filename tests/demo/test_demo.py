"""The sample class gets the marks it should, and the demonstration runs from its first command to its last."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from demo.__main__ import PAGE, main, steps
from demo.sample_class import CLASS, LESSON, SOLUTIONS
from grader.judge.grading import grade
from grader.judge.limits import Limits
from grader.judge.outline import Outline
from grader.judge.reader import read
from grader.judge.sandbox import Sandbox

ROOT = Path(__file__).parents[2]
MOODLE = ["00.zip", "01-again.zip", "01.zip", "Grades-00.csv", "participants.csv"]
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
    "leslie": ("context_vectors", "scaled-anyway"),
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
    result = grade(CLASS[student](), outline, secret=b"demo" * 8, student=student, sandbox=sandbox)
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


@pytest.mark.timeout(900)
def test_the_page_of_a_term_is_as_it_is_written_and_nothing_of_it_stays(tmp_path):
    """In a folder with a space in its name. The demonstration compares what each command prints with the page."""
    temporary = tmp_path / "a term"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    command = [sys.executable, "-m", "demo"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    said = done.stdout.splitlines()
    assert [line[2:] for line in said if line.startswith("$ ")] == [step.command for step in steps(PAGE.read_text())]
    (course,) = [shlex.split(line)[1:] for line in said if line.startswith("  cd ")]
    assert (len(course), Path(course[0]).name) == (1, "attention")
    assert not list(temporary.iterdir())


def test_a_page_that_shows_something_else_is_told(tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text("## One\n```console\n$ cd moodle\n$ ls\n02...\n$ echo ann\nbo\n$ false\n```\n")
    assert main(["--keep", str(tmp_path / "kept")], page) == 1
    told = capsys.readouterr()
    assert told.err.splitlines() == [f"Not as page.md shows it: {command}" for command in ("ls", "echo ann", "false")]
    assert "== One ==" in told.out
    assert sorted(path.name for path in (tmp_path / "kept" / "moodle").iterdir()) == MOODLE
    page.write_text(page.read_text().replace("02...", "\n".join(MOODLE)).replace("bo\n$ false", "a..."))
    assert main([], page) == 0
