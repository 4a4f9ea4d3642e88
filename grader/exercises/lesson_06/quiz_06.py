"""The quiz of lesson 06: numbers and shapes are computed here, letters are known by their digest only."""

from __future__ import annotations

import math

from grader.spec.answers import choice, number, whole, written
from grader.spec.spec import Spec

HALF_A_HUNDREDTH = 0.006  # "to two decimals", rounded either way


def _own_product() -> float:
    return sum(math.sin(7 / r) ** 2 + math.cos(7 / r) ** 2 for r in (10000 ** (2 * i / 96) for i in range(48)))


QUESTIONS = (
    whole(
        "different",
        lambda: len({"the", "dog", "sees", "man"}),
        "An output depends on its own token and on the set of all the others, never on where they are. Which outputs "
        "must be equal?",
        wrong={
            7: "That is one for each token, but do the two occurrences of the same word differ in anything?",
            3: "These are the words that occur twice, but one more word occurs.",
            1: "That would be so if all seven words were equal, since each word has a query of its own.",
            2: "Each different word has an output of its own. How many different words are there?",
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
    whole(
        "columns_used",
        lambda: len({min(max(key - 1, -3), 3) for key in range(10)}),
        "Write down the offsets of query 1 to the keys 0 to 9, and clip each of them to between -3 and 3.",
        wrong={
            7: "The table has seven columns, but does query 1 have a key that is three places before it?",
            10: "There are ten keys, but all that are three or more places away share a column.",
            4: "One key comes before query 1.",
            8: "That is the number of keys after query 1, but many of them share a column.",
            9: "All keys that are three or more places away share a column.",
            3: "These are the offsets after the query, but there are the token itself and one before it as well.",
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
)

EXERCISE = Spec(__name__).quiz(2, QUESTIONS)
