"""The quiz of lesson 10: numbers are computed here, letters are known by their digest only."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import torch

from grader.exercises.lesson_10.attention_rollout import rollout
from grader.exercises.lesson_10.first_token_pattern import first_token
from grader.exercises.lesson_10.local_pattern import local
from grader.spec.answers import Question, choice, number, written
from grader.spec.spec import Spec


def _decimals(key: str, value: Callable[[], float], hint: str, wrong: Mapping[float, str]) -> Question:
    """A question whose answer is a number, right to two decimals or more. `wrong` gives hints by wrong answer."""
    return number(key, value, 0.006, hint, wrong=written(wrong))


def _two_first_layers() -> float:
    return float(rollout(torch.stack([first_token(4)] * 2))[3, 0])


QUESTIONS = (
    _decimals(
        "edge_weight",
        lambda: float(local(7, 2)[0, 0]),
        "Which tokens are within radius 2 of the first one, and so share a weight of 1 among them?",
        {
            0.2: "That is the share in the middle, but how many neighbours does the first token have?",
            0.25: "That is the share in the second row.",
            0.5: "That would be the share for radius 1.",
            1.0: "The first token attends to others as well.",
        },
    ),
    _decimals(
        "entropy",
        lambda: math.log(5),
        "A uniform row over n keys has the entropy ln n, so how many keys does this row have?",
        {
            5.0: "That is the number of keys, and the entropy is its logarithm.",
            2.3219: "Those are bits, but the course counts in nats.",
            0.699: "That is the logarithm to base 10, but which one gives nats?",
            1.0986: "That is the entropy for radius 1.",
            1.3863: "Count again, both sides and the token itself.",
            0.0: "Zero is for a row with all its weight on one key.",
        },
    ),
    _decimals(
        "rolled",
        _two_first_layers,
        "After one layer, half of token 3 comes from token 0, but what happens to the other half in layer 1?",
        {
            0.5: "That is after one layer.",
            1.0: "The residual keeps a part of token 3 itself.",
            0.25: "That is what stays of token 3 itself.",
            0.0: "What does every token attend to?",
            0.375: "Token 0 attends to itself, so what has reached it stays there. Go through both layers once more.",
        },
    ),
    choice(
        "right_weights",
        "abcd",
        "24985998c8d1",
        "The weights are computed from queries and keys, so which steps are left after that?",
        wrong={
            "a": "Then the weights would be wrong too, since they are computed from the heads.",
            "c": "Then the weights would be flatter.",
            "d": "Then the weights would show the future.",
        },
    ),
    choice(
        "explains",
        "abcd",
        "201570fd8de9",
        "Think of section 6, with its equal values and ablated heads, and of what the residual stream holds.",
        wrong={
            "a": "In section 6 a head gave nearly all its weight to the 6, but what happened without that head?",
            "b": "What layer 1 attends to is a weighted sum already, since layer 0 made it.",
            "c": "Every row of every head sums to one, whatever the head is good for.",
        },
    ),
)

EXERCISE = Spec(__name__).quiz(2, QUESTIONS)
