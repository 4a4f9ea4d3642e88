"""The quiz of lesson 09: right answers in any spelling, hints for wrong ones."""

from __future__ import annotations

import math

import numpy as np
import torch

from grader.exercises.lesson_09 import quiz_09
from tests.exercises.quizzes import QuizTests


class TestQuiz(QuizTests):
    module = quiz_09
    right = {
        "per_token": 24576,
        "window_scores": 15,
        "key_head": 4,
        "chunk_scores": (2, 8, 16, 300),
        "running_sum": 1.41,
    }
    spellings = (
        ("per_token", 24576.0),
        ("per_token", np.int64(24576)),
        ("window_scores", torch.tensor(15)),
        ("key_head", 4.0),
        ("chunk_scores", [2, 8, 16, 300]),
        ("chunk_scores", torch.Size([2, 8, 16, 300])),
        ("running_sum", 1 + 3 * math.exp(-2)),
    )
    hints = (
        ("per_token", 12288, "keys alone"),
        ("per_token", 98304.0, "query heads"),
        ("per_token", 7, "how many heads"),
        ("window_scores", 18, "first tokens"),
        ("window_scores", 1, "Draw the mask's 6 rows"),
        ("key_head", 5, "counted from 0"),
        ("key_head", 0, "How large is a group"),
        ("chunk_scores", (2, 8, 16, 16), "How many keys"),
        ("chunk_scores", (2, 8, 100, 300), "whole matrix"),
        ("chunk_scores", (1,), "the keys are not"),
        ("running_sum", 3.14, "another maximum"),
        ("running_sum", 1.14, "second block alone"),
        ("running_sum", 5, "rescale that sum"),
    )
    kinds = (
        ("per_token", "24576", "expected a number"),
        ("window_scores", True, "expected a number"),
        ("chunk_scores", (2.0, 8, 16, 300), "expected a shape"),
        ("chunk_scores", 76800, "expected a shape"),
        ("running_sum", [1.41], "expected a number"),
        ("key_head", None, "not answered yet"),
    )
