"""The quiz of lesson 02: right answers in any spelling, hints for wrong ones, a sentence for anything else."""

from __future__ import annotations

import ast
import inspect
import math
import re

import numpy as np
import pytest
import torch

from grader import answers
from grader.engine import evaluate
from grader.exercises import lesson_02_quiz
from grader.exercises.lesson_02_quiz import QUESTIONS, QUIZ
from grader.report import Report
from grader.subject.local import LocalSubject
from tests.model_solutions import cells

RIGHT = {
    "gram_shape": (3, 8, 8),
    "symmetric": "c",
    "self_test": "b",
    "weight_shape": (32, 16),
    "output_shape": (8, 64),
    "divisor": 5.66,
    "typical_size": 10.0,
    "entropy": 2.08,
    "stuck": "b",
}
LETTERS = ("symmetric", "self_test", "stuck")


def graded(given: object) -> Report:
    report = evaluate(QUIZ, LocalSubject({"quiz_02": given}))
    assert not report.broken, report.broken
    return report


def message(key: str, answer: object) -> str:
    """What is said about one answer, all others being right."""
    report = graded({**RIGHT, key: answer})
    failed = [result for result in report.results if not result.passed]
    assert [result.name for result in failed] == [key], str(report)
    assert report.score == pytest.approx(8 / 9)
    return failed[0].message


def test_right_answers_get_full_marks():
    report = graded(RIGHT)
    assert report.passed
    assert report.mark == 2


def test_lesson_asks_for_the_same_keys_in_the_same_order():
    [body] = [body for head, body in cells("02_trainable_attention") if 'exercise="quiz_02" role="solution"' in head]
    stub, solution = (ast.literal_eval(text) for text in re.findall(r"quiz_02 = (\{.*?\n\})", body, re.DOTALL))
    assert list(stub) == list(solution) == [part.name for part in QUIZ.parts]
    assert solution == RIGHT


def test_computed_answers_are_those_that_torch_gives():
    x, u_key, u_value = torch.ones(8, 16), torch.nn.Linear(16, 32).weight, torch.nn.Linear(16, 64).weight
    batch = torch.ones(3, 8, 16)
    assert RIGHT["gram_shape"] == (batch @ batch.mT).shape
    assert RIGHT["weight_shape"] == u_key.shape
    assert RIGHT["output_shape"] == ((x @ u_key.T @ (x @ u_key.T).T).softmax(-1) @ (x @ u_value.T)).shape
    assert pytest.approx(math.sqrt(32), abs=0.005) == RIGHT["divisor"]
    assert pytest.approx(float(torch.special.entr(torch.full((8,), 1 / 8)).sum()), abs=0.005) == RIGHT["entropy"]


@pytest.mark.parametrize(
    ("key", "answer"),
    [
        ("gram_shape", [3, 8, 8]),
        ("gram_shape", torch.zeros(3, 8, 8).shape),
        ("weight_shape", (np.int64(32), np.int32(16))),
        ("output_shape", torch.Size([8, 64])),
        ("divisor", math.sqrt(32)),
        ("divisor", torch.tensor(5.6569)),
        ("divisor", np.float32(5.66)),
        ("typical_size", 10),
        ("typical_size", np.int64(10)),
        ("typical_size", torch.tensor([10.0])),
        ("entropy", math.log(8)),
        ("entropy", 2.079),
        ("symmetric", "C"),
        ("symmetric", " c) "),
        ("self_test", "(b)"),
        ("stuck", np.str_("b")),
    ],
)
def test_other_spellings_of_right_answers_count(key, answer):
    assert graded({**RIGHT, key: answer}).passed


@pytest.mark.parametrize(
    ("key", "answer", "hint"),
    [
        ("gram_shape", (3, 16, 16), "features with features"),
        ("gram_shape", [8, 8], "leading axis"),
        ("gram_shape", (24, 24), "how many pairs"),
        ("symmetric", "a", "can be expressed"),
        ("symmetric", "D", "all the same"),
        ("self_test", "c", "on both sides alike"),
        ("weight_shape", (16, 32), "order of the arguments"),
        ("weight_shape", (32,), "bias"),
        ("weight_shape", (8, 16), "x @ weight.T"),
        ("output_shape", (8, 32), "What do the weights mix"),
        ("output_shape", (8, 8), "shape of the weights"),
        ("output_shape", (16, 64), "One row for every query"),
        ("divisor", 4, "width of a token"),
        ("divisor", 8.0, "width of a value"),
        ("divisor", 2.83, "number of tokens"),
        ("divisor", torch.tensor(32), "there is a root"),
        ("divisor", 5.7, "a root of the width"),
        ("typical_size", 100, "That is the variance"),
        ("typical_size", 0.1, "undo something large"),
        ("typical_size", math.inf, "adds up"),
        ("entropy", 3, "in bits"),
        ("entropy", -2.08, "in front of the sum"),
        ("entropy", 0.26, "one term"),
        ("entropy", 0.125, "one of the weights"),
        ("entropy", math.nan, "All eight terms"),
        ("stuck", "d", "the opposite"),
    ],
)
def test_wrong_answer_gets_the_hint_that_fits(key, answer, hint):
    said = message(key, answer)
    assert said.startswith(f'"{key}" is not right yet. ')
    assert hint in said


@pytest.mark.parametrize(
    ("key", "answer", "said"),
    [
        ("gram_shape", "(3, 8, 8)", "got '(3, 8, 8)'."),
        ("gram_shape", 192, "got 192."),
        ("output_shape", (8.0, 64.0), "got a value of type tuple."),
        ("divisor", "5.66", "expected a number, got '5.66'."),
        ("divisor", True, "expected a number, got True."),
        ("entropy", torch.tensor([2.08, 2.08]), "expected a number, got a value of type Tensor."),
        ("symmetric", "e", "expected one of 'a', 'b', 'c', 'd', got 'e'."),
        ("self_test", ["b"], "got a value of type list."),
        ("stuck", 2, "got 2."),
    ],
)
def test_answer_of_another_kind_is_told_so(key, answer, said):
    assert said in message(key, answer)


@pytest.mark.parametrize("answer", [..., None])
def test_open_answer_is_told_so(answer):
    assert message("stuck", answer) == '"stuck" is not answered yet.'


def test_missing_key_is_told_so():
    report = graded({key: answer for key, answer in RIGHT.items() if key != "entropy"})
    assert report.first_failure is not None
    assert report.first_failure.message == 'The key "entropy" is missing from `quiz_02`.'
    assert report.score == pytest.approx(8 / 9)


@pytest.mark.parametrize("given", [None, [], list(RIGHT.values()), "b", 3, torch.zeros(2), {}, {"a": 1}])
def test_what_is_no_dict_of_answers_earns_nothing(given):
    assert graded(given).score == 0


def test_untouched_quiz_earns_nothing():
    assert graded(dict.fromkeys(RIGHT, ...)).score == 0


def test_partly_right_answers_earn_their_share():
    report = graded({**RIGHT, "gram_shape": (8, 8), "stuck": "a", "entropy": ...})
    assert report.score == pytest.approx(6 / 9)
    assert report.mark == 1.33


def test_hints_never_hold_the_answer():
    shown = {"gram_shape": "(3, 8, 8)", "weight_shape": "(32, 16)", "output_shape": "(8, 64)"}
    shown |= {"divisor": "5.6", "typical_size": "10", "entropy": "2.0"}
    for question in QUESTIONS:
        hints = [question.hint, *question.wrong.values()]
        assert all(shown.get(question.key, "no such text") not in hint for hint in hints)
        assert question.right(RIGHT[question.key]) is True
        assert not any(answers.normal(RIGHT[question.key]) == wrong for wrong in question.wrong)


def test_letters_stand_nowhere_in_the_specification():
    source = inspect.getsource(lesson_02_quiz)
    for key in LETTERS:
        assert answers.seal(key, RIGHT[key]) in source
        assert f'"{key}", "{RIGHT[key]}"' not in source
