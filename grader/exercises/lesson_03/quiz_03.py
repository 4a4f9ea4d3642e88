"""The quiz of lesson 03: numbers and shapes are computed here, letters are known by their digest only."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.exercises.lesson_03.shared import LESSON
from grader.spec.answers import choice, quiz, shape, whole


def _numbered() -> Tensor:
    """Three tokens of six numbers, 10 * t + e."""
    return 10 * torch.arange(3).unsqueeze(1) + torch.arange(6)


def _scores_shape() -> tuple[int, ...]:
    return tuple(torch.einsum("thd,shd->hts", torch.ones(5, 3, 4), torch.ones(7, 3, 4)).shape)


def _weights_shape() -> tuple[int, ...]:
    heads_of_query, heads_of_key = torch.ones(2, 3, 5, 4), torch.ones(2, 3, 7, 4)
    return tuple((heads_of_query @ heads_of_key.mT).shape)


def _parameters() -> float:
    return 4 * (20 * 20 + 20)


QUESTIONS = (
    whole(
        "head_dim",
        lambda: 768 // 12,
        "The heads share the columns of a token's vector among them, each as many as the others.",
        {
            768: "That is the width of all heads together.",
            12: "That is the number of heads.",
            9216: "The heads share the width; they don't multiply it.",
            8: "That would be a root. No root is needed to share columns out.",
        },
    ),
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
    shape(
        "scores_shape",
        _scores_shape,
        "Write the letters under the two shapes, then read off the sizes after the arrow, in its order.",
        wrong={
            "(3, 7, 5)": "Which letter is the query's token, and where is it after the arrow?",
            "(5, 7)": "One letter after the arrow is missing in your answer.",
            "(5, 3, 7)": "Those are the right sizes. Read the order after the arrow once more.",
            "(5, 7, 3)": "Those are the right sizes. Read the order after the arrow once more.",
            "(3, 5, 7, 4)": "A letter that is missing after the arrow is summed over, and its axis is gone.",
            "(4, 5, 7)": "Which letter has length 4, and does it appear after the arrow?",
            "(3, 5, 5)": "s and t are two letters: the keys have a length of their own.",
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
    whole(
        "after_view",
        lambda: int(_numbered().view(3, 3, 2)[1, 2, 0]),
        "Write the 18 numbers in one row, as they lie in memory, and cut it: three blocks, each of three lines of two.",
        {
            22: "That is what view and transpose give. Here nothing is swapped: the row in memory is cut anew.",
            10: "Count the places again: a block has three lines of two, and blocks and lines are counted from zero.",
            15: "That is the second column of the line.",
            12: "That is line 1 of the block. Lines are counted from zero.",
            20: "That is the block after it. Blocks are counted from zero.",
        },
    ),
    whole(
        "parameters",
        _parameters,
        "Count the linear layers. How many numbers has one, with its bias? Does the number of heads matter?",
        {
            1600: "Those are the matrices. Each layer has a bias as well.",
            1260: "That is three layers. What comes after merging?",
            1200: "That is three matrices without their biases. What comes after merging, and what else has a layer?",
            420: "That is one layer. How many are there?",
            400: "That is one matrix. How many are there, and what else has a layer?",
            8400: "The heads share the columns. Does every head have matrices of full width?",
            8000: "The heads share the columns. Does every head have matrices of full width?",
            80: "Those are the biases.",
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
        "wrong_root",
        "abcd",
        "8fbe0cdbe1ed",
        "Which of the two roots is larger, and what does a larger divisor do to the weights?",
        wrong={
            "a": "That is what too small a divisor does. Is the root of d_model smaller or larger?",
            "c": "Softmax makes every row sum to one, whatever goes in.",
            "d": "Softmax fixes the sum of a row, not the shares in it. See the table after the slip.",
        },
    ),
    choice(
        "which_mask",
        "abcd",
        "852412e9019d",
        "Recall the convention of section 7: what does True mean here? And which axis of the weights counts the keys?",
        wrong={
            "a": "0 and 1 added to a score nudge it. What must the score of a hidden key become?",
            "b": "That is `nn.MultiheadAttention`'s convention, not this one.",
            "d": "This column goes with the rows of the weights. Who is looked at, and on which axis?",
        },
    ),
)

EXERCISE = quiz("quiz_03", LESSON, 2, QUESTIONS)
