"""The quiz of lesson 01: right answers in any spelling, hints for wrong ones."""

from __future__ import annotations

import math

import numpy as np
import torch

from grader.exercises.lesson_01 import quiz_01
from tests.exercises.quizzes import QuizTests


class TestQuiz(QuizTests):
    module = quiz_01
    right = {
        "scores_shape": (5, 7),
        "symmetric": "c",
        "softmax_by_hand": 0.79,
        "read_weight": 0.09,
        "one_layer": "b",
    }
    spellings = [
        ("scores_shape", [5, 7]),
        ("scores_shape", torch.Size([5, 7])),
        ("scores_shape", (np.int64(5), np.int32(7))),
        ("scores_shape", torch.zeros(5, 7).shape),
        ("read_weight", 0.0903),
        ("read_weight", 0.090267),
        ("read_weight", np.float32(0.09)),
        ("read_weight", torch.tensor(0.0903)),
        ("read_weight", torch.tensor([0.09], dtype=torch.float64)),
        ("softmax_by_hand", 0.787),
        ("softmax_by_hand", np.float64(0.7869860421615985)),
        ("one_layer", "B"),
        ("one_layer", " b "),
        ("one_layer", "b."),
        ("symmetric", "(c)"),
        ("symmetric", "C)"),
        ("symmetric", np.str_("c")),
    ]
    hints = [
        ("scores_shape", (7, 5), "gives the product its rows"),
        ("scores_shape", [16, 16], "in common"),
        ("scores_shape", (5, 7, 1), "meet and vanish"),
        ("read_weight", 0.75, "swapped row and column"),
        ("read_weight", 0.7547, "swapped row and column"),
        ("read_weight", 0.43, "whose output"),
        ("read_weight", torch.tensor(0.91), "from itself"),
        ("read_weight", 12, "the score"),
        ("read_weight", 0.1, "A row belongs to"),
        ("read_weight", math.nan, "A row belongs to"),
        ("softmax_by_hand", 0.9, "the ratio 18"),
        ("softmax_by_hand", 0.6, "first?"),
        ("softmax_by_hand", 0.88, "both of the equal ones"),
        ("softmax_by_hand", 0.78, "Almost: round to the last digit"),
        ("softmax_by_hand", math.inf, "the ratio of two weights"),
        ("symmetric", "a", "can be expressed"),
        ("symmetric", "D", "all the same"),
        ("one_layer", "A", "also depends on the keys"),
        ("one_layer", "c ", "difference of their scores"),
        ("one_layer", "d", "whatever goes in"),
    ]
    kinds = [
        ("scores_shape", "(5, 7)", "expected a shape of whole numbers, like (2, 3), but got '(5, 7)'."),
        ("scores_shape", (5.0, 7.0), "expected a shape of whole numbers, like (2, 3), but got a value of type tuple."),
        ("scores_shape", 35, "expected a shape of whole numbers, like (2, 3), but got 35."),
        ("scores_shape", {5, 7}, "got a value of type set."),
        ("scores_shape", torch.zeros(5, 7), "got a value of type Tensor."),
        ("scores_shape", (True, 7), "got a value of type tuple."),
        ("read_weight", "0.09", "expected a number, got '0.09'."),
        ("read_weight", 10**400, "expected a number, got a value of type int with hundreds of digits."),
        ("read_weight", True, "expected a number, got True."),
        ("read_weight", torch.tensor([0.09, 0.09]), "expected a number, got a value of type Tensor."),
        ("read_weight", np.array([0.09]), "expected a number, got a value of type ndarray."),
        ("read_weight", 0.09j, "expected a number, got a value of type complex."),
        ("read_weight", (0.09,), "expected a number, got a value of type tuple."),
        ("one_layer", "e", "expected one of 'a', 'b', 'c', 'd', but got 'e'."),
        ("one_layer", "", "got ''."),
        ("one_layer", "ab", "got 'ab'."),
        ("one_layer", ["b"], "got a value of type list."),
        ("one_layer", 2, "got 2."),
        ("one_layer", lambda: "b", "got a value of type function."),
        ("symmetric", "because x @ x.T is", "got 'because x @ x.T is'."),
    ]
