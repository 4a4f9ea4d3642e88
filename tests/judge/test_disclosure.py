"""What a student may read of a report: its states and kinds, in the practice check's words."""

from __future__ import annotations

import json
import re

from grader.judge.disclosure import GENERAL, judged
from grader.judge.result import SubmissionResult
from grader.judge.words import as_html, as_text
from tests.spec.test_states import report_of

WRONG = "def product(left, right):\n    return 2.5 * left @ right"


def result_of(source, practice=True):
    report = report_of("product", source)
    return judged(report, report if practice else report.with_parts(()), "", 1000)


def test_the_three_states_are_in_the_result_and_in_json():
    result = result_of(WRONG)
    assert [part.state for part in result.parts[:3]] == ["passed", "failed", "not-judged"]
    plain = json.loads(json.dumps(SubmissionResult((result,)).to_plain()))
    assert [part["judged"] for part in plain["exercises"][0]["parts"][:3]] == [True, True, False]
    assert SubmissionResult.from_plain(plain).exercises[0] == result


def test_what_waits_in_secret_is_not_worded_by_a_practice_check_that_failed_otherwise():
    result = result_of(WRONG, practice=False)
    assert result.parts[1].message == GENERAL
    assert result.parts[2].message == "Not judged yet: the values have to be right first."


def test_feedback_has_three_states_and_one_line_for_what_is_not_written():
    result = result_of(WRONG)
    assert "        not judged: takes any leading axes (0 of 0.57); " in as_text(result)
    assert "). The values had to be right first.\n" in as_text(result)
    assert "multiplies (0 of 1.71)" in as_text(result)
    assert as_text(result).count("FAIL") == 1
    assert "<strong>not judged</strong> takes any leading axes (0 of 0.57); " in as_html(result)
    assert ")<p>The values had to be right first.</p>" in as_html(result)
    for said in (as_text(result), as_html(result)):
        points = [(float(got), float(most)) for got, most in re.findall(r"\(([\d.]+) of ([\d.]+)\)", said)]
        assert [round(sum(column), 2) for column in zip(*points, strict=True)] == [result.mark, result.points]
    unwritten = as_text(result_of("def product(left, right):\n    raise NotImplementedError()"))
    assert len(unwritten.splitlines()) == 2
    assert "is not written yet" in unwritten


def test_feedback_tells_which_helper_is_not_defined():
    report = report_of("squared", "def squared(x):\n    return product(x, x.mT)")
    result = judged(report, report, "", 1000)
    assert "`squared` calls `product`, which is not defined. Run its cell" in as_text(result)
