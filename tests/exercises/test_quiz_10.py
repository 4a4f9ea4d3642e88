"""The quiz of lesson 10: right answers in any spelling, hints for wrong ones."""

from __future__ import annotations

import math

import numpy as np
import torch

from grader.exercises.lesson_10 import quiz_10
from tests.exercises.quizzes import QuizTests


class TestQuiz(QuizTests):
    module = quiz_10
    right = {
        "edge_weight": 0.33,
        "edge_sum": 0.67,
        "entropy": 1.61,
        "rolled": 0.75,
        "columns": "c",
        "right_weights": "b",
        "explains": "d",
        "sink": "a",
        "alone": "c",
    }
    spellings = [
        ("edge_weight", 1 / 3),
        ("edge_weight", np.float32(1 / 3)),
        ("edge_sum", 2 / 3),
        ("edge_sum", torch.tensor(0.6667)),
        ("entropy", math.log(5)),
        ("entropy", 1.609),
        ("rolled", 3 / 4),
        ("columns", "C"),
        ("right_weights", " b) "),
        ("alone", "(c)"),
    ]
    hints = [
        ("edge_weight", 0.2, "share in the middle"),
        ("edge_weight", 1, "others as well"),
        ("edge_sum", 1.0, "that is the slip"),
        ("edge_sum", 0.333, "itself counts as a neighbour"),
        ("entropy", 5, "logarithm"),
        ("entropy", 2.32, "bits"),
        ("entropy", np.float64(1.39), "both sides"),
        ("rolled", 0.5, "one layer"),
        ("rolled", 0.25, "stays of token 3"),
        ("columns", "d", "smaller"),
        ("right_weights", "a", "computed from the heads"),
        ("explains", "B", "layer 0 made it"),
        ("sink", "c", "Only in row 0"),
        ("alone", "d", "in any batch"),
    ]
    kinds = [
        ("edge_weight", "1/3", "expected a number"),
        ("edge_sum", [0.67], "expected a number"),
        ("entropy", True, "expected a number"),
        ("columns", 3, "expected one of"),
        ("sink", "e", "expected one of"),
        ("rolled", ..., "not answered yet"),
        ("alone", None, "not answered yet"),
    ]
