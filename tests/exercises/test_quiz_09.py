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
        "table_entries": 12000000,
        "batched_shape": (4, 10, 6),
        "chunk_scores": (2, 8, 16, 300),
        "last_chunk": 4,
        "factor": 0.14,
        "running_sum": 1.41,
        "twice_as_long": "b",
        "what_is_saved": "c",
        "first_of_three": "b",
        "window_scores": 15,
        "key_head": 4,
    }
    spellings = (
        ("table_entries", 1.2e7),
        ("table_entries", np.int64(12_000_000)),
        ("batched_shape", [4, 10, 6]),
        ("chunk_scores", torch.Size([2, 8, 16, 300])),
        ("last_chunk", torch.tensor(4)),
        ("factor", math.exp(-2)),
        ("factor", torch.tensor(0.1353)),
        ("running_sum", 1 + 3 * math.exp(-2)),
        ("twice_as_long", " B) "),
        ("what_is_saved", "(c)"),
    )
    hints = (
        ("table_entries", 1_000_000, "one head"),
        ("table_entries", 48e6, "Those are bytes"),
        ("table_entries", 3, "Each head has a matrix"),
        ("batched_shape", (4, 10, 8), "queries and keys"),
        ("batched_shape", [4, 10, 10], "matrix of weights"),
        ("chunk_scores", (2, 8, 16, 16), "How many keys"),
        ("chunk_scores", (2, 8, 100, 300), "whole matrix"),
        ("chunk_scores", (1,), "the keys are not"),
        ("last_chunk", 16, "cover all queries"),
        ("last_chunk", 7.0, "how many chunks"),
        ("factor", 7.39, "make the sum larger"),
        ("factor", 0.6, "quotient"),
        ("factor", 1, "leaves the sum as it is"),
        ("running_sum", 3.14, "another maximum"),
        ("running_sum", 1.14, "second block alone"),
        ("running_sum", 5, "rescale that sum"),
        ("twice_as_long", "c", "whole matrix"),
        ("what_is_saved", "A", "takes memory"),
        ("first_of_three", "a", "top left"),
        ("window_scores", 18, "first tokens"),
        ("window_scores", 1, "Draw the mask's 6 rows"),
        ("key_head", 5, "counted from 0"),
        ("key_head", 0, "How large is a group"),
    )
    kinds = (
        ("table_entries", "12000000", "expected a number"),
        ("batched_shape", 240, "expected a shape"),
        ("chunk_scores", (2.0, 8, 16, 300), "expected a shape"),
        ("last_chunk", True, "expected a number"),
        ("factor", [0.14], "expected a number"),
        ("what_is_saved", 3, "expected one of"),
        ("first_of_three", "e", "expected one of"),
    )
