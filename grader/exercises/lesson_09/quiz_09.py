"""The quiz of lesson 09: numbers and shapes are computed here, letters are known by their digest only."""

from __future__ import annotations

import math

import torch

from grader.exercises.lesson_09.shared import LESSON
from grader.spec.answers import choice, number, quiz, shape, written


def _chunk_scores() -> tuple[int, ...]:
    return tuple((torch.empty(2, 8, 16, 64, device="meta") @ torch.empty(2, 8, 64, 300, device="meta")).shape)


QUESTIONS = (
    number(
        "table_entries",
        lambda: 12 * 1000 * 1000,
        0,
        "Each head has a matrix. How many rows and columns does it have?",
        wrong=written(
            {
                1000000.0: "That is for one head.",
                12000.0: "A matrix has a row and a column for every token.",
                48000000.0: "Those are bytes in float32, but how many entries are they?",
                24000000.0: "Scores and weights have a matrix each, but only the weights are asked for.",
                144000000.0: "One head isn't multiplied by another, so how many matrices are there?",
            }
        ),
    ),
    shape(
        "batched_shape",
        lambda: (4, 10, 6),
        "The batch axis stays, and so do the tokens, but whose width does a mixture of values have?",
        wrong={
            "(4, 10, 8)": "That is the width of queries and keys, but what is mixed?",
            "(4, 10, 16)": "That is the width of x, but what is mixed?",
            "(4, 10, 10)": "That is the matrix of weights, but what is done with it afterwards?",
            "(10, 6)": "What happens to the batch?",
            "(40, 6)": "The sequences of a batch stay apart.",
        },
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
        "last_chunk",
        lambda: 100 % 16,
        0,
        "How many full chunks fit in, and how many queries are left?",
        wrong=written(
            {
                16.0: "The full chunks are that large, but do they cover all queries?",
                6.0: "That is how many full chunks there are.",
                7.0: "That is how many chunks there are.",
                12.0: "That is how many queries the last chunk is short of a full one.",
                0.0: "Do the full chunks cover all queries?",
            }
        ),
    ),
    number(
        "factor",
        lambda: math.exp(3 - 5),
        0.0055,
        "The sum holds exp(s − 3) for every score s so far, but it should hold exp(s − 5). Which factor is missing?",
        wrong=written(
            {
                7.39: "That would make the sum larger, but the maximum that is subtracted has grown.",
                1.0: "That leaves the sum as it is, but which maximum is in the exponentials so far?",
                0.6: "The maxima belong in exponents, so their quotient isn't the factor.",
                2.0: "That is the difference between the two maxima, which belongs in an exponent.",
                -2.0: "That is the difference between the two maxima, which belongs in an exponent.",
                0.37: "That is exp(−1), but how far apart are the two maxima?",
            }
        ),
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
    choice(
        "twice_as_long",
        "abcd",
        "8e3db39b1e73",
        "One chunk's scores have chunk_size rows. What do their columns belong to, and how many are there now?",
        wrong={
            "a": "A chunk has as many rows as before, but does it have as many columns?",
            "c": "That is the whole matrix, but how much of it is held at any one time?",
            "d": "There are more chunks, but they come one after the other. What grows in each of them?",
        },
    ),
    choice(
        "what_is_saved",
        "abcd",
        "7f54edc7d052",
        "Without the cache, what would have to be computed again for the tokens that were there before?",
        wrong={
            "a": "A cache takes memory, but what do you get in return?",
            "b": "The new token's query is still multiplied by every key.",
            "d": "Later tokens are hidden with a cache or without one.",
        },
    ),
    choice(
        "first_of_three",
        "abcd",
        "418013de0ea0",
        "Number all five tokens from 0. Which is the first new one, and which tokens don't come after it?",
        wrong={
            "a": "That is what a triangle aligned to the top left shows, but the new token is not token 0.",
            "c": "Two of those come after the first new token.",
            "d": "The token may see itself, but what about those that came before?",
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
)

EXERCISE = quiz("quiz_09", LESSON, 2, QUESTIONS)
