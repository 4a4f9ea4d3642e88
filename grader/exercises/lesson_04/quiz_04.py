"""The quiz of lesson 04: numbers and shapes are computed here, letters are known by their digest only."""

from __future__ import annotations

import torch

from grader.spec.answers import choice, number, written
from grader.spec.spec import Spec


def _first_weight() -> float:
    scores = torch.tensor([0.2, 0.3, 0.5]).log()
    scores[2] = -torch.inf
    return float(scores.softmax(-1)[0])


QUESTIONS = (
    number(
        "first_weight",
        _first_weight,
        0.005,
        "The two visible weights keep their ratio, and they have to sum to one.",
        wrong=written(
            {
                0.2: "That is the weight before the last key is hidden, but what do the two visible weights sum to?",
                0.45: "The hidden weight isn't shared out equally, since the ratio of the visible ones stays the same.",
                0.5: "The ratio of the two visible weights is not one to one.",
                0.6: "That is the second weight.",
                0.6667: "That is the ratio of the two visible weights, not yet the first of them.",
            }
        ),
    ),
    choice(
        "when_causal",
        "abcd",
        "d4035f64f382",
        "What goes wrong if a token sees the one after it, and for which task would that be cheating?",
        wrong={
            "a": "That calls for a different mask, but which one?",
            "c": "Neither size plays a part, but what is the answer that must not be seen?",
            "d": "When a model is used, what comes later doesn't exist yet, so when does it exist?",
        },
    ),
    choice(
        "which_mask",
        "abcd",
        "852412e9019d",
        "In the table of section 3, what does True mean in the function's row, and what in the module's?",
        wrong={
            "a": "The function and the module read a bool mask in different ways, so look at the table of section 3.",
            "b": "It is not rows and columns that differ but the meaning of True.",
            "d": "Floats are added to the scores, so what would adding 1 to a score do?",
        },
    ),
    choice(
        "row_float64",
        "abcd",
        "e750a562d635",
        "Look at the table of section 8. Which row is for this dtype, and what does it hold?",
        wrong={
            "a": "1e10 is a number like any other in float64, but in which dtype is it too large?",
            "b": "A softmax always sums to one.",
            "d": "That takes three equal scores, but is 4 - 1e10 equal to 8 - 1e10 in float64?",
        },
    ),
    choice(
        "proof",
        "abcd",
        "7568309ff821",
        "Which outputs may move when token 3 is changed, and which pairs of positions has this one change tested?",
        wrong={
            "a": "Token 3 is the present for output 3 and the past for outputs 4 to 7, so may these outputs move?",
            "b": "Was token 5 changed, and if not, how could output 4 show whether it sees token 5?",
            "d": "How far each output moves depends on the weights, so should they all move equally far?",
        },
    ),
)

EXERCISE = Spec(__name__).quiz(2, QUESTIONS)
