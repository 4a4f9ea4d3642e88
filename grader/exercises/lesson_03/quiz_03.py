"""The quiz of lesson 03: numbers and shapes are computed here, letters are known by their digest only."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.spec.answers import choice, shape, whole
from grader.spec.spec import Spec


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
        "Every sequence and every head has its own table, so what are the rows and the columns of such a table?",
        wrong={
            "(2, 3, 7, 5)": "What belongs to the rows of a table, the token that looks or the one that is looked at?",
            "(2, 5, 7)": "There is a table for every head, too.",
            "(2, 3, 5, 5)": "A query looks at the keys, so how many of those are there?",
            "(2, 3, 7, 7)": "A row belongs to a query, so how many of those are there?",
            "(2, 5, 12)": "That is the shape of the output.",
            "(2, 4, 5, 7)": "That 4 is the width of a head, but how many heads are there?",
            "(2, 12, 5, 7)": "That 12 is the width of all heads together, but how many heads are there?",
            "(3, 2, 5, 7)": "Those are the right numbers, but which comes first, the batch or the heads?",
            "(3, 5, 7)": "There are two sequences, so what has become of the batch axis?",
            "(2, 5, 3, 7)": "Those are the right numbers, but `@` needs the tokens' axes last.",
        },
    ),
    whole(
        "after_split",
        lambda: int(_numbered().unflatten(-1, (3, 2)).transpose(0, 1)[1, 2, 0]),
        "With six columns for three heads, which ones belong to head 1? The tens digit of the answer gives the token.",
        {
            14: "That is what `view` alone gives, but which token should row 2 of every head hold?",
            21: "You gave head 1 every third column, but a head holds neighbouring columns.",
            12: "That is head 1 of token 1, but which token does row 2 of a head hold?",
            23: "That is in head 1's second column.",
            20: "That is in head 0.",
            24: "That is in the last head, but heads are counted from zero.",
        },
    ),
    choice(
        "more_heads",
        "abcd",
        "6f09026d4364",
        "In d_model = num_heads * head_dim, what has to change with num_heads if d_model stays the same?",
        wrong={
            "a": "8 heads of the same width as before would need a larger d_model, which is num_heads * head_dim.",
            "c": "The projections go from d_model to d_model, so does their size depend on how many heads there are?",
            "d": "A table has a row for every query and a column for every key, so do the heads change that?",
        },
    ),
    choice(
        "contiguous",
        "abcd",
        "49f89358d7c9",
        "Judging by the strides in section 3, what did `transpose` change, and what did it leave alone?",
        wrong={
            "a": "`view` takes any number of axes, and section 3 used it on three to get two.",
            "b": "`transpose` keeps gradients, and `view` doesn't need them anyway.",
            "d": "If you count the entries, there is a place for every one of them in the merged tensor.",
        },
    ),
    choice(
        "two_heads",
        "abcd",
        "ff1b6b4f072e",
        "In section 10's picture, which head brings a noun when the ending is `heavy`, and which when it is `weak`?",
        wrong={
            "a": "Does the ratio in the titles of section 10's picture change with the ending, in either head?",
            "b": "There is one layer, and both heads look at once, so which weights does the ending change?",
            "d": "Every row sums to one, in each head.",
        },
    ),
)

EXERCISE = Spec(__name__).quiz(2, QUESTIONS)
