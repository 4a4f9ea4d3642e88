"""The quiz of lesson 03: right answers in any spelling, hints for wrong ones."""

from __future__ import annotations

import numpy as np
import torch

from grader.exercises.lesson_03 import quiz_03
from tests.exercises.quizzes import QuizTests


class TestQuiz(QuizTests):
    module = quiz_03
    right = {
        "head_dim": 64,
        "weights_shape": (2, 3, 5, 7),
        "scores_shape": (3, 5, 7),
        "after_split": 22,
        "after_view": 14,
        "parameters": 1680,
        "more_heads": "b",
        "contiguous": "c",
        "wrong_root": "b",
        "which_mask": "c",
    }
    spellings = [
        ("head_dim", 64.0),
        ("head_dim", np.int64(64)),
        ("weights_shape", [2, 3, 5, 7]),
        ("weights_shape", torch.Size([2, 3, 5, 7])),
        ("scores_shape", (np.int64(3), 5, 7)),
        ("after_split", torch.tensor(22)),
        ("after_view", np.float32(14)),
        ("parameters", torch.tensor([1680.0])),
        ("more_heads", "B"),
        ("contiguous", " c) "),
        ("which_mask", "(C)"),
    ]
    hints = [
        ("head_dim", 768, "all heads together"),
        ("head_dim", 12.0, "number of heads"),
        ("head_dim", 63, "share the columns"),
        ("weights_shape", (2, 3, 7, 5), "who looks"),
        ("weights_shape", [2, 5, 7], "every head"),
        ("weights_shape", (), "table of its own"),
        ("scores_shape", (5, 3, 7), "order after the arrow"),
        ("after_split", 14, "`view` alone"),
        ("after_split", np.int64(21), "neighbouring columns"),
        ("after_view", 22, "nothing is swapped"),
        ("parameters", 1600, "bias"),
        ("parameters", 1260, "three layers"),
        ("more_heads", "A", "larger d_model"),
        ("contiguous", "b", "keeps gradients"),
        ("wrong_root", "a", "smaller or larger"),
        ("which_mask", "b", "nn.MultiheadAttention"),
    ]
    kinds = [
        ("head_dim", "64", "expected a number"),
        ("head_dim", True, "expected a number"),
        ("weights_shape", "2, 3, 5, 7", "expected a shape"),
        ("weights_shape", torch.zeros(2), "expected a shape"),
        ("scores_shape", 105, "expected a shape"),
        ("after_split", [22], "expected a number"),
        ("more_heads", 2, "expected one of"),
        ("contiguous", "e", "expected one of"),
        ("wrong_root", ["b"], "expected one of"),
        ("which_mask", ..., "not answered yet"),
        ("parameters", None, "not answered yet"),
    ]
