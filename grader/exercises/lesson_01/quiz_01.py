"""The quiz of lesson 01: numbers and shapes are computed here, letters are known by their digest only."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from grader.spec.answers import choice, number, shape
from grader.spec.spec import Spec

HALF_A_HUNDREDTH = 0.006  # "to two decimals", rounded either way


def _printed(hints: Mapping[float, str]) -> dict[str, str]:
    """Hints for wrong numbers, under each text in which a learner may write them: rounded to two, three or four
    decimals, and whole numbers without a point too."""
    return {text: hint for value, hint in hints.items() for text in _texts(value)}


def _texts(value: float) -> set[str]:
    return {str(round(value, digits)) for digits in (2, 3, 4)} | ({str(int(value))} if value == int(value) else set())


def _small_example() -> Tensor:
    """The scores, (3, 3), of the three tokens of "birds build nests", before they are divided."""
    x = torch.tensor([[1.0, 0.0, 1.0, 0.0], [0.0, 2.0, 0.0, 2.0], [1.0, 1.0, 1.0, 1.0]])
    w_query = torch.tensor([[1.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    w_key = torch.tensor([[0.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
    return (x @ w_query) @ (x @ w_key).T


def _scores_shape() -> tuple[int, ...]:
    return tuple((torch.empty(5, 16) @ torch.empty(7, 16).T).shape)


def _read_weight() -> float:
    return torch.softmax(_small_example() / math.sqrt(3), -1)[1, 2].item()


def _first_of_three() -> float:
    return torch.softmax(torch.tensor([3.0, 1.0, 1.0]), -1)[0].item()


SHAPES = (
    shape(
        "scores_shape",
        _scores_shape,
        "If you write (5, 16) and, beside it, the shape of the transposed keys, which axes meet and vanish?",
        wrong={
            "(7, 5)": "The factor on the left gives the product its rows, so which factor is on the left?",
            "(5, 16)": "That is the query's own shape, but the axis of the features disappears in a dot product.",
            "(7, 16)": "That is the key's own shape, but the axis of the features disappears in a dot product.",
            "(16, 16)": "That adds up over the tokens, but which axis do `query` and `key.T` have in common?",
            "(16, 7)": "That is `key.T` alone, but what is left of each factor after the product?",
        },
    ),
)

NUMBERS = (
    number(
        "read_weight",
        _read_weight,
        HALF_A_HUNDREDTH,
        "Find the table of weights. A row belongs to the word that looks, and a column to the one that is looked at.",
        wrong=_printed(
            {
                0.75471: "You have swapped row and column. Which word looks, and which is looked at?",
                0.43194: "That is in the row of `birds`, but whose output is asked for?",
                0.90884: "That is what `build` takes from itself.",
                0.23785: "That is what `nests` takes from itself.",
                0.01799: "That weight comes from the unscaled scores, so look for the table after the scaling.",
                12.0: "That is the score, but which table comes after it?",
                9.0: "A weight is a fraction of one, not a percentage.",
            }
        ),
    ),
    number(
        "softmax_by_hand",
        _first_of_three,
        HALF_A_HUNDREDTH,
        "Begin with the ratio of two weights, which depends only on the difference of their scores. Then make all "
        "three sum to one.",
        wrong=_printed(
            {
                0.9: "The first two printed weights have the ratio 18, but which ratio belongs to a difference of 2?",
                0.6: "That is a fraction of the sum of the scores, but what is done to every score first?",
                0.8808: "There are three scores, but did you count both of the equal ones?",
                0.6134: "There is no scaling here, only the softmax of these three numbers.",
                0.1065: "That is the second weight.",
                7.38906: "That is the ratio of the first weight to the second, and a weight lies between 0 and 1.",
                20.08554: "That is the exponential of 3, but what is it divided by?",
            }
        ),
    ),
)

LETTERS = (
    choice(
        "symmetric",
        "abcd",
        "c43b547f1272",
        "What does an entry of `omega` always have in common with its mirror image across the diagonal?",
        wrong={
            "a": "That can be expressed, and in the example nearly every word does it.",
            "b": "Two words of the same length and at the same angle to token 0 have the same dot product with it.",
            "d": "Imagine that all word vectors are zero, or all the same.",
        },
    ),
    choice(
        "one_layer",
        "abcd",
        "9b5728081fec",
        "Which vectors are the same in both sentences, and which one differs? Follow each into the row of `it`.",
        wrong={
            "a": "The query is the same, but a row also depends on the keys, and one of them is from a different word.",
            "c": "The ratio of two weights depends on the difference of their scores, which come from which vectors?",
            "d": "Softmax makes every row sum to one, whatever goes in.",
        },
    ),
)

EXERCISE = Spec(__name__).quiz(2, (*SHAPES, *NUMBERS, *LETTERS))
