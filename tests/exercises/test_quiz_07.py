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
        "visible": 12,
        "dropout_line": "c",
        "who_asks": "d",
        "one_block": "b",
    }
    spellings = [
        ("cross_weights", [128, 8, 29, 28]),
        ("cross_weights", torch.Size([128, 8, 29, 28])),
        ("logits_shape", (np.int64(32), 12, 7000)),
        ("parameters", 1184.0),
        ("parameters", torch.tensor(1184)),
        ("attentions", np.int64(18)),
        ("visible", torch.tensor([12.0])),
        ("dropout_line", "C"),
        ("who_asks", " d) "),
        ("one_block", "(B)"),
    ]
    hints = [
        ("cross_weights", (128, 8, 28, 29), "From which language"),
        ("cross_weights", [128, 29, 28], "every head"),
        ("cross_weights", (), "a row for each query"),
        ("logits_shape", (32, 15, 7000), "Whose positions"),
        ("logits_shape", (32, 12, 5000), "In which language"),
        ("parameters", 624, "That is the attention"),
        ("parameters", 1136.0, "norms have parameters"),
        ("parameters", 1000, "Count by parts"),
        ("attentions", 12, "more than one"),
        ("attentions", 7, "a block of the encoder"),
        ("visible", 15, "causal mask alone"),
        ("visible", np.int64(9), "only columns"),
        ("dropout_line", "A", "the tutorial's line"),
        ("who_asks", "b", "step 16"),
        ("one_block", "d", "different objects"),
    ]
    kinds = [
        ("cross_weights", "128, 8, 29, 28", "expected a shape"),
        ("logits_shape", 84000, "expected a shape"),
        ("parameters", "1184", "expected a number"),
        ("attentions", True, "expected a number"),
        ("visible", [12], "expected a number"),
        ("dropout_line", 3, "expected one of"),
        ("who_asks", "e", "expected one of"),
        ("one_block", ["b"], "expected one of"),
        ("one_block", ..., "not answered yet"),
        ("visible", None, "not answered yet"),
    ]
