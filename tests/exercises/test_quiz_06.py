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
        "embedded_shape": (32, 20, 256),
        "learnt_numbers": 25600,
        "permuted": "b",
        "own_product": 48.0,
        "bias_column": 1,
        "bias_table": (8, 33),
        "turned": 0.78,
        "same_score": "b",
        "where_turned": "c",
    }
    spellings = [
        ("embedded_shape", [32, 20, 256]),
        ("embedded_shape", torch.Size([32, 20, 256])),
        ("learnt_numbers", 25600.0),
        ("learnt_numbers", np.int64(25600)),
        ("own_product", 48),
        ("own_product", torch.tensor(48.0)),
        ("bias_column", 1.0),
        ("bias_table", [8, 33]),
        ("turned", 3 * math.cos(1) - math.sin(1)),
        ("turned", 0.7794),
        ("permuted", "B"),
        ("same_score", " b) "),
        ("where_turned", "(c)"),
    ]
    hints = [
        ("embedded_shape", (32, 20), "becomes a whole row"),
        ("embedded_shape", (500, 256), "That is the table"),
        ("embedded_shape", (1, 2, 3), "how long is a row"),
        ("learnt_numbers", 0, "consists of parameters"),
        ("learnt_numbers", 5120, "How many does the table have"),
        ("learnt_numbers", 128000, "of the tokens"),
        ("permuted", "a", "belongs to a token"),
        ("own_product", 96, "How many pairs"),
        ("own_product", 32, "width of 64"),
        ("own_product", 1.0, "one pair"),
        ("bias_column", 5, "wrong sign"),
        ("bias_column", -2, "counted from 0"),
        ("bias_table", (8, 32), "something between"),
        ("bias_table", (33, 8), "each head has a row"),
        ("turned", 2.46, "the other way"),
        ("turned", 3.06, "second component"),
        ("turned", -2.16, "turns by 2"),
        ("same_score", "a", "sign included"),
        ("where_turned", "b", "a query and a key"),
    ]
    kinds = [
        ("embedded_shape", 163840, "expected a shape"),
        ("learnt_numbers", "25600", "expected a number, got '25600'."),
        ("own_product", True, "expected a number, got True."),
        ("bias_table", (8.0, 33.0), "expected a shape"),
        ("turned", (0.78, 3.06), "expected a number, got a value of type tuple."),
        ("same_score", 2, "expected one of 'a', 'b', 'c', 'd', but got 2."),
        ("where_turned", None, "not answered yet"),
    ]
