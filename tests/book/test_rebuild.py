"""The notebook that goes to `autograded/`, and what the gradebook gets of a teacher's own cells in it."""

from __future__ import annotations

import json
from typing import Any

import nbformat
import pytest

from grader.book.rebuild import LEFT_OUT, MOST_TEXT, OwnCell, dump, own_cells, rebuild, stored_notebook
from grader.course.release import Release
from grader.judge.limits import Limits
from grader.judge.outline import Outline
from grader.judge.result import SubmissionResult
from grader.judge.result import TestResult as ResultOfTest
from grader.judge.words import as_text
from grader.report import ExerciseResult
from tools import notebooks as nb


def own(kind: str, **nbgrader: Any) -> dict[str, Any]:
    """A cell of the rebuilt notebook, whose output says something else than the judge."""
    about = {"grade_id": "mine", "grade": False, "solution": False, "points": 2, **nbgrader}
    output = {"output_type": "execute_result", "data": {"text/plain": "1.75"}}
    return {"cell_type": kind, "source": "x", "metadata": {"nbgrader": about}, "outputs": [output]}


@pytest.mark.parametrize(
    ("test", "score"),
    [
        (ResultOfTest("mine", True), 2.0),
        (ResultOfTest("mine", True, 0.1 + 0.2), 0.3),
        (ResultOfTest("mine", True, 1 / 3), 0.33),
        (ResultOfTest("mine", True, 9.0), 2.0),
        (ResultOfTest("mine", True, -1.0), 0.0),
        (ResultOfTest("mine", False, 1.0), 0.0),
    ],
)
def test_a_test_earns_what_the_judge_says_whatever_the_notebook_shows(test, score):
    found = own_cells([own("code", grade=True)], SubmissionResult((), tests=(test,)))
    assert found == {"mine": OwnCell(score, unanswered=False)}


@pytest.mark.parametrize(("checksum", "score"), [("another", None), ("", 0.0)])
def test_an_answer_that_is_as_it_was_handed_out_earns_nothing(checksum, score):
    from nbformat import from_dict
    from nbgrader.utils import compute_checksum

    cell = own("markdown", grade=True, solution=True)
    cell["metadata"]["nbgrader"]["checksum"] = checksum or compute_checksum(from_dict(cell))
    assert own_cells([cell], SubmissionResult(())) == {"mine": OwnCell(score, unanswered=not checksum)}


@pytest.mark.parametrize(
    ("about", "score"),
    [
        ({"grade": True, "solution": True, "checksum": "as handed out"}, 0.0),
        ({"grade": True, "solution": True, "checksum": "another"}, None),
        ({"grade": False, "solution": True, "checksum": "as handed out"}, None),
        ({"grade": True, "solution": False, "checksum": "as handed out"}, None),  # it has no test's result: by hand
        ({"grade": False, "solution": False, "task": True}, None),
    ],
)
def test_only_what_is_worth_points_and_left_as_it_was_earns_nothing(monkeypatch, about, score):
    monkeypatch.setattr("grader.book.rebuild._checksum", lambda _cell: "as handed out")
    unanswered = about["solution"] and about["checksum"] == "as handed out"
    assert own_cells([own("code", **about)], SubmissionResult(())) == {"mine": OwnCell(score, unanswered)}


def test_an_exercise_s_cells_and_those_nbgrader_does_not_know_are_no_teacher_s_own():
    of_exercise, plain = own("code", grade=True), own("code")
    of_exercise["metadata"]["course"] = {"exercise": "a", "role": "check"}
    del plain["metadata"]["nbgrader"]
    left = own("markdown", grade_id="left", solution=True)
    left["metadata"]["course"] = {"role": "given", "exercise": ""}
    assert [*own_cells([of_exercise, plain, left], SubmissionResult(()))] == ["left"]


# --- a whole notebook -------------------------------------------------------------------------------------------------


def instructors(kind: str, source: str, grade_id: str = "", role: str = "", points: float = 0, **about: Any):
    """A cell as a teacher has it."""
    metadata: dict[str, Any] = {"course": {"role": role, "exercise": grade_id.removesuffix("-check")}} if role else {}
    if grade_id:
        flags = {"grade": False, "solution": False, "locked": False, "task": False, **about}
        metadata["nbgrader"] = {"grade_id": grade_id, "checksum": "built", **flags}
        metadata["nbgrader"] |= {"points": points} if flags["grade"] else {}
    cell = {"cell_type": kind, "id": f"id-{grade_id or source}", "metadata": metadata, "source": source}
    return cell | ({"outputs": [], "execution_count": None} if kind == "code" else {})


CELLS = [
    instructors("code", "def a(): ...", "a", "solution", solution=True),
    instructors("code", "check(a)", "a-check", "check", points=10, grade=True, locked=True),
    instructors("code", "assert mine() == 1", "tests", points=2, grade=True, locked=True),
    instructors("markdown", "Why?", "essay", points=5, grade=True, solution=True),
    instructors("markdown", "Read this.", "given", locked=True),
    instructors("code", "x = 1", "", "example"),
]
RELEASE = Release(
    {"name": "python3", "display_name": "Python 3"},
    {
        "a": {"checksum": "out", "locked": False, "source": "stub", "points": None},
        "a-check": {"checksum": "out", "locked": True, "source": "check(a)  # out", "points": 4.0},
        "tests": {"checksum": "out", "locked": True, "source": "assert True", "points": 3.0},
        "essay": {"checksum": "out", "locked": False, "source": "Why?", "points": 5.0},
    },
)
TESTED = SubmissionResult((ExerciseResult("a", 10, 0.5),), tests=(ResultOfTest("tests", True, 2.5),))

LIMITS = Limits()


def rebuilt(cells: Any, result: SubmissionResult = TESTED, release: Release = RELEASE, limits: Limits = LIMITS):
    data = nb.dump(cells) if isinstance(cells, list) else cells
    return rebuild(Outline.of(nb.dump(CELLS)), data, result, release, limits)


def texts(made: dict[str, Any]) -> list[tuple[str, str]]:
    """Of each cell its grade_id or kind, and its text."""
    return [
        (cell["metadata"].get("nbgrader", {}).get("grade_id", cell["cell_type"]), cell["source"])
        for cell in made["cells"]
    ]


def student(**sources: str) -> list[dict[str, Any]]:
    """The cells as somebody hands them in, with these texts by grade_id; nothing of theirs is to be trusted."""
    made = json.loads(json.dumps(CELLS))
    for cell in made:
        name = cell["metadata"].get("nbgrader", {}).get("grade_id", "")
        cell["source"] = sources.get(name.replace("-", "_"), cell["source"])
        if name:
            cell["metadata"]["nbgrader"].update(points=99, checksum="theirs", locked=False)
    return made


def test_answers_are_the_student_s_and_all_else_is_the_teacher_s_as_it_was_released():
    made = rebuilt(student(a="def a(): return 1", a_check="a.passed = True", tests="pass", essay="So.", given="Ha!"))
    assert texts(made) == [
        ("a", "def a(): return 1"),
        ("a-check", "check(a)  # out"),
        ("tests", "assert True"),
        ("essay", "So."),
        ("given", "Read this."),
        ("code", "x = 1"),
        ("markdown", "*The code ran confined.*"),
    ]
    about = {cell["metadata"]["nbgrader"]["grade_id"]: cell["metadata"]["nbgrader"] for cell in made["cells"][:5]}
    assert {name: one.get("points") for name, one in about.items()} == {
        "a": None,
        "a-check": 4.0,
        "tests": 3.0,
        "essay": 5,
        "given": None,
    }
    assert {name: (one["checksum"], one["locked"]) for name, one in about.items()} == {
        "a": ("out", False),
        "a-check": ("out", True),
        "tests": ("out", True),
        "essay": ("out", False),
        "given": ("built", True),
    }
    assert made["metadata"]["kernelspec"] == RELEASE.kernelspec
    assert made["metadata"]["course_result"]["exercises"][0]["points"] == 4.0
    assert [cell["outputs"][0]["data"]["text/plain"].splitlines()[0] for cell in made["cells"][1:3]] == [
        "a: 2 of 4 points",
        "2.5",
    ]
    assert [cell.get("execution_count") for cell in made["cells"]] == [None, 1, 1, None, None, None, None]


def test_cells_that_are_missing_are_put_back_and_a_copy_of_one_is_no_second():
    answer = {**CELLS[0], "source": "def a(): return 1"}
    made = rebuilt([answer, {**answer, "id": "copy", "source": "def a(): return 2"}])
    assert texts(made) == [
        ("a", "def a(): return 1"),
        ("code", "def a(): return 2"),
        ("a-check", "check(a)  # out"),
        ("tests", "assert True"),
        ("essay", ""),
        ("given", "Read this."),
        ("markdown", "*The code ran confined.*"),
    ]
    assert len({cell["id"] for cell in made["cells"]}) == 7


@pytest.mark.parametrize("data", [b"{", nb.dump([])], ids=["torn", "empty"])
def test_of_what_can_t_be_read_nothing_is_taken(data):
    why = "It was *cut off*."
    made = rebuilt(data, SubmissionResult(TESTED.exercises, unreadable=why, tests=TESTED.tests))
    assert texts(made)[:2] == [("markdown", "**Note.** It was &#42;cut off&#42;."), ("a", "")]
    assert [name for name, _text in texts(made)] == [
        "markdown",
        "a",
        "a-check",
        "tests",
        "essay",
        "given",
        "markdown",
    ]


def test_what_counts_as_unreadable_is_not_read_again_and_every_sentence_comes_first():
    said = SubmissionResult(TESTED.exercises, unreadable="It is torn.", notes=("One.", "Two."), tests=TESTED.tests)
    made = rebuilt(nb.dump(CELLS), said)
    notes = [text for _name, text in texts(made) if text.startswith("**Note.** ")]
    assert notes == ["**Note.** It is torn.", "**Note.** One.", "**Note.** Two."]
    assert ("code", "x = 1") not in texts(made)
    assert (made["nbformat"], made["nbformat_minor"]) == (4, 5)


def test_what_was_read_when_it_was_graded_is_left_out_where_it_can_t_be_read_now():
    assert texts(rebuilt(nb.dump(CELLS), limits=Limits(notebook_bytes=10)))[0] == ("a", "")


def test_an_answer_in_text_that_became_a_raw_cell_is_an_answer():
    other = {"cell_type": "raw", "id": "r", "metadata": {}, "source": "raw"}
    made = rebuilt([other, {**CELLS[3], "cell_type": "raw", "source": "So."}])
    assert "raw" not in {text for _name, text in texts(made)}
    assert texts(made)[0] == ("essay", "So.")
    assert made["cells"][0]["cell_type"] == "markdown"


def test_what_nbgrader_does_not_know_is_not_put_back():
    outline = Outline.of(nb.dump([*CELLS, instructors("code", "x = 2", "", "given")]))
    assert ("code", "x = 2") not in texts(rebuild(outline, nb.dump([]), TESTED, RELEASE, LIMITS))


def test_code_that_is_given_is_put_back_without_an_output():
    outline = Outline.of(nb.dump([instructors("code", "x = 3", "kept", locked=True)]))
    made = rebuild(outline, nb.dump([]), SubmissionResult(()), Release(), LIMITS)
    assert (texts(made)[0], made["cells"][0]["outputs"]) == (("kept", "x = 3"), [])


def test_graded_text_of_a_teacher_s_own_that_nobody_answers_is_put_back_as_text():
    outline = Outline.of(nb.dump([instructors("markdown", "Seen.", "seen", points=1, grade=True, locked=True)]))
    made = rebuild(outline, nb.dump([]), SubmissionResult(()), Release(), LIMITS)
    assert (texts(made)[0], made["cells"][0]["cell_type"]) == (("seen", "Seen."), "markdown")


@pytest.mark.parametrize(("noted", "kept"), [("ko", {"language": "ko"}), ("en", None), ("none such", None)])
def test_a_notebook_stays_in_its_language(noted, kept):
    data = json.loads(nb.dump(CELLS)) | {"metadata": {"course": {"language": noted, "other": 1}}}
    assert rebuilt(json.dumps(data).encode())["metadata"].get("course") == kept


def test_each_test_shows_its_own_result():
    other = instructors("code", "assert yours()", "other", points=1, grade=True, locked=True)
    results = (ResultOfTest("tests", False, None), ResultOfTest("other", True, 0.5))
    outline = Outline.of(nb.dump([CELLS[2], other]))
    made = rebuild(outline, nb.dump([]), SubmissionResult((), tests=results), Release(), LIMITS)
    assert [cell["outputs"][0]["data"]["text/plain"] for cell in made["cells"][:2]] == ["0.0", "0.5"]
    assert "kernelspec" not in made["metadata"]


def test_text_beyond_the_limit_is_left_out_and_said():
    long = {"cell_type": "markdown", "id": "one", "metadata": {}, "source": "x" * MOST_TEXT}
    said = [text for name, text in texts(rebuilt([long, {**long, "id": "two", "source": "y"}])) if name == "markdown"]
    assert said[:2] == ["x" * MOST_TEXT, LEFT_OUT]
    code = nb.code("x" * (MOST_TEXT + 1))
    assert ("code", code["source"]) in texts(rebuilt([code, long]))


def test_code_in_place_of_text_is_code_and_text_in_place_of_code_is_no_answer():
    cells = [{**CELLS[3], "cell_type": "code"}, {**CELLS[2], "cell_type": "markdown"}, {**CELLS[5], "cell_type": "raw"}]
    made = rebuilt(cells)
    assert [(name, cell["cell_type"]) for (name, _), cell in zip(texts(made), made["cells"], strict=True)] == [
        ("essay", "markdown"),
        ("markdown", "markdown"),
        ("code", "code"),
        ("a", "code"),
        ("a-check", "code"),
        ("tests", "code"),
        ("given", "markdown"),
        ("markdown", "markdown"),
    ]


def test_the_bytes_are_a_notebook_and_the_cells_are_the_teacher_s_own():
    stored = stored_notebook(Outline.of(nb.dump(CELLS)), nb.dump(student(a="é = '\ud800'")), TESTED, RELEASE, Limits())
    plain = json.loads(stored.notebook)
    assert plain["cells"][0]["source"] == ["é = '?'"]
    assert [len(cell["source"]) for cell in plain["cells"]] == [1] * 7
    assert all(isinstance(text, list) for text in plain["cells"][1]["outputs"][0]["data"].values())
    assert stored.notebook.count(b'"cells"') == 1
    assert type(plain["cells"][3]["metadata"]["nbgrader"]["points"]) is int
    made = nbformat.reads(stored.notebook.decode(), as_version=4)
    nbformat.validate(made)
    assert made.cells[0].source == "é = '?'"
    long = stored_notebook(Outline.of(nb.dump(CELLS)), nb.dump(student(a="x = 1\ny = 2\n")), TESTED, RELEASE, Limits())
    made = nbformat.reads(long.notebook.decode(), as_version=4)
    assert made.cells[0].source == "x = 1\ny = 2\n"
    assert made.cells[1].outputs[0].data["text/plain"] == as_text(TESTED.worth(RELEASE.points())["a"])
    assert stored.own == {
        "tests": OwnCell(2.5, unanswered=False),
        "essay": OwnCell(None, unanswered=False),
        "given": OwnCell(None, unanswered=False),
    }


def test_lines_keep_their_ends():
    output = {"output_type": "display_data", "metadata": {}, "data": {"text/plain": "one\ntwo"}}
    cell = {"cell_type": "code", "source": "x = 1\ny = 2", "outputs": [output]}
    made = json.loads(dump({"cells": [cell], "metadata": {}}))["cells"][0]
    assert (made["source"], made["outputs"][0]["data"]["text/plain"]) == (["x = 1\n", "y = 2"], ["one\n", "two"])
