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
        "divisor": 5.66,
        "why_scale": "d",
        "entropy": 2.08,
        "second_layer": "b",
        "properties": "a",
    }
    spellings = [
        ("divisor", math.sqrt(32)),
        ("divisor", torch.tensor(5.6569)),
        ("divisor", np.float32(5.66)),
        ("entropy", math.log(8)),
        ("entropy", 2.079),
        ("why_scale", "D"),
        ("why_scale", " d) "),
        ("second_layer", "(b)"),
        ("properties", np.str_("a")),
    ]
    hints = [
        ("why_scale", "a", "without the scaling"),
        ("second_layer", "a", "one layer would be enough"),
        ("second_layer", "D", "a weight for every word"),
        ("properties", "b", "columns"),
        ("divisor", 4, "width of a token"),
        ("divisor", 8.0, "width of a value"),
        ("divisor", 2.83, "number of tokens"),
        ("divisor", torch.tensor(32), "there is a root"),
        ("divisor", 5.65, "Almost: round to the last digit instead of cutting off the rest."),
        ("divisor", 5.7, "the root of the width"),
        ("entropy", 3, "in bits"),
        ("entropy", -2.08, "before the sum"),
        ("entropy", 0.26, "one term"),
        ("entropy", 0.125, "one of the weights"),
        ("entropy", math.nan, "All eight terms"),
    ]
    kinds = [
        ("divisor", "5.66", "expected a number, got '5.66'."),
        ("divisor", True, "expected a number, got True."),
        ("entropy", torch.tensor([2.08, 2.08]), "expected a number, got a value of type Tensor."),
        ("why_scale", "e", "expected one of 'a', 'b', 'c', 'd', but got 'e'."),
        ("why_scale", "because dot products grow", "got 'because dot products grow'."),
        ("second_layer", ["b"], "got a value of type list."),
        ("properties", 2, "got 2."),
    ]

    def test_computed_answers_are_those_that_torch_gives(self):
        assert pytest.approx(math.sqrt(32), abs=0.005) == self.right["divisor"]
        assert (
            pytest.approx(float(torch.special.entr(torch.full((8,), 1 / 8)).sum()), abs=0.005) == self.right["entropy"]
        )
