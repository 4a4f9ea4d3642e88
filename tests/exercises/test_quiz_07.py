"""The quiz of lesson 07: right answers in any spelling, hints for wrong ones."""

from __future__ import annotations

import numpy as np
import torch

from grader.exercises.lesson_07 import quiz_07
from tests.exercises.quizzes import QuizTests


class TestQuiz(QuizTests):
    module = quiz_07
    right = {
        "cross_weights": (128, 8, 29, 28),
        "logits_shape": (32, 12, 7000),
        "parameters": 1184,
        "attentions": 18,
        "who_asks": "d",
    }
    spellings = [
        ("cross_weights", [128, 8, 29, 28]),
        ("cross_weights", torch.Size([128, 8, 29, 28])),
        ("logits_shape", (np.int64(32), 12, 7000)),
        ("parameters", 1184.0),
        ("parameters", torch.tensor(1184)),
        ("attentions", np.int64(18)),
        ("who_asks", " d) "),
    ]
    hints = [
        ("cross_weights", (128, 8, 28, 29), "From which language"),
        ("cross_weights", [128, 29, 28], "every head"),
        ("cross_weights", (), "a row for each query"),
        ("logits_shape", (32, 15, 7000), "Whose positions"),
        ("logits_shape", (32, 12, 5000), "In which language"),
        ("parameters", 624, "That is the attention"),
        ("parameters", 1136.0, "norms have parameters"),
        ("parameters", 1000, "Count part by part"),
        ("attentions", 12, "more than one"),
        ("attentions", 7, "a block of the encoder"),
        ("who_asks", "b", "step 16"),
    ]
    kinds = [
        ("cross_weights", "128, 8, 29, 28", "expected a shape"),
        ("logits_shape", 84000, "expected a shape"),
        ("parameters", "1184", "expected a number"),
        ("attentions", True, "expected a number"),
        ("attentions", [18], "expected a number"),
        ("parameters", None, "not answered yet"),
        ("who_asks", 3, "expected one of"),
        ("who_asks", "e", "expected one of"),
        ("who_asks", ["d"], "expected one of"),
        ("who_asks", ..., "not answered yet"),
    ]
