"""The quiz of lesson 07: right answers in any spelling, hints for wrong ones."""

from __future__ import annotations

import numpy as np
import torch

from grader.exercises.lesson_07 import quiz_07
from tests.exercises.quizzes import QuizTests


class TestQuiz(QuizTests):
    module = quiz_07
    right = {
        "logits_shape": (32, 12, 7000),
        "parameters": 1184,
        "attentions": 18,
        "rows_moved": 9,
    }
    spellings = [
        ("logits_shape", [32, 12, 7000]),
        ("logits_shape", torch.Size([32, 12, 7000])),
        ("logits_shape", (np.int64(32), 12, 7000)),
        ("parameters", 1184.0),
        ("parameters", torch.tensor(1184)),
        ("attentions", np.int64(18)),
        ("rows_moved", 9.0),
    ]
    hints = [
        ("logits_shape", (32, 15, 7000), "Whose positions"),
        ("logits_shape", (32, 12, 5000), "In which language"),
        ("logits_shape", (), "scored words"),
        ("parameters", 624, "That is the attention"),
        ("parameters", 1136.0, "norms have parameters"),
        ("parameters", 1000, "Count part by part"),
        ("attentions", 12, "more than one"),
        ("attentions", 7, "a block of the encoder"),
        ("rows_moved", 12, "hides token 3"),
        ("rows_moved", 8, "itself"),
        ("rows_moved", 7, "column 3"),
    ]
    kinds = [
        ("logits_shape", 84000, "expected a shape"),
        ("logits_shape", "32, 12, 7000", "expected a shape"),
        ("parameters", "1184", "expected a number"),
        ("attentions", True, "expected a number"),
        ("attentions", [18], "expected a number"),
        ("parameters", None, "not answered yet"),
        ("rows_moved", ..., "not answered yet"),
    ]
