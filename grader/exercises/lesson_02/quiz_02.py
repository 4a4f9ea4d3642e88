"""The quiz of lesson 02. A hint never gives the answer."""

from __future__ import annotations

import math
from collections.abc import Mapping

from grader.spec.answers import choice, number, quiz, shape

HALF_A_HUNDREDTH = 0.006  # "to two decimals", rounded either way


def _numbers(hints: Mapping[float, str]) -> dict[str, str]:
    """Hints for wrong numbers, under each text in which a learner may write them."""
    texts = {value: {str(round(float(value), n)) for n in (2, 3, 4)} | {f"{value:g}"} for value in hints}
    return {text: hint for value, hint in hints.items() for text in texts[value]}


QUESTIONS = (
    shape(
        "gram_shape",
        lambda: (3, 8, 8),
        "Three sequences go in. How many tokens has each, and how many pairs do they make?",
        wrong={
            "(3, 16, 16)": "That would compare features with features; tokens are compared.",
            "(8, 8)": "What happens to the leading axis, the batch?",
            "(16, 16)": "Tokens are compared, not features; and what happens to the batch?",
            "(3, 8, 16)": "That is the shape of x itself. The axis that is added up disappears.",
            "(3, 3)": "Sequences aren't compared with each other; the tokens inside each are.",
            "(3, 8)": "One number for every token? There is one for every pair of tokens.",
        },
    ),
    choice(
        "symmetric",
        "abcd",
        "c43b547f1272",
        "Look at omega across its diagonal. What does it always share with its mirror image?",
        wrong={
            "a": "That can be expressed; in the example nearly every word does it.",
            "b": "Two words at the same angle and of the same length have the same dot product with token 0.",
            "d": "Imagine that all word vectors are zero, or all the same.",
        },
    ),
    choice(
        "self_test",
        "abcd",
        "43eaa25bde05",
        "Both sides are the same object, so only something that does not even equal itself can fail.",
        wrong={
            "a": "A wrong shape is the same wrong shape on both sides.",
            "c": "Mixed-up rows and columns are mixed up on both sides alike.",
            "d": "The loop's result does not appear in this test at all.",
        },
    ),
    shape(
        "weight_shape",
        lambda: (32, 16),
        "The layer computes x @ weight.T. Which two axes have to meet there?",
        wrong={
            "(16, 32)": "That is the order of the arguments. Section 4 prints how the weight is stored.",
            "(32,)": "That is the shape of its bias.",
        },
    ),
    shape(
        "output_shape",
        lambda: (8, 64),
        "One row for every query; and which vectors are mixed, how wide are they?",
        wrong={
            "(8, 16)": "What is mixed are not the tokens themselves.",
            "(8, 32)": "Queries and keys make the weights. What do the weights mix?",
            "(8, 8)": "That is the shape of the weights. What do they mix?",
            "(64, 8)": "Every token has a row of its own, in the output too.",
        },
    ),
    number(
        "divisor",
        lambda: math.sqrt(32),
        HALF_A_HUNDREDTH,
        "It is a root of the width of the vectors that meet in the dot product.",
        wrong=_numbers(
            {
                4: "You took the root of the width of a token. Which vectors meet in the dot product?",
                8: "You took the root of the width of a value. Values aren't part of the scores.",
                math.sqrt(8): "You took the root of the number of tokens. It is a width that counts.",
                32: "Right width, but there is a root in the formula.",
                16: "Is it the token's width that counts? And there is a root in the formula.",
            }
        ),
    ),
    number(
        "typical_size",
        lambda: math.sqrt(100),
        HALF_A_HUNDREDTH,
        "The variance adds up over the entries. What is asked for is its root.",
        wrong=_numbers(
            {
                100: "That is the variance. The standard deviation is its root.",
                1: "One product has variance 1. How many of them are added up?",
                0.1: "That is the factor of the scaling; it has to undo something large.",
            }
        ),
    ),
    number(
        "entropy",
        lambda: math.log(8),
        HALF_A_HUNDREDTH,
        "All eight terms are the same: write one down, take it eight times.",
        wrong=_numbers(
            {
                -math.log(8): "The logarithm of a weight is negative; what comes before the sum?",
                3: "That is in bits. Which logarithm belongs to nats?",
                8: "So many tokens it attends to; the entropy is the logarithm of such a number.",
                math.log(8) / 8: "That is one term of the sum. How many are there?",
                0.125: "That is one of the weights. Put it into the formula.",
                0: "Entropy 0 belongs to a row with everything on one key.",
            }
        ),
    ),
    choice(
        "stuck",
        "abcd",
        "eecac607a431",
        "Steps 2 and 3 name two links: what large scores do to a row, and what that does to the slope.",
        wrong={
            "a": "A softmax makes each row sum to one, however large the scores.",
            "c": "torch's softmax takes scores of any size; the errors it printed were ordinary numbers.",
            "d": "Large scores do the opposite: look at the entropies in step 2.",
        },
    ),
)

EXERCISE = quiz("quiz_02", "02_trainable_attention", 2, QUESTIONS)
