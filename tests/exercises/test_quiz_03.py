"""The quiz of lesson 03: right answers in any spelling, hints for wrong ones, a sentence for anything else."""

from __future__ import annotations

import ast
import inspect
import re

import numpy as np
import pytest
import torch

from grader.engine import evaluate
from grader.exercises import lesson_03_quiz
from grader.exercises.lesson_03_quiz import QUESTIONS, QUIZ
from grader.report import Report
from grader.subject.local import LocalSubject
from tests.model_solutions import cells

RIGHT = {
    "head_dim": 64,
    "weights_shape": (2, 3, 5, 7),
    "scores_shape": (3, 5, 7),
    "after_split": 22,
    "after_view": 14,
    "parameters": 1680,
    "more_heads": "b",
    "contiguous": "c",
    "wrong_root": "b",
    "which_mask": "c",
}
LETTERS = ("more_heads", "contiguous", "wrong_root", "which_mask")


def graded(given: object) -> Report:
    report = evaluate(QUIZ, LocalSubject({"quiz_03": given}))
    assert not report.broken, report.broken
    return report


def message(key: str, answer: object) -> str:
    """What is said about one answer, all others being right."""
    report = graded({**RIGHT, key: answer})
    failed = [result for result in report.results if not result.passed]
    assert [result.name for result in failed] == [key], str(report)
    assert report.score == pytest.approx(9 / 10)
    return failed[0].message


def test_right_answers_get_full_marks():
    report = graded(RIGHT)
    assert report.passed
    assert report.mark == 2


def test_lesson_asks_for_the_same_keys_in_the_same_order():
    [body] = [body for head, body in cells("03_multi_head_attention") if 'exercise="quiz_03" role="solution"' in head]
    stub, solution = (ast.literal_eval(text) for text in re.findall(r"quiz_03 = (\{.*?\n\})", body, re.DOTALL))
    assert list(stub) == list(solution) == [part.name for part in QUIZ.parts]
    assert solution == RIGHT


@pytest.mark.parametrize(
    ("key", "answer"),
    [
        ("head_dim", 64.0),
        ("head_dim", np.int64(64)),
        ("weights_shape", [2, 3, 5, 7]),
        ("weights_shape", torch.Size([2, 3, 5, 7])),
        ("scores_shape", (np.int64(3), 5, 7)),
        ("after_split", torch.tensor(22)),
        ("after_view", np.float32(14)),
        ("parameters", torch.tensor([1680.0])),
        ("more_heads", "B"),
        ("contiguous", " c) "),
        ("which_mask", "(C)"),
    ],
)
def test_other_spellings_of_right_answers_count(key, answer):
    assert graded({**RIGHT, key: answer}).passed


@pytest.mark.parametrize(
    ("key", "answer", "hint"),
    [
        ("head_dim", 768, "all heads together"),
        ("head_dim", 12.0, "number of heads"),
        ("head_dim", 63, "share the columns"),
        ("weights_shape", (2, 3, 7, 5), "who looks"),
        ("weights_shape", [2, 5, 7], "every head"),
        ("weights_shape", (), "table of its own"),
        ("scores_shape", (5, 3, 7), "order behind the arrow"),
        ("after_split", 14, "`view` alone"),
        ("after_split", np.int64(21), "neighbouring columns"),
        ("after_view", 22, "nothing is swapped"),
        ("parameters", 1600, "bias"),
        ("parameters", 1260, "three layers"),
        ("more_heads", "A", "larger d_model"),
        ("contiguous", "b", "keeps gradients"),
        ("wrong_root", "a", "smaller or larger"),
        ("which_mask", "b", "nn.MultiheadAttention"),
    ],
)
def test_plausible_wrong_answer_gets_its_hint(key, answer, hint):
    assert hint in message(key, answer)


@pytest.mark.parametrize(
    ("key", "answer", "said"),
    [
        ("head_dim", "64", "expected a number"),
        ("head_dim", True, "expected a number"),
        ("weights_shape", "2, 3, 5, 7", "expected a shape"),
        ("weights_shape", torch.zeros(2), "expected a shape"),
        ("scores_shape", 105, "expected a shape"),
        ("after_split", [22], "expected a number"),
        ("more_heads", 2, "expected one of"),
        ("contiguous", "e", "expected one of"),
        ("wrong_root", ["b"], "expected one of"),
        ("which_mask", ..., "not answered yet"),
        ("parameters", None, "not answered yet"),
    ],
)
def test_answer_of_another_kind_is_told_so(key, answer, said):
    assert said in message(key, answer)


def test_missing_key_costs_its_question_only():
    report = graded({key: answer for key, answer in RIGHT.items() if key != "after_view"})
    assert report.score == pytest.approx(9 / 10)
    assert '"after_view" is missing' in str(report)


@pytest.mark.parametrize("given", [None, [], "b", 3, tuple(RIGHT.items())])
def test_what_is_no_dict_scores_nothing(given):
    report = graded(given)
    assert report.score == 0
    assert "dict" in str(report)


def test_every_hint_is_for_a_wrong_answer_and_gives_no_right_one_away():
    for question in QUESTIONS:
        for text, hint in question.wrong.items():
            answer = text if question.key in LETTERS else ast.literal_eval(text)
            assert question.right(answer) is False, (question.key, text)
            assert (
                not re.search(rf"(?<!\d){re.escape(str(RIGHT[question.key]))}(?!\d)", hint) or question.key in LETTERS
            )
        if question.key not in LETTERS:
            assert str(RIGHT[question.key]) not in question.hint


def test_letters_do_not_stand_in_the_package():
    source = inspect.getsource(lesson_03_quiz)
    for key in LETTERS:
        [wrong] = [question.wrong for question in QUESTIONS if question.key == key]
        assert len(wrong) == 3
        assert f'"{key}", "{RIGHT[key]}"' not in source


def test_checking_draws_no_random_numbers():
    torch.manual_seed(0)
    before = torch.get_rng_state()
    graded(RIGHT)
    assert torch.equal(torch.get_rng_state(), before)
