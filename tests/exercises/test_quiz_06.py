"""The quiz of lesson 06: right answers in any spelling, hints for wrong ones."""

from __future__ import annotations

import math

import numpy as np
import torch

from grader.exercises.lesson_06 import quiz_06
from tests.exercises.quizzes import QuizTests


class TestQuiz(QuizTests):
    module = quiz_06
    right = {
        "different": 4,
        "own_product": 48.0,
        "bias_column": 1,
        "columns_used": 5,
        "turned": 0.78,
        "same_score": "b",
    }
    spellings = [
        ("different", 4.0),
        ("different", np.int64(4)),
        ("own_product", 48),
        ("own_product", torch.tensor(48.0)),
        ("bias_column", 1.0),
        ("columns_used", torch.tensor(5)),
        ("turned", 3 * math.cos(1) - math.sin(1)),
        ("turned", 0.7794),
        ("same_score", " b) "),
        ("same_score", "B"),
    ]
    hints = [
        ("different", 7, "one for each token"),
        ("different", 3, "one more word"),
        ("different", 6, "must be equal"),
        ("own_product", 96, "How many pairs"),
        ("own_product", 32, "width of 64"),
        ("own_product", 1.0, "one pair"),
        ("bias_column", 5, "wrong sign"),
        ("bias_column", -2, "counted from 0"),
        ("columns_used", 7, "three places before"),
        ("columns_used", 10, "share a column"),
        ("columns_used", 4, "before query 1"),
        ("turned", 2.46, "the other way"),
        ("turned", 3.06, "second component"),
        ("turned", -2.16, "turns by 2"),
        ("same_score", "a", "sign included"),
        ("same_score", "d", "the same order"),
    ]
    kinds = [
        ("different", "4", "expected a number, got '4'."),
        ("own_product", True, "expected a number, got True."),
        ("columns_used", [5], "expected a number"),
        ("turned", (0.78, 3.06), "expected a number, got a value of type tuple."),
        ("same_score", 2, "expected one of 'a', 'b', 'c', 'd', but got 2."),
        ("bias_column", None, "not answered yet"),
    ]
