"""A teacher's own cells of nbgrader's kinds beside the course's: marked alike by both commands, and nothing hidden is
shown."""

from __future__ import annotations

import csv
import json
import shutil

import pytest

from grader.batch import printout
from grader.batch.regrade import accept, preview
from grader.batch.run import Options
from tests.batch.conftest import LESSON, RIGHT, command

SOLUTION = "### BEGIN SOLUTION\nreturn_value = 'the model answer'\n### END SOLUTION"
DOUBLE = "def double(x):\n    ### BEGIN SOLUTION\n    return 2 * x\n    ### END SOLUTION"
STUB = "def double(x):\n    # YOUR CODE HERE\n    raise NotImplementedError()"
HIDDEN = "assert double(21) == 42, 'the secret number'"
TEST = f"assert double(1) == 2\n### BEGIN HIDDEN TESTS\n{HIDDEN}\n### END HIDDEN TESTS"
PARTIAL = "(double(1) == 2) * 0.5 + (double(21) == 42) * 1.0"
FLAGS = {
    "answer": {"solution": True},
    "by hand": {"solution": True, "grade": True, "points": 3},
    "test": {"grade": True, "locked": True, "points": 2},
    "read-only": {"locked": True},
    "task": {"task": True, "locked": True, "points": 4},
}


def own(kind: str, grade_id: str, source: str, cell_type: str = "code", **more) -> dict:
    flags = {
        "schema_version": 3,
        "grade_id": grade_id,
        "grade": False,
        "solution": False,
        "locked": False,
        "task": False,
    }
    about = {"nbgrader": {**flags, **FLAGS[kind], **more}}
    cell = {"cell_type": cell_type, "id": f"id-{grade_id}", "metadata": about, "source": source}
    return cell if cell_type == "markdown" else {**cell, "outputs": [], "execution_count": None}


OWN = [
    own("read-only", "given-base", "BASE = 10"),
    own("answer", "double", DOUBLE),
    own("test", "double-tests", TEST),
    own("test", "double-partial", PARTIAL, points=1.5),
    own("by hand", "essay", "### BEGIN SOLUTION\nThe model essay.\n### END SOLUTION", "markdown"),
    own("by hand", "figure", SOLUTION),
    own("task", "project", "Draw it.\n=== BEGIN MARK SCHEME ===\n4 for colours\n=== END MARK SCHEME ===", "markdown"),
]
WROTE = {"double": "def double(x):\n    return x + x", "essay": "My own words.", "figure": "my_plot = 1"}
# By student: what they wrote, what the tests give, and which cells wait for a mark by hand.
STUDENTS = {
    "right": (WROTE, (2, 1.5), {"essay", "figure", "project"}),
    "lucky": (WROTE | {"double": "def double(x):\n    return 2"}, (0, 0.5), {"essay", "figure", "project"}),
    "nothing": ({}, (0, 0), {"project"}),
    "raises": ({"double": "def double(x):\n    raise NotImplementedError()"}, (0, 0), {"project"}),
    "spy": (
        {
            "double": "def double(x):\n    print('seen', x)\n    raise ValueError(f'seen {x}')",
        },
        (0, 0),
        {"project"},
    ),
    "exits": ({"double": "import os\ndef double(x):\n    os._exit(0)"}, (0, 0), {"project"}),
    "cheats": ({"double": "def double(x):\n    return 0", "TEST": "pass", "BASE": "BASE = 11"}, (0, 0), {"project"}),
}


@pytest.fixture
def course(room):
    """The lesson with the teacher's cells, generated anew, and a submission of every student made of the release."""
    source = room.root / "source" / LESSON / f"{LESSON}.ipynb"
    notebook = json.loads(source.read_text())
    notebook["cells"] += OWN
    source.write_text(json.dumps(notebook))
    command(room.root, "nbgrader", "generate_assignment", LESSON, "--force")
    released = json.loads((room.root / "release" / LESSON / f"{LESSON}.ipynb").read_text())
    for student, (wrote, _tests, _by_hand) in STUDENTS.items():
        handed_in = json.loads(json.dumps(released))
        for cell in handed_in["cells"]:
            grade_id = cell["metadata"].get("nbgrader", {}).get("grade_id", "")
            wanted = {**wrote, "first_steps": RIGHT, "double-tests": wrote.get("TEST"), "given-base": wrote.get("BASE")}
            cell["source"] = wanted.get(grade_id) or cell["source"]
        room.submit(student, json.dumps(handed_in).encode())
    return room


def scores(room) -> dict[str, dict[str, float | None]]:
    found: dict[str, dict[str, float | None]] = {}
    for row in room.book()["grades"]:
        found.setdefault(row[0], {})[row[3]] = row[4]
    return found


def test_own_cells_are_marked_alike_by_both_commands(course, tmp_path):
    theirs = type(course)(tmp_path / "theirs", course.scheduler)
    shutil.copytree(course.root, theirs.root)
    command(theirs.root, "nbgrader", "autograde", LESSON)
    outcome = course.grade()
    assert course.book() == theirs.book()
    for student, (wrote, (tests, partial), by_hand) in STUDENTS.items():
        row = scores(course)[student]
        assert (row["double-tests"], row["double-partial"]) == (tests, partial), student
        assert row["first_steps-check"] == 1
        assert {name for name, score in row.items() if score is None} == by_hand, student
        assert set(outcome.marks[student].by_hand) == by_hand
        assert course.autograded(student) == theirs.autograded(student), student
        shown = ["".join(cell["source"]) for cell in course.autograded(student)["cells"]]
        assert not any("model essay" in source or "model answer" in source for source in shown)
        assert all(source in shown for name, source in wrote.items() if name in WROTE), student
    assert "waiting to be marked by hand" in printout.as_text(outcome)
    told = printout.as_json(outcome)
    assert set(told["needs_manual_grade"]["right"]) == {"essay", "figure", "project"}
    assert told["marks"]["right"] == 1 + 2 + 1.5
    command(course.root, "nbgrader", "generate_feedback", LESSON)
    for student in STUDENTS:
        page = (course.folder(student, "feedback") / f"{LESSON}.html").read_text()
        for hidden in ("secret number", "HIDDEN TESTS", "for colours", "model essay", "seen 21", "seen 1"):
            assert hidden not in page, (student, hidden)
    page = (course.folder("right", "feedback") / f"{LESSON}.html").read_text()
    assert "My own words." in page
    assert "The tests passed." in page
    assert ">2 of 2 points<" in page


def test_mark_by_hand_stays_and_counts(course):
    course.grade()
    course.sql("update grade set manual_score = 2, needs_manual_grade = false where auto_score is null")
    outcome = course.grade()
    assert outcome.graded == 0
    assert outcome.marks["right"].score == 1 + 2 + 1.5 + 3 * 2
    assert outcome.marks["right"].by_hand == ()
    assert outcome.marks["right"].points == 1 + 2 + 1.5 + 3 + 3 + 4
    before = course.book()
    with (course.root / "nbgrader_config.py").open("a") as file:
        file.write("\nc.JudgingExporter.limits = {'check_seconds': 9}\n")
    shown = preview(course.root, "00", Options(scheduler=course.scheduler))
    assert (shown.students, shown.same, shown.problems) == ((), len(STUDENTS), {})
    accept(course.root, "00")
    assert course.book() == before
    course.sql("""update grade set needs_manual_grade = 1 where notebook_id in (select n.id from submitted_notebook n
        join submitted_assignment s on n.assignment_id = s.id where s.student_id = 'lucky')""")
    course.sql("update student set last_name = 'of House, the Second' where id = 'lucky'")
    command(course.root, "nbgrader", "export")
    rows = {row["student_id"]: row for row in csv.DictReader((course.root / "grades.csv").open())}
    assert (rows["lucky"]["needs_manual_grade"], rows["right"]["needs_manual_grade"]) == ("yes", "no")
    assert rows["lucky"]["last_name"] == "of House, the Second"
    assert float(rows["right"]["score"]) == outcome.marks["right"].score
