"""The quiz of lesson 08: right answers in any spelling, hints for wrong ones."""

from __future__ import annotations

import numpy as np
import torch

from grader.exercises.lesson_08 import quiz_08
from tests.exercises.quizzes import QuizTests


class TestQuiz(QuizTests):
    module = quiz_08
    right = {
        "diluted": 0.5,
        "half_peak": 3200,
        "calls": 19,
        "matches": 0.5,
        "whole_dates": 0.9,
        "by_heart": "b",
    }
    spellings = [
        ("diluted", 1 / 2),
        ("diluted", torch.tensor(0.5)),
        ("half_peak", 3200.0),
        ("calls", np.int64(19)),
        ("matches", 2 / 4),
        ("whole_dates", 0.99**11),
        ("whole_dates", np.float32(0.895)),
        ("by_heart", " B) "),
        ("by_heart", "(b)"),
    ]
    hints = [
        ("diluted", 2.0, "honest"),
        ("diluted", 0.67, "alone"),
        ("half_peak", 1600, "root of 2"),
        ("half_peak", 800.0, "the peak itself"),
        ("half_peak", 3000, "root doubles"),
        ("calls", 20, "from the start"),
        ("calls", 21, "bos"),
        ("matches", 0.75, "last row"),
        ("matches", 0.25, "after eos"),
        ("whole_dates", 0.99, "all of its tokens"),
        ("whole_dates", 0.89, "round to the last digit"),
        ("by_heart", "a", "they agree"),
        ("by_heart", "d", "free-running"),
    ]
    kinds = [
        ("half_peak", "3200", "expected a number"),
        ("calls", True, "expected a number"),
        ("matches", [0.5], "expected a number"),
        ("by_heart", 3, "expected one of"),
        ("by_heart", "e", "expected one of"),
        ("by_heart", ["b"], "expected one of"),
        ("diluted", ..., "not answered yet"),
    ]
