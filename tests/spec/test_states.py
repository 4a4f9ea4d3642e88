"""Passed, failed or not judged yet: after a first failure nothing is called failed that wasn't looked at."""

from __future__ import annotations

import pytest

from grader.exercises.registry import exercises
from grader.report.data import State
from grader.report.html import as_html
from grader.report.text import as_text
from grader.report.words import FirstFix
from grader.spec.evaluate import evaluate
from grader.subject import Request
from grader.subject.local import LocalSubject
from tests.spec.toy import TOYS

KNOWN = {**exercises(), **TOYS}
IMPORTS = "import math\nimport torch\nfrom torch import nn\nimport torch.nn.functional as F\n"


def report_of(name, *cells):
    subject = LocalSubject({"__name__": "__main__"})
    for source in (IMPORTS, *cells):
        assert subject.ask(Request("run", source=source)).ok
    return evaluate(KNOWN[name], subject, exercises=KNOWN)


def states(report):
    return [(result.state, result.kind) for result in report.parts if result.state != "passed"]


def test_what_depends_on_values_is_not_judged_where_only_the_values_differ():
    report = report_of("product", "def product(left, right):\n    return 2.5 * left @ right")
    assert report.parts[0].state == "passed"
    assert states(report)[0] == ("failed", "wrong-values")
    assert set(states(report)[1:]) == {(State.NOT_JUDGED, "values-first")}
    assert "not judged yet, the values have to be right first: takes any leading axes; stays finite" in as_text(report)
    assert as_text(report).count("FAIL") == 1


def test_what_depends_on_the_shape_is_not_judged_where_the_shape_is_wrong():
    report = report_of("product", "def product(left, right):\n    return (3 * left @ right).mT")
    assert states(report)[0] == ("failed", "wrong-shape")
    assert set(states(report)[1:]) == {(State.NOT_JUDGED, "shape-first")}


def test_what_does_not_run_fails_once():
    report = report_of("product", "def product(left, right):\n    return left @ left")
    assert states(report)[0] == ("failed", "raised")
    assert set(states(report)[1:]) == {(State.NOT_JUDGED, "runs-first")}


def test_a_second_fault_of_another_kind_is_told_as_well():
    report = report_of("product", "def product(left, right):\n    left += 1\n    return left @ right")
    assert ("failed", "changes-argument") in states(report)
    assert ("failed", "wrong-values") in states(report)


def test_what_is_not_judged_earns_nothing_and_the_points_say_so_far():
    report = report_of("product", "def product(left, right):\n    return 2.5 * left @ right")
    passed = sum(result.weight for result in report.parts if result.state == "passed")
    assert report.score == passed / sum(result.weight for result in report.parts)
    assert f"product: not passed yet, {report.mark:g} of 4 points so far" in as_text(report)
    assert report_of("product", "def product(left, right):\n    return left @ right").mark == 4


UNWRITTEN = {
    "raise NotImplementedError": "def product(left, right):\n    raise NotImplementedError()",
    "dots": "def product(left, right):\n    ...",
    "pass and a docstring": "def product(left, right):\n    '''Multiply.'''\n    pass",
    "not defined": "",
}


@pytest.mark.parametrize("source", UNWRITTEN.values(), ids=list(UNWRITTEN))
def test_an_unwritten_function_gets_one_line(source):
    report = report_of("product", source)
    assert report.score == 0
    assert len(as_text(report).splitlines()) == 1
    assert "0 of 4 points so far. `product` is not" in as_text(report)
    assert {result.state for result in report.parts[1:]} == {State.NOT_JUDGED}
    assert "<li" not in as_html(report)


def test_an_unwritten_class_gets_one_line_and_a_written_zero_does_not():
    assert len(as_text(report_of("Affine", "class Affine(nn.Module):\n    pass")).splitlines()) == 1
    assert report_of("product", "def product(left, right):\n    return 0").unwritten is None


def test_a_module_without_its_forward_is_called_so():
    init = "class Affine(nn.Module):\n    def __init__(self, d_in, d_out):\n        super().__init__()\n"
    init += (
        "        self.linear = nn.Linear(d_in, d_out)\n    def forward(self, x):\n        raise NotImplementedError()"
    )
    assert "The `forward` of `Affine` is not written yet" in as_text(report_of("Affine", init))


def test_a_quiz_without_answers_gets_one_line_and_an_unanswered_question_is_not_judged():
    questions = ", ".join(f"{part.name!r}: ..." for part in KNOWN["quiz_01"].parts)
    empty = report_of("quiz_01", f"quiz_01 = {{{questions}}}")
    assert as_text(empty) == (
        "quiz_01: 0 of 2 points so far. `quiz_01` has no answers yet: write them, run the cell, and check again."
    )
    begun = report_of("quiz_01", f"quiz_01 = {{{questions}}} | {{'scores_shape': (1, 1)}}")
    assert [result.state for result in begun.parts[:2]] == ["failed", State.NOT_JUDGED]
    assert begun.first_failure is begun.parts[0]


def test_one_kind_of_failure_in_different_questions_is_failed_each_time():
    report = report_of("quiz_01", "quiz_01 = {}")
    assert {result.state for result in report.parts} == {"failed"}


def test_what_a_function_does_without_is_not_judged_before_it_runs():
    report = report_of("product", "def product(left, right):\n    return left @ left")
    assert (report.parts[-1].state, report.parts[-1].kind) == (State.NOT_JUDGED, "runs-first")


def test_a_waiting_part_is_grey_in_html_and_says_what_it_waits_for():
    html = as_html(report_of("product", "def product(left, right):\n    return 2.5 * left @ right"))
    assert html.count('class="grader-waiting"') == 1
    assert '<span class="grader-word">not judged yet</span> takes any leading axes; ' in html
    assert "(the values have to be right first)" in html


HELPER = "def squared(x):\n    return product(x, x.mT)"
HELPERS = {
    "is not defined": ("", "Run its cell, then check again.", FirstFix.MISSING),
    "is not written yet": (
        "def product(left, right):\n    raise NotImplementedError()",
        "Write it first.",
        FirstFix.UNWRITTEN,
    ),
    "does not pass its own check yet": (
        "def product(left, right):\n    return left @ right + 1",
        "First fix `product`.",
        FirstFix.FAILING,
    ),
}


@pytest.mark.parametrize("why", HELPERS)
def test_a_helper_not_defined_not_written_and_wrong_are_told_apart(why):
    source, step, _ = HELPERS[why]
    report = report_of("squared", HELPER, source)
    assert (report.first_fix, report.first_fix_why) == ("product", HELPERS[why][2])
    assert as_text(report).count(f"`squared` calls `product`, which {why}. {step}") == 1
    assert report.unwritten is None


def test_a_helper_of_ones_own_that_is_not_written_is_named():
    source = "def inner(x):\n    raise NotImplementedError()\ndef squared(x):\n    return inner(x)"
    assert "`squared` calls `inner`, which is not written yet. Write it first." in as_text(report_of("squared", source))
