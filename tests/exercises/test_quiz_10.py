"""The quiz of lesson 10: right answers in any spelling, hints for wrong ones."""

from __future__ import annotations

import math

import numpy as np

from grader.exercises.lesson_10 import quiz_10
from tests.exercises.quizzes import QuizTests


class TestQuiz(QuizTests):
    module = quiz_10
    right = {
        "edge_weight": 0.33,
        "entropy": 1.61,
        "rolled": 0.75,
        "right_weights": "b",
        "explains": "d",
    }
    spellings = [
        ("edge_weight", 1 / 3),
        ("edge_weight", np.float32(1 / 3)),
        ("entropy", math.log(5)),
        ("entropy", 1.609),
        ("rolled", 3 / 4),
        ("right_weights", " b) "),
        ("explains", "(d)"),
    ]
    hints = [
        ("edge_weight", 0.2, "share in the middle"),
        ("edge_weight", 1, "others as well"),
        ("entropy", 5, "logarithm"),
        ("entropy", 2.32, "bits"),
        ("entropy", np.float64(1.39), "both sides"),
        ("rolled", 0.5, "one layer"),
        ("rolled", 0.25, "stays of token 3"),
        ("right_weights", "a", "computed from the heads"),
        ("explains", "B", "layer 0 made it"),
    ]
    kinds = [
        ("edge_weight", [0.33], "expected a number"),
        ("right_weights", 3, "expected one of"),
        ("explains", "e", "expected one of"),
        ("explains", None, "not answered yet"),
        ("edge_weight", "1/3", "expected a number"),
        ("entropy", True, "expected a number"),
        ("rolled", ..., "not answered yet"),
    ]
