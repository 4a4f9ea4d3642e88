"""The quiz of lesson 05: numbers and shapes are computed here, letters are known by their digest only."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.spec.answers import choice, number, written
from grader.spec.spec import Spec

HALF_A_HUNDREDTH = 0.006  # "to two decimals", rounded either way


def _remembered(*batches: list[list[float]]) -> nn.BatchNorm1d:
    module = nn.BatchNorm1d(1, momentum=0.1)
    for batch in batches:
        module(torch.tensor(batch))
    return module


def _first(tensor: Tensor | None) -> float:
    assert tensor is not None
    return float(tensor[0])


def _large_eps() -> float:
    return float(F.layer_norm(torch.tensor([-2.0, 2.0]), (2,), eps=5)[1])


QUESTIONS = (
    number(
        "layer_means",
        lambda: torch.empty(2, 5, 8)[..., 0].numel(),
        0,
        "Every token has a mean of its own, so how many tokens are there in the whole batch?",
        wrong=written(
            {
                8.0: "That is one for every feature, which would be BatchNorm.",
                80.0: "That is how many numbers there are, but each mean is taken over several.",
                16.0: "Which axis disappears when LayerNorm takes its means?",
                40.0: "Which axis disappears when LayerNorm takes its means?",
                5.0: "That counts the tokens of one sequence, but how many sequences are there?",
                2.0: "That would be one mean for every sequence, but are its tokens averaged together?",
                1.0: "That would be one mean of everything.",
            }
        ),
    ),
    number(
        "large_eps",
        _large_eps,
        HALF_A_HUNDREDTH,
        "The variance of -2 and 2 is a whole number, and once eps is added, so is the root.",
        wrong=written(
            {
                0.2857: "That adds eps outside the root.",
                1.0: "That is the result without eps, which is too large here to be left out.",
                0.5547: "That divides the squares by d - 1, but what does LayerNorm divide by?",
                0.2222: "That divides by variance plus eps, but a root is missing.",
                2.0: "That is the centred number, but what is it divided by?",
                3.0: "That is the divisor.",
            }
        ),
    ),
    number(
        "running_var",
        lambda: _first(_remembered([[0.0], [2.0]]).running_var),
        HALF_A_HUNDREDTH,
        "Look up two things: where `running_var` starts, and what the batch's squares are divided by.",
        wrong=written(
            {
                1.0: "Which of the two variances is remembered, the one with N or the one with N - 1?",
                0.2: "`running_var` does not start at 0.",
                0.1: "`running_var` does not start at 0, and it is the other variance that is remembered.",
                2.0: "That is the batch's variance, but how far does one batch move the running one?",
                1.9: "With momentum 0.1 the new value counts for a tenth, not for nine tenths.",
            }
        ),
    ),
    choice(
        "batch_of_two",
        "abcd",
        "031d9e1deedc",
        "Normalise two numbers of your choice by hand, then two others that lie farther apart.",
        wrong={
            "b": "If you try 1 and 3, then 0 and 100, what is left of the distance?",
            "c": "In eval mode it is the running statistics that count, so read section 6 again.",
            "d": "Section 5 sends two samples through `nn.BatchNorm1d`. Does that raise an error?",
        },
    ),
    choice(
        "pre_norm_gradient",
        "abcd",
        "2d4c675faed4",
        "Draw the path from the last layer back to the first, and write down what is on it.",
        wrong={
            "a": "A norm acts on the numbers on the way forward, and post-norm stacks have just as many norms.",
            "c": "Both stacks in the picture have 48 layers.",
            "d": "The last norm is one factor, the same for all layers, so what differs from layer to layer?",
        },
    ),
)

EXERCISE = Spec(__name__).quiz(2, QUESTIONS)
