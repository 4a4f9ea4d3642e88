"""The quiz of lesson 11: right answers in any spelling, hints for wrong ones."""

from __future__ import annotations

import math

import numpy as np
import torch

from grader.exercises.lesson_11 import quiz_11
from tests.exercises.quizzes import QuizTests


class TestQuiz(QuizTests):
    module = quiz_11
    right = {
        "pairs_in_block": 1024,
        "uniform_loss": 3.91,
        "kept": 3,
        "after_top_k": 0.62,
        "clipped": 0.8,
        "fed": 14,
        "high_temperature": "c",
        "why_last_norm": "a",
    }
    spellings = (
        ("pairs_in_block", 1024.0),
        ("pairs_in_block", np.int64(1024)),
        ("uniform_loss", math.log(50)),
        ("uniform_loss", torch.tensor(3.912)),
        ("after_top_k", 0.4 / 0.65),
        ("clipped", torch.tensor(0.8)),
        ("fed", torch.tensor(14)),
        ("high_temperature", " C) "),
        ("why_last_norm", "(a)"),
    )
    hints = (
        ("pairs_in_block", 16, "one prediction for each piece"),
        ("pairs_in_block", 64.0, "one piece"),
        ("pairs_in_block", 1008, "one place further"),
        ("uniform_loss", 5.64, "Those are bits"),
        ("uniform_loss", 0.02, "the probability"),
        ("kept", 2, "0.65"),
        ("kept", 4, "fourth needed"),
        ("after_top_k", 0.4, "sum to one"),
        ("after_top_k", 0.38, "second of the two"),
        ("clipped", 1, "one norm for all"),
        ("clipped", 0.6, "the other one"),
        ("clipped", 0.57, "sum of the two norms"),
        ("fed", 15, "last new token"),
        ("fed", 60, "without a cache"),
        ("fed", 5, "prompt has to be read"),
        ("high_temperature", "a", "low temperatures"),
        ("high_temperature", "D", "order"),
        ("why_last_norm", "c", "hides the future"),
        ("why_last_norm", "d", "Nothing counts norms"),
    )
    kinds = (
        ("pairs_in_block", "1024", "expected a number"),
        ("uniform_loss", [3.91], "expected a number"),
        ("kept", True, "expected a number"),
        ("fed", (14,), "expected a number"),
        ("high_temperature", 3, "expected one of"),
        ("why_last_norm", "e", "expected one of"),
    )
