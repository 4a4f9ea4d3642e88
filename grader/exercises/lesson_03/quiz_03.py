"""The quiz of lesson 03: numbers and shapes are computed here, letters are known by their digest only."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.exercises.lesson_03.shared import LESSON
from grader.spec.answers import choice, quiz, shape, whole


def _numbered() -> Tensor:
    """Three tokens of six numbers, 10 * t + e."""
    return 10 * torch.arange(3).unsqueeze(1) + torch.arange(6)


def _weights_shape() -> tuple[int, ...]:
    heads_of_query, heads_of_key = torch.ones(2, 3, 5, 4), torch.ones(2, 3, 7, 4)
    return tuple((heads_of_query @ heads_of_key.mT).shape)


QUESTIONS = (
    shape(
        "weights_shape",
        _weights_shape,
        "Every sequence and every head has a table of its own. What are its rows, and what its columns?",
        wrong={
            "(2, 3, 7, 5)": "Which of the two belongs to the rows of a table: who looks, or who is looked at?",
            "(2, 5, 7)": "There is a table for every head, too.",
            "(2, 3, 5, 5)": "A query looks at the keys. How many of those are there?",
            "(2, 3, 7, 7)": "A row belongs to a query. How many of those are there?",
            "(2, 5, 12)": "That is the shape of the output.",
            "(2, 4, 5, 7)": "4 is the width of a head. How many heads are there?",
            "(2, 12, 5, 7)": "12 is the width of all heads together. How many heads are there?",
            "(3, 2, 5, 7)": "Those are the right numbers. Which comes first, the batch or the heads?",
            "(3, 5, 7)": "There are two sequences. What happens to the batch?",
            "(2, 5, 3, 7)": "Those are the right numbers. `@` needs the tokens' axes last.",
        },
    ),
    whole(
        "after_split",
        lambda: int(_numbered().unflatten(-1, (3, 2)).transpose(0, 1)[1, 2, 0]),
        "Which columns belong to head 1 when three heads share six? The tens of the answer tell the token.",
        {
            14: "That is what `view` alone gives. Which token should line 2 of every head hold?",
            21: "You gave head 1 every third column. A head holds neighbouring columns.",
            12: "Head 1, token 2: which of the two does the first index count?",
            23: "That is head 1's second column.",
            20: "That is head 0.",
            24: "That is the last head. Heads are counted from zero.",
        },
    ),
    choice(
        "more_heads",
        "abcd",
        "6f09026d4364",
        "d_model = num_heads * head_dim. Which of the three changes when d_model stays?",
        wrong={
            "a": "Multiply: 8 heads of the same width as before would need a larger d_model.",
            "c": "The projections go from d_model to d_model. Does their size know how many heads there are?",
            "d": "A table has a row for every query and a column for every key. Do the heads change that?",
        },
    ),
    choice(
        "contiguous",
        "abcd",
        "49f89358d7c9",
        "Look at the strides in section 3: what did `transpose` change, and what did it leave alone?",
        wrong={
            "a": "`view` takes any number of axes; section 3 used it on three, to get two.",
            "b": "`transpose` keeps gradients, and `view` wouldn't mind if it didn't.",
            "d": "Count: every number has its place in the merged tensor.",
        },
    ),
    choice(
        "two_heads",
        "abcd",
        "ff1b6b4f072e",
        "Look at the picture of section 10: with each ending, which of the two heads brings a noun?",
        wrong={
            "a": "Read the titles of the picture in section 10: is robot over crate another number in any row?",
            "b": "There is one layer, and both heads look at the same time. Which weights does the ending change?",
            "d": "Every row sums to one, in each head.",
        },
    ),
)

EXERCISE = quiz("quiz_03", LESSON, 2, QUESTIONS)
