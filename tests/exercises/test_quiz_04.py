"""The quiz of lesson 04: right answers in any spelling, hints for wrong ones, a sentence for anything else."""

from __future__ import annotations

import ast
import inspect
import re

import numpy as np
import pytest
import torch

from grader.engine import evaluate
from grader.exercises import lesson_04_quiz
from grader.exercises.lesson_04_quiz import QUESTIONS, QUIZ
from grader.report import Report
from grader.subject.local import LocalSubject
from tests.model_solutions import cells

RIGHT = {
    "hidden_scores": 45,
    "decoder_shape": (128, 1, 29, 29),
    "first_weight": 0.4,
    "when_causal": "b",
    "which_mask": "c",
    "row_float32": "d",
    "row_float64": "c",
    "which_padding": "b",
    "proof": "c",
}
LETTERS = ("when_causal", "which_mask", "row_float32", "row_float64", "which_padding", "proof")


def graded(given: object) -> Report:
    report = evaluate(QUIZ, LocalSubject({"quiz_04": given}))
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
    [body] = [body for head, body in cells("04_masking") if 'exercise="quiz_04" role="solution"' in head]
    stub, solution = (ast.literal_eval(text) for text in re.findall(r"quiz_04 = (\{.*?\n\})", body, re.DOTALL))
    assert list(stub) == list(solution) == [part.name for part in QUIZ.parts]
    assert solution == RIGHT


@pytest.mark.parametrize(
    ("key", "answer"),
    [
        ("hidden_scores", 45.0),
        ("hidden_scores", np.int64(45)),
        ("hidden_scores", torch.tensor(45)),
        ("decoder_shape", [128, 1, 29, 29]),
        ("decoder_shape", torch.Size([128, 1, 29, 29])),
        ("decoder_shape", (128, np.int64(1), 29, 29)),
        ("first_weight", 2 / 5),
        ("first_weight", np.float32(0.4)),
        ("first_weight", torch.tensor([0.4])),
        ("when_causal", "B"),
        ("which_mask", " c) "),
        ("proof", "(C)"),
    ],
)
def test_other_spellings_of_right_answers_count(key, answer):
    assert graded({**RIGHT, key: answer}).passed


@pytest.mark.parametrize(
    ("key", "answer", "hint"),
    [
        ("hidden_scores", 55, "visible ones"),
        ("hidden_scores", 50.0, "diagonal belongs"),
        ("hidden_scores", 44, "row by row"),
        ("decoder_shape", [128, 29, 29], "one more axis"),
        ("decoder_shape", (128, 1, 1, 29), "same keys"),
        ("decoder_shape", (), "attends to itself"),
        ("first_weight", 0.2, "visible shares"),
        ("first_weight", 0.67, "not yet the share"),
        ("first_weight", 2 / 3, "keep their ratio"),
        ("when_causal", "d", "doesn't exist yet"),
        ("which_mask", "A", "table of section 3"),
        ("row_float32", "c", "enough digits"),
        ("row_float64", "d", "equal"),
        ("which_padding", "c", "future"),
        ("proof", "b", "token 5"),
    ],
)
def test_plausible_wrong_answer_gets_its_hint(key, answer, hint):
    assert hint in message(key, answer)


@pytest.mark.parametrize(
    ("key", "answer", "said"),
    [
        ("hidden_scores", "45", "expected a number"),
        ("hidden_scores", True, "expected a number"),
        ("decoder_shape", "128, 1, 29, 29", "expected a shape"),
        ("decoder_shape", torch.zeros(2), "expected a shape"),
        ("first_weight", [0.4], "expected a number"),
        ("when_causal", 2, "expected one of"),
        ("which_mask", "e", "expected one of"),
        ("row_float32", ["d"], "expected one of"),
        ("proof", ..., "not answered yet"),
        ("row_float64", None, "not answered yet"),
    ],
)
def test_answer_of_another_kind_is_told_so(key, answer, said):
    assert said in message(key, answer)


def test_missing_key_costs_its_question_only():
    report = graded({key: answer for key, answer in RIGHT.items() if key != "proof"})
    assert report.score == pytest.approx(8 / 9)
    assert '"proof" is missing' in str(report)


@pytest.mark.parametrize("given", [None, [], "b", 3, tuple(RIGHT.items())])
def test_what_is_no_dict_scores_nothing(given):
    report = graded(given)
    assert report.score == 0
    assert "dict" in str(report)


def test_every_hint_is_for_a_wrong_answer_and_gives_no_right_one_away():
    for question in QUESTIONS:
        letter = question.key in LETTERS
        for text, hint in question.wrong.items():
            assert question.right(text if letter else ast.literal_eval(text)) is False, (question.key, text)
            assert letter or not re.search(rf"(?<!\d){re.escape(str(RIGHT[question.key]))}(?!\d)", hint)
        assert letter or str(RIGHT[question.key]) not in question.hint


def test_letters_do_not_stand_in_the_package():
    source = inspect.getsource(lesson_04_quiz)
    for key in LETTERS:
        [wrong] = [question.wrong for question in QUESTIONS if question.key == key]
        assert len(wrong) == 3
        assert f'"{key}", "{RIGHT[key]}"' not in source
