"""The quiz of lesson 11: right answers in any spelling, hints for wrong ones."""

from __future__ import annotations

import numpy as np
import torch

from grader.exercises.lesson_11 import quiz_11
from tests.exercises.quizzes import QuizTests


class TestQuiz(QuizTests):
    module = quiz_11
    right = {
        "needed_head": "c",
        "kept": 3,
        "fed": 14,
        "same_length": "a",
    }
    spellings = (
        ("fed", torch.tensor(14)),
        ("same_length", " A) "),
        ("needed_head", "(c)"),
        ("kept", torch.tensor(3)),
        ("kept", np.int64(3)),
        ("fed", 14.0),
    )
    hints = (
        ("kept", 2, "0.65"),
        ("kept", 4, "fourth needed"),
        ("fed", 15, "last new token"),
        ("fed", 60, "without a cache"),
        ("fed", 5, "prompt has to be read"),
        ("needed_head", "a", "where a head looks"),
        ("needed_head", "b", "only looks"),
        ("needed_head", "d", "would that show about this head"),
        ("same_length", "b", "differs from row to row"),
        ("same_length", "c", "has such heads as well"),
        ("same_length", "D", "in common"),
    )
    kinds = (
        ("kept", True, "expected a number"),
        ("fed", (14,), "expected a number"),
        ("needed_head", "e", "expected one of"),
        ("same_length", 3, "expected one of"),
    )
