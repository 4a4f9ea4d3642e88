"""What a report says of single exercises, where the words had been misleading."""

from __future__ import annotations

from grader.authoring.samples import submissions
from grader.exercises.registry import exercises
from grader.report import Report
from grader.spec.evaluate import evaluate
from grader.subject import Request
from grader.subject.local import LocalSubject


def report(exercise: str, source: str) -> Report:
    subject = LocalSubject({"__name__": "__main__"})
    assert subject.ask(Request("run", source=source, seconds=60)).ok
    checked = evaluate(exercises()[exercise], subject)
    assert not checked.broken, checked.traceback
    return checked


def sample(name: str) -> str:
    [source] = [one.source for one in submissions() if str(one) == name]
    return source


def test_asserts_reject_something():
    """They raise AssertionError where a rule is broken, so it isn't true that nothing is rejected."""
    said = report("validate_attention", sample("validate_attention---assert, three of them")).first_failure.message
    assert said == (
        "It accepts sound weights, but where a rule is broken it raises AssertionError, "
        "not the ValueError that is asked for."
    )


def test_a_value_error_of_python_is_not_quoted_as_the_students_message():
    source = sample("validate_attention-finite-tested-too-late-entry by entry, row by row")
    first = report("validate_attention", source).first_failure
    assert first.kind == "raised"
    assert first.message.startswith("`validate_attention` raised ValueError")
    assert "rejected sound weights" not in first.message


def test_a_call_that_fails_with_a_mask_is_not_said_to_fail_because_it_is_the_second():
    checked = report("MultiHeadAttention", sample("MultiHeadAttention-mask-as-condition-if mask"))
    kinds = {result.name: result.kind for result in checked.parts}
    assert kinds["hides what the mask hides"] == "raised"
    assert kinds["keeps nothing from an earlier call"] == "values-first"


def test_query_and_key_exchanged_are_two_projections():
    """Both weight matrices are used, each in the other's role, which transposes the scores."""
    source = sample("multi_head_attention-scores-transposed-weight matrices exchanged")
    assert report("multi_head_attention", source).diagnosis == "scores-transposed"
