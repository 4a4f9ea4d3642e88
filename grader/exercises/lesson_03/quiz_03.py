"""The quiz of lesson 03: numbers and shapes are computed here, letters are known by their digest only."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.exercises.lesson_03.shared import LESSON
from grader.spec.answers import choice, quiz, shape, whole


def _numbered() -> Tensor:
    """Three tokens of six numbers, (3, 6): entry e of token t is 10 * t + e."""
    return 10 * torch.arange(3).unsqueeze(1) + torch.arange(6)


def _weights_shape() -> tuple[int, ...]:
    heads_of_query, heads_of_key = torch.ones(2, 3, 5, 4), torch.ones(2, 3, 7, 4)
    return tuple((heads_of_query @ heads_of_key.mT).shape)


QUESTIONS = (
    shape(
        "weights_shape",
        _weights_shape,
        "Every sequence and every head has a table of its own, so what are its rows, and what its columns?",
        wrong={
            "(2, 3, 7, 5)": "Which of the two belongs to the rows of a table, who looks or who is looked at?",
            "(2, 5, 7)": "There is a table for every head, too.",
            "(2, 3, 5, 5)": "A query looks at the keys, and how many of those are there?",
            "(2, 3, 7, 7)": "A row belongs to a query, and how many of those are there?",
            "(2, 5, 12)": "That is the shape of the output.",
            "(2, 4, 5, 7)": "That 4 is the width of a head, but how many heads are there?",
            "(2, 12, 5, 7)": "That 12 is the width of all heads together, but how many heads are there?",
            "(3, 2, 5, 7)": "Those are the right numbers, but which comes first, the batch or the heads?",
            "(3, 5, 7)": "There are two sequences, so what happens to the batch?",
            "(2, 5, 3, 7)": "Those are the right numbers, but `@` needs the tokens' axes last.",
        },
    ),
    whole(
        "after_split",
        lambda: int(_numbered().unflatten(-1, (3, 2)).transpose(0, 1)[1, 2, 0]),
        "Which columns belong to head 1 when three heads share six? The tens digit of the answer gives the token.",
        {
            14: "That is what `view` alone gives, but which token should row 2 of every head hold?",
            21: "You gave head 1 every third column, but a head holds neighbouring columns.",
            12: "Of head 1 and token 2, which one does the first index count?",
            23: "That is head 1's second column.",
            20: "That is head 0.",
            24: "That is the last head, but heads are counted from zero.",
        },
    ),
    choice(
        "more_heads",
        "abcd",
        "6f09026d4364",
        "Which of the three in d_model = num_heads * head_dim changes when d_model stays?",
        wrong={
            "a": "If you multiply, 8 heads of the same width as before would need a larger d_model.",
            "c": "The projections go from d_model to d_model, so does their size depend on how many heads there are?",
            "d": "A table has a row for every query and a column for every key, and do the heads change that?",
        },
    ),
    choice(
        "contiguous",
        "abcd",
        "49f89358d7c9",
        "Judging by the strides in section 3, what did `transpose` change, and what did it leave alone?",
        wrong={
            "a": "`view` takes any number of axes, and section 3 used it on three to get two.",
            "b": "`transpose` keeps gradients, and `view` wouldn't mind if it didn't.",
            "d": "If you count, every number has its place in the merged tensor.",
        },
    ),
    choice(
        "two_heads",
        "abcd",
        "ff1b6b4f072e",
        "In the picture of section 10, which of the two heads brings a noun with each ending?",
        wrong={
            "a": "In the titles of the picture in section 10, is robot over crate a different number in any row?",
            "b": "There is one layer, and both heads look at the same time, so which weights does the ending change?",
            "d": "Every row sums to one, in each head.",
        },
    ),
)

EXERCISE = quiz("quiz_03", LESSON, 2, QUESTIONS)
