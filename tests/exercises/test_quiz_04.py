"""The quiz of lesson 04: right answers in any spelling, hints for wrong ones."""

from __future__ import annotations

import numpy as np
import torch

from grader.exercises.lesson_04 import quiz_04
from tests.exercises.quizzes import QuizTests


class TestQuiz(QuizTests):
    module = quiz_04
    right = {
        "first_weight": 0.4,
        "when_causal": "b",
        "which_mask": "c",
        "row_float64": "c",
        "proof": "c",
    }
    spellings = [
        ("first_weight", 2 / 5),
        ("first_weight", np.float32(0.4)),
        ("first_weight", torch.tensor([0.4])),
        ("when_causal", "B"),
        ("which_mask", " c) "),
        ("proof", "(C)"),
    ]
    hints = [
        ("first_weight", 0.2, "visible weights"),
        ("first_weight", 0.67, "not yet the first"),
        ("first_weight", 2 / 3, "keep their ratio"),
        ("when_causal", "d", "doesn't exist yet"),
        ("which_mask", "A", "table of section 3"),
        ("row_float64", "d", "equal"),
        ("row_float64", "b", "sums to one"),
        ("proof", "b", "token 5"),
    ]
    kinds = [
        ("first_weight", "0.4", "expected a number"),
        ("first_weight", True, "expected a number"),
        ("first_weight", [0.4], "expected a number"),
        ("when_causal", 2, "expected one of"),
        ("which_mask", "e", "expected one of"),
        ("which_mask", ["b"], "expected one of"),
        ("proof", ..., "not answered yet"),
        ("row_float64", None, "not answered yet"),
    ]
