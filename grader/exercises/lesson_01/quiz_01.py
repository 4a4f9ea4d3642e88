"""The quiz of lesson 01: numbers and shapes are computed here, letters are known by their digest only."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from grader.exercises.lesson_01.shared import LESSON
from grader.spec.answers import choice, number, quiz, shape

HALF_A_HUNDREDTH = 0.006  # "to two decimals", rounded either way


def _printed(hints: Mapping[float, str]) -> dict[str, str]:
    """Hints for wrong numbers, under each text in which a learner may write them."""
    return {text: hint for value, hint in hints.items() for text in _texts(value)}


def _texts(value: float) -> set[str]:
    return {str(round(value, digits)) for digits in (2, 3, 4)} | ({str(int(value))} if value == int(value) else set())


def _small_example() -> Tensor:
    """The scores of the lesson's three tokens."""
    x = torch.tensor([[1.0, 0.0, 1.0, 0.0], [0.0, 2.0, 0.0, 2.0], [1.0, 1.0, 1.0, 1.0]])
    w_query = torch.tensor([[1.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    w_key = torch.tensor([[0.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
    return (x @ w_query) @ (x @ w_key).T


def _scores_shape() -> tuple[int, ...]:
    return tuple((torch.empty(5, 16) @ torch.empty(7, 16).T).shape)


def _output_shape() -> tuple[int, ...]:
    x, w_query, w_key, w_value = (torch.ones(*size) for size in ((2, 6, 10), (10, 4), (10, 4), (10, 3)))
    return tuple((torch.softmax((x @ w_query) @ (x @ w_key).mT, -1) @ (x @ w_value)).shape)


def _read_weight() -> float:
    return torch.softmax(_small_example() / math.sqrt(3), -1)[1, 2].item()


def _first_of_three() -> float:
    return torch.softmax(torch.tensor([3.0, 1.0, 1.0]), -1)[0].item()


SHAPES = (
    shape(
        "scores_shape",
        _scores_shape,
        "Write (5, 16) and, beside it, the shape of the transposed keys. Which axes meet and vanish?",
        wrong={
            "(7, 5)": "The factor on the left gives the product its rows. Which one is it?",
            "(5, 16)": "That is the query's own shape: a dot product adds up over the features, so they are gone.",
            "(7, 16)": "That is the key's own shape: a dot product adds up over the features, so they are gone.",
            "(16, 16)": "That adds up over the tokens. Which axis do `query` and `key.T` have in common?",
            "(16, 7)": "That is `key.T` alone. What is left of each factor after the product?",
        },
    ),
    shape(
        "output_shape",
        _output_shape,
        "Every token of every sequence gets one output vector. It is a mixture of values: how wide are they?",
        wrong={
            "(2, 6, 4)": "4 is the width of queries and keys. What is it that the weights mix?",
            "(2, 6, 10)": "10 is the width of x. The mixture is taken of something that was projected.",
            "(2, 6, 6)": "That is the shape of the weights. The output is what comes out when they mix the values.",
            "(6, 3)": "There are two sequences. What happens to leading axes?",
            "(2, 10, 3)": "x has two axes after the batch. Which of them counts the tokens?",
            "(2, 3, 6)": "Those are the right numbers. Which axis of the output counts the tokens?",
            "(12, 3)": "Those are the right numbers, but the two sequences stay apart.",
        },
    ),
)

NUMBERS = (
    number(
        "read_weight",
        _read_weight,
        HALF_A_HUNDREDTH,
        "Find the table of weights. A row belongs to the token that looks, a column to the one that is looked at.",
        wrong=_printed(
            {
                0.75471: "You swapped row and column: who looks, and who is looked at?",
                0.43194: "Tokens are counted from zero here, as everywhere in Python.",
                0.90884: "That is what token 1 takes from itself.",
                0.23785: "That is what token 2 takes from itself.",
                0.01799: "Those weights were not scaled. Look for the table after the scaling.",
                12.0: "That is the score. Which table comes after it?",
                9.0: "A weight is a share of one, not a percentage.",
            }
        ),
    ),
    number(
        "multiplications",
        lambda: 10 * 10 * 8,
        0,
        "How many scores are there, and how many multiplications does one dot product take?",
        wrong=_printed(
            {
                100.0: "That is the number of scores. What does each of them take?",
                80.0: "That is one query with all keys. How many queries are there?",
                8.0: "That is one score. How many are there?",
                1500.0: "Only multiplications are asked for, no additions.",
                1600.0: "Only multiplications are asked for, no additions.",
                700.0: "Those are the additions.",
                6400.0: "The width of a key enters once only: once for every score.",
            }
        ),
    ),
    number(
        "softmax_by_hand",
        _first_of_three,
        HALF_A_HUNDREDTH,
        "First the ratio of two weights: it depends on the difference of their scores alone. Then make all three sum "
        "to one.",
        wrong=_printed(
            {
                0.9: "That is the printed one, whose ratio is 18. Which ratio belongs to a difference of 2?",
                0.6: "Those are shares of the scores themselves. What is done to every score first?",
                0.8808: "There are three scores. Did you count the two equal ones?",
                0.6134: "Nothing is scaled here: it is the softmax of these three numbers.",
                0.1065: "That is the second weight.",
                7.38906: "That is the ratio of the first weight to the second. A weight lies between 0 and 1.",
                20.08554: "That is the exponential of 3. By what is it divided?",
            }
        ),
    ),
)

LETTERS = (
    choice(
        "larger_divisor",
        "abcd",
        "afccd637d4ff",
        "Scroll up to the cell that divides one row of scores by 1, by 3, by 10 and by 100.",
        wrong={
            "a": "Normalising fixes the sum of a row, not the shares in it. The ratio of two weights follows the "
            "difference of their scores: what does a division do to a difference?",
            "c": "That would need larger differences between the scores. What does a division do to them?",
            "d": "Softmax makes every row sum to one, whatever goes in.",
        },
    ),
    choice(
        "why_scale",
        "abcd",
        "e22a2bd52f2c",
        "Read once more what the table under `Why divide?` shows for d_k = 4, 64 and 1024.",
        wrong={
            "a": "The rows sum to one without it: that is what the softmax is for.",
            "b": "The table of scores is as large as before.",
            "c": "A score is the dot product of two vectors. Does the number of tokens enter it?",
        },
    ),
    choice(
        "properties",
        "abcd",
        "076b916ea986",
        "Recall the three rules of section 7, and test each line on the weights of the small example.",
        wrong={
            "b": "Add up the columns of the weights of the small example.",
            "c": "Compare two weights of the small example that lie across the diagonal from each other.",
            "d": "Look at the first row of the weights of the small example: where is its largest entry?",
        },
    ),
    choice(
        "cat_slip",
        "abcd",
        "f09f38dfff15",
        "Put the tutorial's two tables side by side, and remember what the ratio of two weights in a row depends on.",
        wrong={
            "a": "Weights need not be symmetric: softmax takes every row for itself.",
            "b": "Add up the rows of the printed weights: what do they give?",
            "d": "Go through the rows: where is the largest score, and where is the largest weight?",
        },
    ),
)

EXERCISE = quiz("quiz_01", LESSON, 2, (*SHAPES, *NUMBERS, *LETTERS))
