"""The quiz of lesson 05: right answers in any spelling, hints for wrong ones, a sentence for anything else."""

from __future__ import annotations

import ast
import inspect
import re

import numpy as np
import pytest
import torch

from grader import answers
from grader.engine import evaluate
from grader.exercises import lesson_05_quiz
from grader.exercises.lesson_05_quiz import QUESTIONS, QUIZ
from grader.report import Report
from grader.subject.local import LocalSubject
from tests.model_solutions import cells

RIGHT = {
    "layer_means": 10,
    "batch_statistics": (10,),
    "by_hand": 1.41,
    "large_eps": 0.67,
    "running_mean": 0.96,
    "running_var": 1.1,
    "batch_of_two": "a",
    "padding": "b",
    "pre_norm_gradient": "b",
    "slip": "d",
}


def graded(given: object) -> Report:
    report = evaluate(QUIZ, LocalSubject({"quiz_05": given}))
    assert not report.broken, report.broken
    return report


def message(key: str, answer: object) -> str:
    """What is said about one answer, all others being right."""
    report = graded({**RIGHT, key: answer})
    failed = [result for result in report.results if not result.passed]
    assert [result.name for result in failed] == [key], str(report)
    assert report.score == pytest.approx(0.9)
    return failed[0].message


def test_right_answers_get_full_marks():
    report = graded(RIGHT)
    assert report.passed
    assert report.mark == 2


def test_lesson_asks_for_the_same_keys_in_the_same_order():
    [body] = [body for head, body in cells("05_normalization") if 'exercise="quiz_05" role="solution"' in head]
    stub, solution = (ast.literal_eval(text) for text in re.findall(r"quiz_05 = (\{.*?\n\})", body, re.DOTALL))
    assert list(stub) == list(solution) == [part.name for part in QUIZ.parts]
    assert solution == RIGHT


@pytest.mark.parametrize(
    ("key", "answer"),
    [
        ("layer_means", 10.0),
        ("layer_means", np.int64(10)),
        ("batch_statistics", [10]),
        ("batch_statistics", torch.Size([10])),
        ("by_hand", 1.4142),
        ("by_hand", 2**0.5),
        ("large_eps", 2 / 3),
        ("large_eps", torch.tensor(0.6667)),
        ("running_mean", np.float32(0.96)),
        ("running_var", 1.10),
        ("batch_of_two", "A"),
        ("padding", " b) "),
        ("slip", "(d)"),
    ],
)
def test_other_spellings_of_right_answers_count(key, answer):
    assert graded({**RIGHT, key: answer}).passed


@pytest.mark.parametrize(
    ("key", "answer", "hint"),
    [
        ("layer_means", 8, "would be BatchNorm"),
        ("layer_means", 80, "how many numbers"),
        ("layer_means", 11, "How many tokens"),
        ("batch_statistics", (16,), "for every sample"),
        ("batch_statistics", (16, 10), "averaged over disappears"),
        ("batch_statistics", (1, 10), "gone altogether"),
        ("by_hand", 1.22, "d - 1"),
        ("by_hand", 1.2247, "d - 1"),
        ("by_hand", 0.67, "variance itself"),
        ("by_hand", 1.71, "RMSNorm"),
        ("large_eps", 0.29, "outside the root"),
        ("large_eps", 1, "without eps"),
        ("running_mean", 5, "a tenth of the way"),
        ("running_mean", 5.76, "not nine tenths"),
        ("running_var", 1.0, "Which of the two variances"),
        ("running_var", 1, "Which of the two variances"),
        ("running_var", 0.2, "start at 0"),
        ("batch_of_two", "b", "What is left of the distance"),
        ("padding", "a", "padded zeros"),
        ("pre_norm_gradient", "c", "48 layers"),
        ("slip", "c", "running_var"),
    ],
)
def test_wrong_answer_gets_the_hint_that_fits(key, answer, hint):
    said = message(key, answer)
    assert said.startswith(f'"{key}" is not right yet. ')
    assert hint in said


@pytest.mark.parametrize(
    ("key", "answer", "said"),
    [
        ("layer_means", "10", "expected a number, got '10'."),
        ("layer_means", True, "expected a number, got True."),
        ("batch_statistics", 10, "expected a shape"),
        ("batch_statistics", (10.0,), "expected a shape"),
        ("by_hand", (1.41,), "expected a number, got a value of type tuple."),
        ("running_var", None, "not answered yet"),
        ("padding", "LayerNorm", "expected one of 'a', 'b', 'c', 'd', got 'LayerNorm'."),
        ("slip", ..., "not answered yet"),
    ],
)
def test_answer_of_another_kind_is_told_so(key, answer, said):
    assert said in message(key, answer)


def test_missing_key_is_told_so():
    report = graded({key: answer for key, answer in RIGHT.items() if key != "padding"})
    assert report.first_failure is not None
    assert report.first_failure.message == 'The key "padding" is missing from `quiz_05`.'


@pytest.mark.parametrize("given", [None, [], list(RIGHT.values()), "b", 3, torch.zeros(2), {}, {"a": 1}])
def test_what_is_no_dict_of_answers_earns_nothing(given):
    assert graded(given).score == 0


def test_untouched_quiz_earns_nothing():
    report = graded(dict.fromkeys(RIGHT, ...))
    assert report.score == 0
    assert report.diagnosis is None


def test_partly_right_answers_earn_their_share():
    report = graded({**RIGHT, "by_hand": 1.22, "slip": "a", "padding": ...})
    assert report.score == pytest.approx(0.7)
    assert report.mark == 1.4


def test_hints_never_hold_the_answer():
    shown = {"batch_statistics": "(10,)", "by_hand": "1.41", "large_eps": "0.67"}
    shown |= {"running_mean": "0.96", "running_var": "1.1", "layer_means": "10"}
    for question in QUESTIONS:
        hints = [question.hint, *question.wrong.values()]
        assert all(shown.get(question.key, "no such text") not in hint for hint in hints)
        assert question.right(RIGHT[question.key]) is True
        assert not any(answers.normal(RIGHT[question.key]) == wrong for wrong in question.wrong)


def test_letters_stand_nowhere_in_the_specification():
    source = inspect.getsource(lesson_05_quiz)
    letters = [question for question in QUESTIONS if isinstance(RIGHT[question.key], str)]
    for question in letters:
        assert len(question.wrong) == 3
        assert answers.seal(question.key, RIGHT[question.key]) in source
