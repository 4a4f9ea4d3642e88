"""The quiz of lesson 11: right answers in any spelling, hints for wrong ones."""

from __future__ import annotations

import numpy as np
import torch

from grader.exercises.lesson_11 import quiz_11
from tests.exercises.quizzes import QuizTests


class TestQuiz(QuizTests):
    module = quiz_11
    right = {
        "pairs_in_block": 1024,
        "needed_head": "c",
        "kept": 3,
        "fed": 14,
        "high_temperature": "c",
    }
    spellings = (
        ("pairs_in_block", 1024.0),
        ("pairs_in_block", np.int64(1024)),
        ("fed", torch.tensor(14)),
        ("high_temperature", " C) "),
        ("needed_head", "(c)"),
        ("kept", torch.tensor(3)),
    )
    hints = (
        ("pairs_in_block", 16, "one prediction for each piece"),
        ("pairs_in_block", 64.0, "one piece"),
        ("pairs_in_block", 1008, "one place further"),
        ("kept", 2, "0.65"),
        ("kept", 4, "fourth needed"),
        ("fed", 15, "last new token"),
        ("fed", 60, "without a cache"),
        ("fed", 5, "prompt has to be read"),
        ("needed_head", "a", "where a head looks"),
        ("needed_head", "b", "only looks"),
        ("needed_head", "d", "would that show about this head"),
        ("high_temperature", "a", "low temperatures"),
        ("high_temperature", "D", "order"),
    )
    kinds = (
        ("pairs_in_block", "1024", "expected a number"),
        ("kept", True, "expected a number"),
        ("fed", (14,), "expected a number"),
        ("needed_head", "e", "expected one of"),
        ("high_temperature", 3, "expected one of"),
    )
