"""The quiz of lesson 06: numbers and shapes are computed here, letters are known by their digest only."""

from __future__ import annotations

import math

import torch

from grader.exercises.lesson_06.shared import LESSON
from grader.spec.answers import choice, number, quiz, shape, written

HALF_A_HUNDREDTH = 0.006  # "to two decimals", rounded either way


def _own_product() -> float:
    return sum(math.sin(7 / r) ** 2 + math.cos(7 / r) ** 2 for r in (10000 ** (2 * i / 96) for i in range(48)))


QUESTIONS = (
    shape(
        "embedded_shape",
        lambda: tuple(torch.empty(500, 256)[torch.zeros(32, 20, dtype=torch.long)].shape),
        "Every id is replaced by a row of the table, so how many ids are there, and how long is a row?",
        wrong={
            "(32, 20)": "That is the shape of the ids, but each of them becomes a whole row.",
            "(32, 20, 500)": "That is as wide as a one-hot row, before it is multiplied by the table.",
            "(500, 256)": "That is the table's shape, but the rows picked from it have the ids' axes in front.",
            "(32, 256)": "There is a vector for every token, not one for every sentence.",
            "(20, 256)": "That is one sentence, but how many are there?",
        },
    ),
    number(
        "learnt_numbers",
        lambda: torch.empty(100, 256).numel(),
        0,
        "A learnt position table has a row for every position that may occur, each as wide as a token's vector.",
        wrong=written(
            {
                0.0: "That is right for the sinusoidal encoding, but a learnt table consists of parameters.",
                5120.0: "That counts the 20 positions of these sentences. How many does the table have?",
                128000.0: "That is the table of the tokens.",
                153600.0: "That is both tables together.",
                100.0: "That counts the rows, but how long is each?",
                256.0: "That is one row, but how many are there?",
            }
        ),
    ),
    choice(
        "permuted",
        "abcd",
        "8561013c2022",
        "Section 2 did the same with four tokens. Which rows were equal before and after?",
        wrong={
            "a": "Each output belongs to a token. Where does the output of token 1 stand now?",
            "c": "Outputs 0, 2 and 3 depend on the *set* of keys and values. Does it matter in which order these come?",
            "d": "Outputs 1 and 4 don't merely change. Compare the new output 1 with the old output 4.",
        },
    ),
    number(
        "own_product",
        _own_product,
        HALF_A_HUNDREDTH,
        "One pair of columns contributes sin² + cos² of the same angle. What is that, and how many pairs are there?",
        wrong=written(
            {
                96.0: "Every *pair* of columns contributes that much. How many pairs are there?",
                1.0: "That is one pair of columns, but how many are there?",
                7.0: "The product of a position with itself doesn't depend on the position.",
                49.0: "The product of a position with itself doesn't depend on the position.",
                0.0: "That would be the row's product with a vector at right angles to it.",
                32.0: "That is right for a width of 64, but how many pairs of columns are there here?",
                9.8: "That is the length of the vector times √2, but what is the vector's product with itself?",
            }
        ),
    ),
    number(
        "bias_column",
        lambda: min(max(4 - 6, -3), 3) + 3,
        0,
        "First subtract the query's position from the key's, then clip this offset, and then shift it.",
        wrong=written(
            {
                5.0: "That is the offset with the wrong sign, shifted, so which position is subtracted from which?",
                -2.0: "That is the offset, but columns are counted from 0.",
                2.0: "That is the distance, but the table tells the two directions apart.",
                0.0: "That would be an offset of -3 or less.",
                4.0: "Shift by m, so that the offset -m has column 0.",
            }
        ),
    ),
    shape(
        "bias_table",
        lambda: (8, len(range(-16, 17))),
        "There is a row for every head. How many whole numbers are there from -16 to 16?",
        wrong={
            "(8, 32)": "Count again, since there are -16 to -1, 1 to 16, and something between them.",
            "(8, 16)": "That is one direction only.",
            "(8, 17)": "That is one direction and the token itself.",
            "(33, 8)": "That is nearly right, but in this lesson each head has a row.",
            "(33,)": "That is the row of one head, but how many heads are there?",
        },
    ),
    number(
        "turned",
        lambda: 3 * math.cos(2 * 0.5) - 1 * math.sin(2 * 0.5),
        HALF_A_HUNDREDTH,
        "The angle θ is position times speed, in radians, and the first component is then a·cos θ - b·sin θ.",
        wrong=written(
            {
                3 * math.cos(1) + math.sin(1): "That turns the pair the other way, so where is the minus?",
                3 * math.sin(1) + math.cos(1): "That is the second component of the turned pair.",
                3 * math.cos(2) - math.sin(2): "That turns by 2, but the position is multiplied by the speed.",
                3 * math.cos(0.5) - math.sin(0.5): "That turns by 0.5, but what about the position?",
                3 * math.cos(math.radians(1))
                - math.sin(math.radians(1)): "That is in degrees, but angles here are in radians.",
                3 * math.cos(1): "That is one term, but what about the other?",
            }
        ),
    ),
    choice(
        "same_score",
        "abcd",
        "0ea24c089a9b",
        "With rotary positions the score depends on the key's position minus the query's, so take that for each pair.",
        wrong={
            "a": "In that pair the key comes after the query, so is the offset the same, sign included?",
            "c": "Doubling both positions doubles the offset.",
            "d": "One of the pairs has the same offset, if you subtract in the same order each time.",
        },
    ),
    choice(
        "where_turned",
        "abcd",
        "137e1443a578",
        "Which tensors make the score? Only they need to know the position.",
        wrong={
            "a": "Then the values would be turned as well, and what is passed on would depend on where it came from.",
            "b": "A score is made from a query and a key. If you turn only one of them, the angle between them depends "
            "on that one's position, not on the distance.",
            "d": "Softmax makes weights that sum to one, and turning them would destroy that.",
        },
    ),
)

EXERCISE = quiz("quiz_06", LESSON, 2, QUESTIONS)
