"""nbgrader's own commands in a course directory of ours, from assignment to feedback: two students who use the
exchange, and beside them submissions that try to stop the batch, to reach a file or to run in a teacher's browser.
"""

from __future__ import annotations

import csv
import json
import os
import stat
import sys

import pytest

from tests.classroom import BIN, EXERCISE, LESSON, ROOT, STUDENTS, answered, solved

pytestmark = pytest.mark.timeout(900)
WRONG = "def first_steps(x):\n    print('I was here')\n    return 2 * (x + 1)"
ANSWERS = {"ann": "def first_steps(x):\n    return x + x + 1", "bo": WRONG}
PRIVATE = "the neighbour's own words"
NEIGHBOURS = f"# {PRIVATE}\ndef first_steps(x):\n    return 2 * x + 1"
DATE = "2100-01-01 00:00:00 UTC"
# In the exchange's inbound folder, where anybody may put anything: a link to bo's submission, or to nothing.
ENTRIES = {
    f"cy+{LESSON}+{DATE}+x": True,
    f"dee+{LESSON}+{DATE}+x": False,
    f"ann+{LESSON}+{DATE}+x": True,
    f"eve+{LESSON}+tomorrow+x": True,
    f"ann+{LESSON}+{10**40}+x": True,
}
SCRIPT = "<script>alert('md')</script>"
IMAGE = "<img src=x onerror=alert('p')>"


def code(source, **more):
    return {"cell_type": "code", "metadata": {}, "source": source, "outputs": [], "execution_count": None, **more}


def doubled(notebook):
    check = next(cell for cell in notebook["cells"] if cell["metadata"].get("course", {}).get("role") == "check")
    notebook["cells"].append(dict(check))


def other_metadata(notebook):
    for cell in notebook["cells"]:
        if "nbgrader" in cell["metadata"]:
            cell["metadata"]["nbgrader"].update(schema_version=1, points=50, solution=True)


def active(notebook):
    answered(notebook, f'def first_steps(x):\n    print("{IMAGE}")\n    return x')
    shown = {"output_type": "display_data", "metadata": {}, "data": {"text/html": "<script>alert('out')</script>"}}
    notebook["cells"].insert(0, code("1", outputs=[shown]))
    notebook["cells"].insert(0, {"cell_type": "markdown", "metadata": {}, "source": f"**kept**\n\n{SCRIPT}\n\n{IMAGE}"})


def exits(notebook):
    notebook["cells"].insert(0, code("import os\nos._exit(1)"))


def pasted(notebook):
    text = "My plot: ![a curve](attachment:image.png)"
    notebook["cells"].insert(0, {"cell_type": "markdown", "metadata": {}, "source": text, "attachments": {}})


def blank(notebook):
    """What takes a time that grows with the square of its length to colour or to render, by the usual ways."""
    notebook["cells"].insert(0, code("\n " * 300_000))
    for text in ("\\begin{a}" * 50_000, "\\\\(" * 100_000):
        notebook["cells"].insert(0, {"cell_type": "markdown", "metadata": {}, "source": text})


HOSTILE = {
    "doubled": doubled,
    "metadata": other_metadata,
    "active": active,
    "exits": exits,
    "pasted": pasted,
    "blank": blank,
}


@pytest.fixture(scope="module")
def validated(classroom):
    """ann and bo have handed in; what Validate tells bo."""
    for name, answer in ANSWERS.items():
        path = classroom.root / name / LESSON / f"{LESSON}.ipynb"
        path.write_text(json.dumps(answered(json.loads(path.read_text()), answer)))
    said = classroom.steps(
        *((name, "submit", LESSON, f"--student={name}") for name in STUDENTS),
        ("bo", "validate", f"{LESSON}/{LESSON}.ipynb"),
    )
    for path in classroom.root.glob("exchange/attention/inbound/ann+*/timestamp.txt"):
        path.write_bytes(b"\xff")  # it is ann's file: she can
    return said


@pytest.fixture(scope="module")
def graded(classroom, validated):
    """Everything is collected and graded, and every student has feedback."""
    for name, change in HOSTILE.items():
        notebook = solved()
        change(notebook)
        classroom.submit_directly(name, json.dumps(notebook).encode())
    broken = classroom.submit_directly("broken", b'{"cells": [')
    (broken / "leak.txt").symlink_to(classroom.course / "judge_secret")
    linked = classroom.submit_directly("linked", b"") / f"{LESSON}.ipynb"
    linked.unlink()
    linked.symlink_to(classroom.course / "source" / LESSON / f"{LESSON}.ipynb")
    for name, time in {"timeless": None, "tomorrow": "in a moment"}.items():
        place = classroom.submit_directly(name, json.dumps(solved()).encode()) / "timestamp.txt"
        _ = place.write_text(time) if time else place.mkdir()
    odd = classroom.submit_directly("odd", json.dumps(solved()).encode())
    (odd / os.fsdecode(b"\xff.html")).write_text("no name that a page could have")
    (odd / "submission_secret.txt").mkdir()
    (odd / "\x1b[2J.txt").write_text("wipes the terminal")
    classroom.submit_directly("new\nline", json.dumps(solved()).encode())
    neighbour = classroom.submit_directly("neighbour", json.dumps(solved(NEIGHBOURS)).encode())
    (neighbour / "notes.txt").write_text(PRIVATE)
    (neighbour.parent.parent / "same_folder").symlink_to("neighbour")
    (neighbour.parent.parent / "same_lesson").mkdir()
    (neighbour.parent.parent / "same_lesson" / LESSON).symlink_to(neighbour)
    inbound = classroom.root / "exchange" / "attention" / "inbound"
    (bos,) = inbound.glob("bo+*")
    for name, target in ENTRIES.items():
        (inbound / name).symlink_to(bos if target else "nothing")
    said = classroom.steps(
        ("course", "collect", LESSON),
        ("course", "autograde", LESSON),
        ("course", "generate_feedback", LESSON),
        ("course", "release_feedback", LESSON),
        ("bo", "fetch_feedback", LESSON),
        ("course", "export"),
    )
    assert "\x1b[2J" not in said  # a file's name
    assert "new\\nline/00_start_here is not graded" in said
    return classroom


def test_students_get_the_exercises_without_their_solutions(classroom):
    released = (classroom.course / "release" / LESSON / f"{LESSON}.ipynb").read_text()
    assert EXERCISE in released
    assert "BEGIN SOLUTION" not in released


def test_validate_tells_a_wrong_answer(validated):
    assert "CheckFailed" in validated
    assert "added-before-doubling" in validated


def test_marks_are_the_judges(graded):
    marks = graded.marks()
    assert marks["ann"] == 1
    assert 0 < marks["bo"] < 0.5  # the right shape, and nothing else
    rows = {row["student_id"]: float(row["score"]) for row in csv.DictReader((graded.course / "grades.csv").open())}
    assert rows.keys() >= {*STUDENTS, *HOSTILE}
    assert rows == {name: marks[name] for name in rows}


def test_feedback_names_the_mistake_and_comes_back_to_the_student(graded):
    page = graded.page("bo")
    assert "added-before-doubling" in page
    assert "I was here" in page
    assert "the 1 is added first" in page
    assert len(list((graded.root / "exchange" / "attention" / "feedback").glob("*.html"))) >= len(STUDENTS)
    (fetched,) = (graded.root / "bo" / LESSON / "feedback").rglob("*.html")
    assert "added-before-doubling" in fetched.read_text()


def test_no_submission_stops_the_batch_or_stays_without_a_mark(graded):
    marks = graded.marks()
    assert all(marks[name] == 1 for name in HOSTILE.keys() - {"active"}), marks
    assert marks["active"] < 0.5
    assert marks["broken"] == marks["linked"] == 0
    assert "valid JSON" in graded.page("broken")
    assert "Links are not followed" in graded.page("linked")


def test_odd_times_and_names_cost_neither_mark_nor_feedback(graded):
    marks = graded.marks()
    for name in ("timeless", "tomorrow", "odd"):
        assert marks[name] == 1
        assert "first_steps" in graded.page(name)
    assert "a curve" in graded.page("pasted")
    pages = (graded.root / "exchange" / "attention" / "feedback").glob("*.html")
    assert any("a curve" in page.read_text() for page in pages)  # of a student whose turn comes after "odd"


def test_links_in_a_submission_reach_no_file(graded):
    assert not list((graded.course / "autograded").rglob("leak.txt"))
    secret = (graded.course / "judge_secret").read_text().strip()
    assert not any(secret in path.read_text() for path in (graded.course / "feedback").rglob("*.html"))


def test_link_in_place_of_a_folder_earns_nothing_and_shows_nothing(graded):
    marks = graded.marks()
    assert marks["neighbour"] == 1
    for name in ("same_folder", "same_lesson"):
        assert marks[name] == 0
        assert "Links are not followed" in graded.page(name)
        assert PRIVATE not in graded.page(name).replace("&#39;", "'")
        assert not any(PRIVATE in path.read_text() for path in (graded.course / "autograded" / name).rglob("*.*"))
    assert PRIVATE in (graded.course / "autograded" / "neighbour" / LESSON / "notes.txt").read_text()
    assert (graded.course / "submitted" / "neighbour" / LESSON / f"{LESSON}.ipynb").is_file()


def test_link_in_the_exchange_is_not_collected(graded):
    collected = {path.name for path in (graded.course / "submitted").iterdir()}
    assert {"ann", "bo"} <= collected
    assert not collected & {"cy", "dee", "eve"}
    assert graded.marks()["ann"] == 1  # her own submission, not the link with a later date


def test_what_a_student_wrote_is_shown_and_does_nothing(graded):
    page = graded.page("active")
    assert "<strong>kept</strong>" in page
    assert "&lt;img src=x" in page  # printed: as text
    for harmful in ("<script>alert", "<img src=x onerror", "alert('out')"):
        assert harmful not in page


def test_course_directory_has_a_secret_of_its_own(classroom):
    secret = classroom.course / "judge_secret"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert stat.S_IMODE(classroom.course.stat().st_mode) == 0o700
    assert len(secret.read_text().strip()) == 64
    again = classroom.run("grader", "course", "create", str(classroom.course), check=False)
    assert "is not empty" in again


def test_without_a_sandbox_grading_refuses_unless_told_and_then_says_so(graded):
    graded.submit_directly("late", json.dumps(solved()).encode())
    without_landlock = (
        "import os, sys; from tests.container import forbid; forbid(['landlock_create_ruleset']); "
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    command = (sys.executable, "-c", without_landlock, str(BIN / "nbgrader"), "autograde", LESSON, "--student=late")
    refused = graded.run(*command, check=False, PYTHONPATH=str(ROOT))
    assert "Landlock can't be used here (Operation not permitted): something forbids its system calls" in refused
    add = "--JudgingExporter.add_students=True"
    graded.steps(
        ("course", "autograde", LESSON, "--student=late", "--JudgingExporter.unsafe_no_sandbox=True", add),
        ("course", "generate_feedback", LESSON, "--student=late"),
    )
    assert graded.marks()["late"] == 1
    assert "Graded without a sandbox" in graded.page("late")
