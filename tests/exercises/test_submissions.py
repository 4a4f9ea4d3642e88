"""Every specification against right and wrong submissions, in the learner's process and behind a pipe."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator

import pytest

from grader.authoring.model_solutions import model_solution
from grader.authoring.samples import Sample, missing, submissions
from grader.authoring.unfinished import todo_in_specification
from grader.exercises.registry import exercises
from grader.report import Report
from grader.spec.evaluate import evaluate
from tests.exercises import scores
from tests.exercises.sayable import unsaid
from tests.exercises.statements import untrue

# The others fail in `test_every_exercise_is_finished` alone, which says what is missing.
FINISHED = [name for name, exercise in exercises().items() if not todo_in_specification(exercise)]
RIGHT = [one for one in submissions() if not one.mistake and one.exercise in FINISHED]
WRONG = [one for one in submissions() if one.mistake and one.exercise in FINISHED]
# A seed, and whether the cases are larger: the learner's own cases for the learner's own process, and secret ones for
# behind the pipe. There are thousands of submissions.
OWN, SECRET = ("practice", False), (b"a secret", True)
SEEDS = {"same process": [OWN], "forked process": [SECRET]}


# Behind the pipe a check takes two to five times as long: one wrong submission in eight is run there, the others in the
# process. `make test` runs the first wording of every mistake, and all that nobody listed; of the right submissions all
# in the process, with the secret cases too, and the first of every exercise behind the pipe. `make test-samples` runs
# all, in both places.
WHICH = os.environ.get("SAMPLES", "one place")
ONE_IN = 8


def right_ones() -> Iterator[object]:
    """Every right submission in the process, and behind the pipe what is asked for there."""
    inside, behind = SEEDS
    known: set[str] = set()
    for one in RIGHT:
        for where in (inside,) if WHICH == "first" and one.exercise in known else (inside, behind):
            yield pytest.param(where, one, id=f"{where}-{one}")
        known.add(one.exercise)


def in_turn() -> Iterator[object]:
    """The wrong submissions that are asked for, each in one place or in both."""
    inside, behind = SEEDS
    for number, one in enumerate(scores.first_of_each(WRONG) if WHICH == "first" else WRONG):
        place = inside if number % ONE_IN else behind
        for where in (inside, behind) if WHICH == "all" else (place,):
            yield pytest.param(where, one, id=f"{where}-{one}")


def check(submission: Sample, subject_of, seed: str | bytes = "practice", larger: bool = False):
    known = exercises()
    return evaluate(
        known[submission.exercise],
        subject_of(submission.source),
        seed=seed,
        larger=larger,
        seconds=2.0 if submission.mistake == "time-limit" else None,
        exercises=known,
    )


@pytest.mark.parametrize(("subject_of", "submission"), list(right_ones()), indirect=["subject_of"])
def test_right_submission_gets_full_marks(submission, subject_of):
    for seed, larger in (OWN, SECRET) if subject_of.kind == "same process" else (SECRET,):
        report = check(submission, subject_of, seed, larger)
        assert report.passed, str(report)
        assert report.score == 1
        assert report.diagnosis is None
        same_score(submission, report)


@pytest.mark.parametrize(("subject_of", "submission"), list(in_turn()), indirect=["subject_of"])
def test_wrong_submission_loses_marks_and_is_named(submission, subject_of):
    listed = {mistake.id for mistake in exercises()[submission.exercise].mistakes}
    for seed, larger in SEEDS[subject_of.kind]:
        report = check(submission, subject_of, seed, larger)
        assert not report.broken, report.traceback
        assert not report.passed
        assert report.score < 1
        assert untrue(report, submission) == []
        if submission.mistake == "-":
            assert report.diagnosis not in listed, str(report)
        else:
            assert report.diagnosis == submission.mistake, str(report)
        assert helps(report), str(report)
        assert not unsaid(report)
    same_score(submission, report if subject_of.kind == "same process" else scores.report_on(submission))


def same_score(submission: Sample, report: Report) -> None:
    """Whether a submission earns in the learner's own check what is kept of it. Other inputs may give other marks."""
    kept = scores.scores().get(submission.exercise, {}).get(scores.title_of(submission))
    assert kept is None or kept == pytest.approx(report.mark, abs=0.005), "see tests/exercises/scores.py"


def test_the_scores_are_of_the_submissions_that_there_are():
    kept = {(exercise, title) for exercise, titles in scores.scores().items() for title in titles}
    assert kept == {(one.exercise, scores.title_of(one)) for one in scores.judged()}, "see tests/exercises/scores.py"


def helps(report: Report) -> bool:
    """Whether a report of a failure ends with a mistake, a hint, or what has to be done first. Where nothing is known
    beyond it, the first failure itself says what happened, in a sentence that is about this call."""
    says_what_to_do = report.unwritten is not None or report.diagnosis == "excluded-function"
    told = report.first_failure is not None and re.search(ABOUT_THIS_CALL, report.first_failure.message) is not None
    return bool(report.symptom or report.hints or report.first_fix or says_what_to_do or told)


# A number, a name or a line of the student's code.
ABOUT_THIS_CALL = r"\d|`[^`]+`|Your code|Gradients were recorded"


def without_unused_imports(source: str) -> str:
    """A lesson imports what it draws with, which takes a second in every child and has nothing to do with a mark."""
    tree = ast.parse(source)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            node.names = [name for name in node.names if (name.asname or name.name).split(".")[0] in used]
    tree.body = [node for node in tree.body if not isinstance(node, ast.Import | ast.ImportFrom) or node.names]
    return ast.unparse(tree)


@pytest.mark.parametrize("name", FINISHED)
def test_model_solution_gets_full_marks(name, subject_of):
    exercise = exercises()[name]
    source = without_unused_imports(model_solution(exercise))
    for seed, larger in SEEDS[subject_of.kind]:
        report = evaluate(exercise, subject_of(source), seed=seed, larger=larger, exercises=exercises())
        assert report.passed, str(report)


@pytest.mark.parametrize("name", list(exercises()))
def test_every_exercise_is_finished(name):
    """No TODO in its specification, and enough right and wrong submissions."""
    problems = [*todo_in_specification(exercises()[name]), *missing(exercises()[name])]
    if problems:
        pytest.fail("\n".join(map(str, problems)), pytrace=False)


@pytest.mark.parametrize("name", FINISHED)
def test_parts_that_compare_values_hold_at_least_half(name):
    parts = exercises()[name].parts
    assert sum(p.weight for p in parts if p.compares_values) >= sum(p.weight for p in parts) / 2


@pytest.mark.parametrize("name", FINISHED)
def test_mistakes_have_unique_ids_a_symptom_and_hints(name):
    mistakes = exercises()[name].mistakes
    assert len({m.id for m in mistakes}) == len(mistakes)
    assert all(m.symptom.endswith(".") and m.hints and (m.variants or m.recognise) for m in mistakes)
