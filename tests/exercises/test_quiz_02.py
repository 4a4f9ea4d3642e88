"""The quiz of lesson 02: right answers in any spelling, hints for wrong ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from grader.exercises.lesson_02 import quiz_02
from tests.exercises.quizzes import QuizTests


class TestQuiz(QuizTests):
    module = quiz_02
    right = {
        "gram_shape": (3, 8, 8),
        "symmetric": "c",
        "self_test": "b",
        "weight_shape": (32, 16),
        "output_shape": (8, 64),
        "divisor": 5.66,
        "typical_size": 10.0,
        "entropy": 2.08,
        "stuck": "b",
    }
    spellings = [
        ("gram_shape", [3, 8, 8]),
        ("gram_shape", torch.zeros(3, 8, 8).shape),
        ("weight_shape", (np.int64(32), np.int32(16))),
        ("output_shape", torch.Size([8, 64])),
        ("divisor", math.sqrt(32)),
        ("divisor", torch.tensor(5.6569)),
        ("divisor", np.float32(5.66)),
        ("typical_size", 10),
        ("typical_size", np.int64(10)),
        ("typical_size", torch.tensor([10.0])),
        ("entropy", math.log(8)),
        ("entropy", 2.079),
        ("symmetric", "C"),
        ("symmetric", " c) "),
        ("self_test", "(b)"),
        ("stuck", np.str_("b")),
    ]
    hints = [
        ("gram_shape", (3, 16, 16), "features with features"),
        ("gram_shape", [8, 8], "leading axis"),
        ("gram_shape", (24, 24), "how many pairs"),
        ("symmetric", "a", "can be expressed"),
        ("symmetric", "D", "all the same"),
        ("self_test", "c", "on both sides alike"),
        ("weight_shape", (16, 32), "order of the arguments"),
        ("weight_shape", (32,), "bias"),
        ("weight_shape", (8, 16), "x @ weight.T"),
        ("output_shape", (8, 32), "What do the weights mix"),
        ("output_shape", (8, 8), "shape of the weights"),
        ("output_shape", (16, 64), "One row for every query"),
        ("divisor", 4, "width of a token"),
        ("divisor", 8.0, "width of a value"),
        ("divisor", 2.83, "number of tokens"),
        ("divisor", torch.tensor(32), "there is a root"),
        ("divisor", 5.65, "Almost: round the last digit, don't cut it off."),
        ("divisor", 5.7, "a root of the width"),
        ("typical_size", 100, "That is the variance"),
        ("typical_size", 0.1, "undo something large"),
        ("typical_size", math.inf, "adds up"),
        ("entropy", 3, "in bits"),
        ("entropy", -2.08, "before the sum"),
        ("entropy", 0.26, "one term"),
        ("entropy", 0.125, "one of the weights"),
        ("entropy", math.nan, "All eight terms"),
        ("stuck", "d", "the opposite"),
    ]
    kinds = [
        ("gram_shape", "(3, 8, 8)", "got '(3, 8, 8)'."),
        ("gram_shape", 192, "got 192."),
        ("output_shape", (8.0, 64.0), "got a value of type tuple."),
        ("divisor", "5.66", "expected a number, got '5.66'."),
        ("divisor", True, "expected a number, got True."),
        ("entropy", torch.tensor([2.08, 2.08]), "expected a number, got a value of type Tensor."),
        ("symmetric", "e", "expected one of 'a', 'b', 'c', 'd', got 'e'."),
        ("self_test", ["b"], "got a value of type list."),
        ("stuck", 2, "got 2."),
    ]

    def test_computed_answers_are_those_that_torch_gives(self):
        x, u_key, u_value = torch.ones(8, 16), torch.nn.Linear(16, 32).weight, torch.nn.Linear(16, 64).weight
        batch = torch.ones(3, 8, 16)
        assert self.right["gram_shape"] == (batch @ batch.mT).shape
        assert self.right["weight_shape"] == u_key.shape
        assert self.right["output_shape"] == ((x @ u_key.T @ (x @ u_key.T).T).softmax(-1) @ (x @ u_value.T)).shape
        assert pytest.approx(math.sqrt(32), abs=0.005) == self.right["divisor"]
        assert (
            pytest.approx(float(torch.special.entr(torch.full((8,), 1 / 8)).sum()), abs=0.005) == self.right["entropy"]
        )
