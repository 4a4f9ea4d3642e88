"""The quiz of lesson 01: right answers in any spelling, hints for wrong ones, a sentence for anything else."""

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
from grader.exercises import lesson_01_quiz
from grader.exercises.lesson_01_quiz import QUIZ
from grader.report import Report
from grader.subject.local import LocalSubject
from tests.model_solutions import cells

RIGHT = {
    "scores_shape": (5, 7),
    "output_shape": (2, 6, 3),
    "read_weight": 0.09,
    "multiplications": 800,
    "softmax_by_hand": 0.79,
    "larger_divisor": "b",
    "why_scale": "d",
    "properties": "a",
    "cat_slip": "c",
}
QUESTIONS = (*lesson_01_quiz.SHAPES, *lesson_01_quiz.NUMBERS, *lesson_01_quiz.LETTERS)


def graded(given: object) -> Report:
    report = evaluate(QUIZ, LocalSubject({"quiz_01": given}))
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
    [body] = [body for head, body in cells("01_self_attention") if 'exercise="quiz_01" role="solution"' in head]
    stub, solution = (ast.literal_eval(text) for text in re.findall(r"quiz_01 = (\{.*?\n\})", body, re.DOTALL))
    assert list(stub) == list(solution) == [part.name for part in QUIZ.parts]
    assert solution == RIGHT


@pytest.mark.parametrize(
    ("key", "answer"),
    [
        ("scores_shape", [5, 7]),
        ("scores_shape", torch.Size([5, 7])),
        ("scores_shape", (np.int64(5), np.int32(7))),
        ("scores_shape", torch.zeros(5, 7).shape),
        ("output_shape", [2, 6, 3]),
        ("read_weight", 0.0903),
        ("read_weight", 0.090267),
        ("read_weight", np.float32(0.09)),
        ("read_weight", torch.tensor(0.0903)),
        ("read_weight", torch.tensor([0.09], dtype=torch.float64)),
        ("multiplications", 800.0),
        ("multiplications", np.int64(800)),
        ("multiplications", torch.tensor(800)),
        ("softmax_by_hand", 0.787),
        ("softmax_by_hand", np.float64(0.7869860421615985)),
        ("larger_divisor", "B"),
        ("larger_divisor", " b "),
        ("larger_divisor", "b."),
        ("why_scale", "(d)"),
        ("why_scale", "D)"),
        ("properties", np.str_("a")),
    ],
)
def test_other_spellings_of_right_answers_count(key, answer):
    assert graded({**RIGHT, key: answer}).passed


def test_dict_subclass_and_more_keys_do_no_harm():
    class Answers(dict):
        pass

    assert graded(Answers(RIGHT)).passed
    assert graded({**RIGHT, "note": "I used a calculator", 3: None}).passed


@pytest.mark.parametrize(
    ("key", "answer", "hint"),
    [
        ("scores_shape", (7, 5), "gives the product its rows"),
        ("scores_shape", [16, 16], "in common"),
        ("scores_shape", (5, 7, 1), "meet and vanish"),
        ("output_shape", (2, 6, 10), "something that was projected"),
        ("output_shape", [2, 6, 6], "shape of the weights"),
        ("output_shape", (), "how wide are they"),
        ("read_weight", 0.75, "exchanged row and column"),
        ("read_weight", 0.7547, "exchanged row and column"),
        ("read_weight", 0.43, "counted from zero"),
        ("read_weight", torch.tensor(0.91), "from itself"),
        ("read_weight", 12, "the score"),
        ("read_weight", 0.1, "A row belongs to"),
        ("read_weight", math.nan, "A row belongs to"),
        ("read_weight", 10**400, "A row belongs to"),
        ("multiplications", 100, "number of scores"),
        ("multiplications", 80.0, "How many queries"),
        ("multiplications", 799, "How many scores are there"),
        ("multiplications", np.int64(1600), "no additions"),
        ("softmax_by_hand", 0.9, "ratio is 18"),
        ("softmax_by_hand", 0.6, "first?"),
        ("softmax_by_hand", 0.88, "two equal ones"),
        ("softmax_by_hand", 0.78, "the ratio of two weights"),
        ("softmax_by_hand", math.inf, "the ratio of two weights"),
        ("larger_divisor", "A", "difference of their scores"),
        ("larger_divisor", "c ", "larger differences"),
        ("why_scale", "a", "without it"),
        ("properties", "b", "columns"),
        ("cat_slip", "D", "the largest score"),
    ],
)
def test_wrong_answer_gets_the_hint_that_fits(key, answer, hint):
    said = message(key, answer)
    assert said.startswith(f'"{key}" is not right yet. ')
    assert hint in said


@pytest.mark.parametrize(
    ("key", "answer", "said"),
    [
        ("scores_shape", "(5, 7)", "expected a shape, whole numbers such as (2, 3), got '(5, 7)'."),
        ("scores_shape", (5.0, 7.0), "expected a shape, whole numbers such as (2, 3), got a value of type tuple."),
        ("scores_shape", 35, "expected a shape, whole numbers such as (2, 3), got 35."),
        ("scores_shape", {5, 7}, "got a value of type set."),
        ("scores_shape", torch.zeros(5, 7), "got a value of type Tensor."),
        ("scores_shape", (True, 7), "got a value of type tuple."),
        ("read_weight", "0.09", "expected a number, got '0.09'."),
        ("read_weight", True, "expected a number, got True."),
        ("read_weight", torch.tensor([0.09, 0.09]), "expected a number, got a value of type Tensor."),
        ("read_weight", np.array([0.09]), "expected a number, got a value of type ndarray."),
        ("read_weight", 0.09j, "expected a number, got a value of type complex."),
        ("multiplications", (800,), "expected a number, got a value of type tuple."),
        ("larger_divisor", "e", "expected one of 'a', 'b', 'c', 'd', got 'e'."),
        ("larger_divisor", "", "got ''."),
        ("larger_divisor", "ab", "got 'ab'."),
        ("larger_divisor", ["b"], "got a value of type list."),
        ("larger_divisor", 2, "got 2."),
        ("larger_divisor", lambda: "b", "got a value of type function."),
        ("why_scale", "because dot products grow", "got 'because dot products grow'."),
    ],
)
def test_answer_of_another_kind_is_told_so(key, answer, said):
    assert said in message(key, answer)


@pytest.mark.parametrize("answer", [..., None])
def test_open_answer_is_told_so(answer):
    assert message("why_scale", answer) == '"why_scale" is not answered yet.'


def test_missing_key_is_told_so():
    report = graded({key: answer for key, answer in RIGHT.items() if key != "read_weight"})
    assert report.first_failure is not None
    assert report.first_failure.message == 'The key "read_weight" is missing from `quiz_01`.'
    assert report.score == pytest.approx(8 / 9)


@pytest.mark.parametrize("given", [None, [], list(RIGHT.values()), "b", 3, torch.zeros(2), {}, {"a": 1}])
def test_what_is_no_dict_of_answers_earns_nothing(given):
    assert graded(given).score == 0


def test_untouched_quiz_earns_nothing():
    report = graded(dict.fromkeys(RIGHT, ...))
    assert report.score == 0
    assert report.diagnosis is None


def test_partly_right_answers_earn_their_share():
    report = graded({**RIGHT, "scores_shape": (7, 5), "why_scale": "a", "cat_slip": ...})
    assert report.score == pytest.approx(6 / 9)
    assert report.mark == 1.33


def test_hints_never_hold_the_answer():
    shown = {"scores_shape": "(5, 7)", "output_shape": "(2, 6, 3)", "read_weight": "0.09"}
    shown |= {"multiplications": "800", "softmax_by_hand": "0.79"}
    for question in QUESTIONS:
        hints = [question.hint, *question.wrong.values()]
        assert all(shown.get(question.key, "no such text") not in hint for hint in hints)
        assert question.right(RIGHT[question.key]) is True
        assert not any(answers.normal(RIGHT[question.key]) == wrong for wrong in question.wrong)


def test_letters_stand_nowhere_in_the_specification():
    source = inspect.getsource(lesson_01_quiz)
    for question in lesson_01_quiz.LETTERS:
        others = sorted(question.wrong)
        assert len(others) == 3
        assert answers.seal(question.key, RIGHT[question.key]) in source
