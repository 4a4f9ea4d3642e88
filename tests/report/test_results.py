"""Results go through JSON and back, with sentences that can still be said again; those of course 0.2 are read, too."""

from __future__ import annotations

import json
import re

from grader.judge.disclosure import judged
from grader.judge.result import SubmissionResult
from grader.judge.words import as_html, as_text, comment_on
from grader.report.data import State
from grader.report.words import WAITING
from grader.sentences import in_language
from tests.spec.test_states import report_of

HELPERLESS = "def squared(x):\n    return product(x, x.mT)"
SOURCES = {
    "product": "def product(left, right):\n    return (left @ right).sum(-1)",
    "squared": HELPERLESS,
}


def result() -> SubmissionResult:
    reports = (report_of(name, source) for name, source in SOURCES.items())
    return SubmissionResult(tuple(judged(report, report, "", 1000) for report in reports))


def through_json(what: SubmissionResult) -> SubmissionResult:
    return SubmissionResult.from_plain(json.loads(json.dumps(what.to_plain())))


def in_capitals(template: str) -> str:
    """Another language, in which placeholders stay as they are."""
    return re.sub(r"(\{\w+\})|([a-z]+)", lambda found: found[1] or found[2].upper(), template)


def test_a_result_is_the_same_after_json_and_can_be_said_in_another_language():
    before, after = result(), through_json(result())
    assert after == before
    message = after["product"].parts[0].message
    assert message.startswith("The result of `product` has shape ")
    assert in_language(message, in_capitals).startswith("THE RESULT OF `product` HAS SHAPE ")


def test_a_result_of_course_0_2_is_read_and_told_as_ever():
    plain = json.loads(json.dumps(result().to_plain()))
    for exercise in plain["exercises"]:
        exercise["first_fix_why"] = "is not defined" if exercise["first_fix"] else ""
        for part in exercise["parts"]:
            part["message"] = "Not judged yet: the values have to be right first." if part["message"] else ""
            part["kind"] = "values-first" if part["kind"] else ""
            part["judged"] = False
    old = SubmissionResult.from_plain(plain)
    assert "`squared` calls `product`, which is not defined. Run its cell, then check again." in as_text(old["squared"])
    assert "The values had to be right first." in as_html(old["product"])
    assert {part.state for part in old["product"].parts if not part.passed} == {State.NOT_JUDGED}
    assert comment_on(old["squared"], old)


def test_every_reason_to_wait_has_its_three_forms():
    for kind, waiting in WAITING.items():
        assert waiting.sentence.startswith("Not judged yet: "), kind
        assert waiting.reason[0].islower(), kind
        assert not waiting.reason.endswith("."), kind
        assert waiting.past[0].isupper(), kind
        assert waiting.past.endswith("."), kind
