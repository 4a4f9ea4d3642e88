"""The quiz of lesson 02. A hint never gives the answer."""

from __future__ import annotations

import math
from collections.abc import Mapping

from grader.spec.answers import choice, number
from grader.spec.spec import Spec

HALF_A_HUNDREDTH = 0.006  # "to two decimals", rounded either way


def _numbers(hints: Mapping[float, str]) -> dict[str, str]:
    """Hints for wrong numbers, under each text in which a learner may write them: rounded to two, three or four
    decimals, or to six digits in all."""
    texts = {value: {str(round(float(value), n)) for n in (2, 3, 4)} | {f"{value:g}"} for value in hints}
    return {text: hint for value, hint in hints.items() for text in texts[value]}


QUESTIONS = (
    number(
        "divisor",
        lambda: math.sqrt(32),
        HALF_A_HUNDREDTH,
        "It is the root of the width of the vectors that meet in the dot product.",
        wrong=_numbers(
            {
                4: "You took the root of the width of a token, but which vectors meet in the dot product?",
                8: "You took the root of the width of a value, but values aren't part of the scores.",
                math.sqrt(8): "You took the root of the number of tokens, but it is a width that counts.",
                32: "The width is right, but there is a root in the formula.",
                16: "Is it the token's width that counts, and what has become of the root in the formula?",
            }
        ),
    ),
    choice(
        "why_scale",
        "abcd",
        "e22a2bd52f2c",
        "Read the first table of section 4 once more. What grows in it, and what does it grow with?",
        wrong={
            "a": "The rows sum to one without the scaling, too, since that is what the softmax is for.",
            "b": "The table of scores is just as large with the scaling as without it.",
            "c": "A score is the dot product of two vectors, so does the number of tokens enter into it?",
        },
    ),
    number(
        "entropy",
        lambda: math.log(8),
        HALF_A_HUNDREDTH,
        "All eight terms are the same, so write one down and multiply it by eight.",
        wrong=_numbers(
            {
                -math.log(8): "The logarithm of a weight is negative, so what comes before the sum?",
                3: "That is in bits, but which logarithm belongs to nats?",
                8: "That is how many keys the query attends to, and the entropy is the logarithm of such a number.",
                math.log(8) / 8: "That is one term of the sum, but how many are there?",
                0.125: "That is one of the weights, so put it into the formula.",
                0: "Entropy 0 belongs to a row with everything on one key.",
            }
        ),
    ),
    choice(
        "second_layer",
        "abcd",
        "a3791e2b0134",
        "In the picture of both layers, which word does `it` look at first, and what does it take from that word?",
        wrong={
            "a": "Then one layer would be enough, but what does the first layer not know yet?",
            "c": "The robot and the crate have to stay different, or the second layer could not choose between them.",
            "d": "No word is hidden here, and every row has a weight for every word.",
        },
    ),
    choice(
        "properties",
        "abcd",
        "076b916ea986",
        "Recall the three rules of section 6, and test each answer on weights that this lesson has printed.",
        wrong={
            "b": "Add up the columns of a table of weights that this lesson has printed.",
            "c": "Compare two weights that lie across the diagonal from each other.",
            "d": "In a picture in section 5, which word has the largest weight in the row of `it`?",
        },
    ),
)

EXERCISE = Spec(__name__).quiz(2, QUESTIONS)
