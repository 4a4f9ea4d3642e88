"""The quiz of lesson 03: right answers in any spelling, hints for wrong ones."""

from __future__ import annotations

import numpy as np
import torch

from grader.exercises.lesson_03 import quiz_03
from tests.exercises.quizzes import QuizTests


class TestQuiz(QuizTests):
    module = quiz_03
    right = {
        "weights_shape": (2, 3, 5, 7),
        "after_split": 22,
        "more_heads": "b",
        "contiguous": "c",
        "two_heads": "c",
    }
    spellings = [
        ("weights_shape", [2, 3, 5, 7]),
        ("weights_shape", torch.Size([2, 3, 5, 7])),
        ("after_split", torch.tensor(22)),
        ("more_heads", "B"),
        ("contiguous", " c) "),
        ("two_heads", "(C)"),
    ]
    hints = [
        ("weights_shape", (2, 3, 7, 5), "the token that looks"),
        ("weights_shape", [2, 5, 7], "every head"),
        ("weights_shape", (), "has its own table"),
        ("after_split", 14, "`view` alone"),
        ("after_split", np.int64(21), "neighbouring columns"),
        ("more_heads", "A", "larger d_model"),
        ("contiguous", "b", "keeps gradients"),
        ("two_heads", "a", "titles of section 10"),
    ]
    kinds = [
        ("weights_shape", "2, 3, 5, 7", "expected a shape"),
        ("weights_shape", torch.zeros(2), "expected a shape"),
        ("after_split", [22], "expected a number"),
        ("more_heads", 2, "expected one of"),
        ("contiguous", "e", "expected one of"),
        ("two_heads", ["c"], "expected one of"),
        ("two_heads", ..., "not answered yet"),
    ]
