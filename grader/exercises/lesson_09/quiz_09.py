"""The quiz of lesson 09: numbers and shapes are computed here."""

from __future__ import annotations

import math

import torch

from grader.spec.answers import number, shape, whole, written
from grader.spec.spec import Spec


def _chunk_scores() -> tuple[int, ...]:
    return tuple((torch.empty(2, 8, 16, 64, device="meta") @ torch.empty(2, 8, 64, 300, device="meta")).shape)


QUESTIONS = (
    whole(
        "per_token",
        lambda: 2 * 24 * 4 * 64 * 2,
        "In each layer, what is kept of a token, for how many heads, how wide, and how many bytes does a number take?",
        wrong={
            12288: "That is the keys alone, or one byte per number.",
            98304: "That counts the query heads. What is kept for each of them?",
            49152: "That is too much by a factor of two. Keys and values make two, and a number takes two bytes.",
            6144: "That counts numbers of the keys, but what about the values, and the bytes?",
            1024: "That is one layer's, but how many layers are there?",
        },
    ),
    number(
        "window_scores",
        lambda: sum(min(query + 1, 3) for query in range(6)),
        0,
        "Draw the mask's 6 rows. How many keys are visible in each, going from the first row to the last?",
        wrong=written(
            {
                18.0: "Do the first tokens have two tokens before them?",
                21.0: "That is the causal mask, but which of its entries does a window of 3 hide?",
                36.0: "That is every entry of the mask.",
                11.0: "That is a window of 2, but the token itself and two more are seen.",
                24.0: "That window reaches to both sides.",
            }
        ),
    ),
    number(
        "key_head",
        lambda: 37 // (64 // 8),
        0,
        "How large is a group? Count the groups, from 0, up to the one that query head 37 is in.",
        wrong=written(
            {
                5.0: "Groups are made of neighbours, and they are counted from 0.",
                37.0: "There are only 8 key heads.",
                8.0: "That is how many query heads share a key head.",
                36.0: "There are only 8 key heads.",
            }
        ),
    ),
    shape(
        "chunk_scores",
        _chunk_scores,
        "The queries are cut, but the keys are not. Which axes stay as they are?",
        wrong={
            "(2, 8, 16, 16)": "How many keys does a query in this chunk see?",
            "(2, 8, 100, 300)": "That is the whole matrix, but how many of its rows are made at a time?",
            "(2, 8, 100, 16)": "That cuts the keys, but `chunked_attention` cuts the queries.",
            "(2, 8, 300, 16)": "Those are the right sizes, but what do the rows belong to?",
            "(16, 300)": "Every sequence and every head has scores of its own.",
            "(2, 8, 16, 64)": "That is the chunk of queries, but what do queries and keys make together?",
        },
    ),
    number(
        "running_sum",
        lambda: 1 + 3 * math.exp(-2),
        0.0055,
        "For the first block, add up exp(score − the block's maximum) over its two scores. For the second, rescale "
        "that sum and add the two new exponentials, now with the new maximum.",
        wrong=written(
            {
                3.14: "The first block's sum was computed with another maximum.",
                2.0: "That is the sum after the first block.",
                1.14: "That is the sum for the second block alone.",
                10.39: "The maximum of the row has to be subtracted in every exponential.",
                28.24: "That is the sum of the exponentials with no maximum subtracted.",
                15.91: "The factor is the wrong way round, since a larger maximum makes the old sum smaller.",
            }
        ),
    ),
)

EXERCISE = Spec(__name__).quiz(2, QUESTIONS)
