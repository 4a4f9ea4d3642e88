"""What the gradebook gets of a teacher's own cells."""

from __future__ import annotations

from typing import Any

import pytest

from grader.book.rebuild import OwnCell, own_cells
from grader.judge.result import SubmissionResult
from grader.judge.result import TestResult as ResultOfTest


def own(kind: str, **nbgrader: Any) -> dict[str, Any]:
    """A cell of the rebuilt notebook, whose output says something else than the judge."""
    about = {"grade_id": "mine", "grade": False, "solution": False, "points": 2, **nbgrader}
    output = {"output_type": "execute_result", "data": {"text/plain": "1.75"}}
    return {"cell_type": kind, "source": "x", "metadata": {"nbgrader": about}, "outputs": [output]}


@pytest.mark.parametrize(
    ("test", "score"),
    [
        (ResultOfTest("mine", True), 2.0),
        (ResultOfTest("mine", True, 0.1 + 0.2), 0.1 + 0.2),
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
