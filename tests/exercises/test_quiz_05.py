"""The quiz of lesson 05: right answers in any spelling, hints for wrong ones."""

from __future__ import annotations

import numpy as np
import torch

from grader.exercises.lesson_05 import quiz_05
from tests.exercises.quizzes import QuizTests


class TestQuiz(QuizTests):
    module = quiz_05
    right = {
        "layer_means": 10,
        "large_eps": 0.67,
        "running_var": 1.1,
        "batch_of_two": "a",
        "pre_norm_gradient": "b",
    }
    spellings = [
        ("layer_means", 10.0),
        ("layer_means", np.int64(10)),
        ("large_eps", 2 / 3),
        ("large_eps", torch.tensor(0.6667)),
        ("running_var", 1.10),
        ("batch_of_two", "A"),
    ]
    hints = [
        ("layer_means", 8, "would be BatchNorm"),
        ("layer_means", 80, "how many numbers"),
        ("layer_means", 11, "how many tokens"),
        ("large_eps", 0.29, "outside the root"),
        ("large_eps", 1, "without eps"),
        ("running_var", 1.0, "Which of the two variances"),
        ("running_var", 1, "Which of the two variances"),
        ("running_var", 0.2, "start at 0"),
        ("batch_of_two", "b", "what is left of the distance"),
        ("pre_norm_gradient", "c", "48 layers"),
    ]
    kinds = [
        ("layer_means", "10", "expected a number, got '10'."),
        ("layer_means", True, "expected a number, got True."),
        ("large_eps", (0.67,), "expected a number, got a value of type tuple."),
        ("running_var", None, "not answered yet"),
    ]
