"""The quiz of lesson 08: right answers in any spelling, hints for wrong ones."""

from __future__ import annotations

import math

import numpy as np
import torch

from grader.exercises.lesson_08 import quiz_08
from tests.exercises.quizzes import QuizTests


class TestQuiz(QuizTests):
    module = quiz_08
    right = {
        "labels_shape": (32, 14),
        "blind_loss": 3.91,
        "diluted": 0.5,
        "peak_step": 800,
        "calls": 19,
        "matches": 0.5,
        "too_good": "c",
        "forced": "a",
        "no_eval": "b",
    }
    spellings = [
        ("labels_shape", [32, 14]),
        ("labels_shape", torch.Size([32, 14])),
        ("blind_loss", math.log(50)),
        ("blind_loss", np.float32(3.912)),
        ("diluted", 1 / 2),
        ("diluted", torch.tensor(0.5)),
        ("peak_step", 800.0),
        ("calls", np.int64(19)),
        ("matches", 2 / 4),
        ("too_good", " C) "),
        ("forced", "A"),
        ("no_eval", "(b)"),
    ]
    hints = [
        ("labels_shape", [32, 15], "how many labels"),
        ("labels_shape", (32, 13), "not both"),
        ("labels_shape", (32,), "no row"),
        ("blind_loss", 2.64, "14 tokens"),
        ("blind_loss", 5.64, "base 2"),
        ("blind_loss", 0.02, "probability"),
        ("diluted", 2.0, "honest"),
        ("diluted", 0.67, "alone"),
        ("peak_step", 256, "width"),
        ("peak_step", 4000.0, "paper"),
        ("calls", 20, "from the start"),
        ("calls", 21, "bos"),
        ("matches", 0.75, "last row"),
        ("matches", 0.25, "after eos"),
        ("too_good", "b", "smaller"),
        ("forced", "c", "by heart"),
        ("no_eval", "D", "optimiser"),
    ]
    kinds = [
        ("labels_shape", "32, 14", "expected a shape"),
        ("blind_loss", "3.91", "expected a number"),
        ("calls", True, "expected a number"),
        ("matches", [0.5], "expected a number"),
        ("too_good", 3, "expected one of"),
        ("forced", "e", "expected one of"),
        ("no_eval", ["b"], "expected one of"),
        ("diluted", ..., "not answered yet"),
    ]
