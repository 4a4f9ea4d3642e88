"""nbgrader's own commands in a course directory of ours, from assignment to feedback, with two students."""

from __future__ import annotations

import csv
import json
import stat

import pytest

from grader.registry import exercises
from tests.judge import notebooks as nb

TRANSPOSED = "def attention_scores(query, key):\n    print('I was here')\n    return key @ query.mT"
POINTS = {name: e.points for name, e in exercises().items() if e.lesson == nb.LESSON}


def write_answers(path, **answers):
    """A student at work: solves everything, but for `answers`."""
    notebook = json.loads(path.read_text())
    right = {c["metadata"]["course"]["exercise"]: c["source"] for c in nb.solved() if role(c) == "solution"}
    for cell in notebook["cells"]:
        if role(cell) == "solution":
            name = cell["metadata"]["course"]["exercise"]
            cell["source"] = answers.get(name, right[name])
    path.write_text(json.dumps(notebook))


def role(cell):
    return cell["metadata"].get("course", {}).get("role")


@pytest.mark.timeout(600)
def test_every_command_with_two_students(classroom):
    lesson = nb.LESSON
    classroom.run("nbgrader", "generate_assignment", lesson)
    released = json.loads((classroom.course / "release" / lesson / f"{lesson}.ipynb").read_text())
    assert "BEGIN SOLUTION" not in json.dumps(released)
    classroom.run("nbgrader", "release_assignment", lesson)
    for name, answers in (("ann", {}), ("bo", {"attention_scores": TRANSPOSED})):
        classroom.student(name, "nbgrader", "fetch_assignment", lesson)
        notebook = classroom.root / name / lesson / f"{lesson}.ipynb"
        write_answers(notebook, **answers)
        classroom.student(name, "nbgrader", "submit", lesson, f"--student={name}")
    validated = classroom.student("bo", "nbgrader", "validate", f"{lesson}/{lesson}.ipynb")
    assert "attention_scores" in validated
    classroom.run("nbgrader", "collect", lesson)
    classroom.run("nbgrader", "autograde", lesson)
    marks = classroom.marks()
    assert marks["ann"] == POINTS
    assert marks["bo"]["attention_scores"] == 0
    assert marks["bo"]["project_qkv"] == POINTS["project_qkv"]
    classroom.run("nbgrader", "generate_feedback", lesson)
    page = (classroom.course / "feedback" / "bo" / lesson / f"{lesson}.html").read_text()
    assert "scores-transposed" in page
    assert "I was here" in page
    assert "rows and columns are swapped" in page
    classroom.run("nbgrader", "release_feedback", lesson)
    classroom.student("bo", "nbgrader", "fetch_feedback", lesson)
    assert list((classroom.root / "bo" / lesson / "feedback").rglob("*.html"))
    classroom.run("nbgrader", "export")
    rows = {row["student_id"]: float(row["score"]) for row in csv.DictReader((classroom.course / "grades.csv").open())}
    assert rows["ann"] == sum(POINTS.values())
    assert rows["bo"] < rows["ann"]


def test_course_directory_has_a_secret_of_its_own(classroom):
    secret = classroom.course / "judge_secret"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert len(secret.read_text().strip()) == 64
    again = classroom.run("grader", "course", "create", str(classroom.course), check=False)
    assert "is not empty" in again


def hostile(kind):
    """A submission's bytes."""
    cells = nb.solved()
    check = nb.place_of(cells, "attention_scores", "check")
    if kind == "doubled":
        cells.insert(check, dict(cells[check]))
    if kind == "metadata":
        cells[check]["metadata"]["nbgrader"].update(schema_version=1, points=50, solution=True)
    if kind == "active":
        cells.insert(0, {"cell_type": "markdown", "metadata": {}, "source": "**kept**\n\n<script>alert('md')</script>"})
        cells.insert(0, nb.code("1"))
        script = {"output_type": "display_data", "metadata": {}, "data": {"text/html": "<script>alert('out')</script>"}}
        cells[0]["outputs"] = [script]
        cells[nb.place_of(cells, "attention_scores", "solution")]["source"] = (
            "def attention_scores(query, key):\n    print(\"<img src=x onerror=alert('p')>\")\n    return key"
        )
    if kind == "exits":
        cells.insert(0, nb.code("import os\nos._exit(1)"))
    return nb.dump(cells)


KINDS = ("doubled", "metadata", "active", "exits")


@pytest.mark.timeout(600)
def test_no_submission_stops_the_batch_or_stays_without_a_mark(classroom):
    classroom.run("nbgrader", "generate_assignment", nb.LESSON)
    for kind in KINDS:
        classroom.submit_directly(kind, hostile(kind))
    broken = classroom.submit_directly("broken", b'{"cells": [')
    (broken / "leak.txt").symlink_to(classroom.course / "judge_secret")
    linked = classroom.submit_directly("linked", b"")
    (linked / f"{nb.LESSON}.ipynb").unlink()
    (linked / f"{nb.LESSON}.ipynb").symlink_to(classroom.course / "source" / nb.LESSON / f"{nb.LESSON}.ipynb")
    classroom.submit_directly("zoe", nb.submission())
    classroom.run("nbgrader", "autograde", nb.LESSON)
    marks = classroom.marks()
    for name in ("doubled", "metadata", "exits", "zoe"):
        assert marks[name] == POINTS, name
    for name in ("broken", "linked"):
        assert set(marks[name].values()) == {0}
    assert marks["active"]["attention_scores"] < POINTS["attention_scores"]
    assert not list((classroom.course / "autograded").rglob("leak.txt"))
    classroom.run("nbgrader", "generate_feedback", nb.LESSON)
    page = (classroom.course / "feedback" / "active" / nb.LESSON / f"{nb.LESSON}.html").read_text()
    assert "<strong>kept</strong>" in page
    for active in ("<script>alert", "<img src=x onerror", "alert('out')"):
        assert active not in page
    said = (classroom.course / "feedback" / "broken" / nb.LESSON / f"{nb.LESSON}.html").read_text()
    assert "not valid JSON" in said
    said = (classroom.course / "feedback" / "linked" / nb.LESSON / f"{nb.LESSON}.html").read_text()
    assert "link is not followed" in said


def test_without_a_sandbox_grading_refuses_unless_told_and_then_says_so(classroom):
    classroom.run("nbgrader", "generate_assignment", nb.LESSON)
    classroom.submit_directly("ann", nb.submission())
    classroom.environment["PATH"] = "/nowhere"
    refused = classroom.run("nbgrader", "autograde", nb.LESSON, check=False)
    assert "apt-get install bubblewrap" in refused
    classroom.environment["PATH"] = str(classroom.root / "bin")
    from tests.classroom.conftest import BIN

    (classroom.root / "bin").symlink_to(BIN)
    classroom.run("nbgrader", "autograde", nb.LESSON, "--JudgingExporter.unsafe_no_sandbox=True")
    assert classroom.marks()["ann"] == POINTS
    classroom.run("nbgrader", "generate_feedback", nb.LESSON)
    page = (classroom.course / "feedback" / "ann" / nb.LESSON / f"{nb.LESSON}.html").read_text()
    assert "Graded without a sandbox" in page
