"""The quiz of lesson 11: numbers are computed here, letters are known by their digest only."""

from __future__ import annotations

from grader.spec.answers import choice, number, written
from grader.spec.spec import Spec


def _kept() -> int:
    """How many of the sorted probabilities it takes to reach 0.8."""
    total, count = 0.0, 0
    for chance in (0.4, 0.25, 0.2, 0.1, 0.05):
        if total < 0.8:
            total, count = total + chance, count + 1
    return count


QUESTIONS = (
    choice(
        "needed_head",
        "abcd",
        "13bd219af202",
        "Which of these is an intervention that also tells names apart from everything else?",
        wrong={
            "a": "A weight shows where a head looks, but does that prove that it matters (lesson 10)?",
            "b": "Even then the head only looks, but what happens to the names without this head?",
            "d": "The loss rose whichever of the four heads was off, so what would that show about this head?",
        },
    ),
    number(
        "kept",
        _kept,
        0,
        "Add the probabilities up from the largest, and stop as soon as the sum reaches 0.8.",
        wrong=written(
            {
                2.0: "The first two sum to 0.65, but have they reached 0.8?",
                4.0: "The first three sum to 0.85, so is the fourth needed?",
                1.0: "No single one of them reaches 0.8.",
                0.0: "At least one token stays.",
                5.0: "All five sum to 1, but how many are needed for 0.8?",
            }
        ),
    ),
    number(
        "fed",
        lambda: 10 + 5 - 1,
        0,
        "The prompt goes through once, and then the new tokens, one at a time. Which of them is never needed as input?",
        wrong=written(
            {
                15.0: "No prediction follows the last new token, so does the model have to read it?",
                60.0: "That is without a cache, where each round reads all of the text. Which tokens are in the cache?",
                5.0: "The prompt has to be read as well.",
                10.0: "The new tokens have to be read too, all but one.",
                50.0: "Is the prompt read again for every new token?",
            }
        ),
    ),
    choice(
        "same_length",
        "abcd",
        "52e6207074b4",
        "If every word has 16 letters, how far back does the next letter stand? Is that the same in all rows?",
        wrong={
            "b": "One layer fails where the distance differs from row to row. Does it differ here?",
            "c": "Whatever a head of the first layer can do, a model with two layers has such heads as well.",
            "d": "What do the names in the tales and the letters of such a word have in common?",
        },
    ),
)

EXERCISE = Spec(__name__).quiz(2, QUESTIONS)
