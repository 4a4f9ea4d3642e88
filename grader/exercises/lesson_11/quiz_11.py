"""The quiz of lesson 11: numbers are computed here, letters are known by their digest only."""

from __future__ import annotations

import math

from grader.exercises.lesson_11.shared import LESSON
from grader.spec.answers import choice, number, quiz, written


def _kept() -> int:
    """How many of the sorted probabilities reach 0.8."""
    total, count = 0.0, 0
    for chance in (0.4, 0.25, 0.2, 0.1, 0.05):
        if total < 0.8:
            total, count = total + chance, count + 1
    return count


QUESTIONS = (
    number(
        "pairs_in_block",
        lambda: 16 * 64,
        0,
        "Every token of every piece has a label of its own. How many tokens are in the batch?",
        wrong=written(
            {
                16.0: "That is one prediction for each piece. Which of its tokens have a label?",
                64.0: "That is one piece. How many are in the batch?",
                1008.0: "The last token of a piece has a label too: it lies one place further in the text.",
                1040.0: "A piece of 64 tokens needs 65 ids of the text. How many of them are labels?",
            }
        ),
    ),
    number(
        "uniform_loss",
        lambda: math.log(50),
        0.0055,
        "Which probability does each character have, and what is the loss for a probability?",
        wrong=written(
            {
                5.64: "Those are bits. Which logarithm gives nats?",
                1.7: "That is the logarithm to the base 10. Which one gives nats?",
                0.02: "That is the probability. What is the loss for it?",
                50.0: "That is the perplexity. What is its logarithm?",
                -3.91: "A probability is below 1, and its logarithm negative. Which sign does the loss have?",
            }
        ),
    ),
    number(
        "kept",
        _kept,
        0,
        "Add them up from the largest, and stop as soon as the sum reaches 0.8.",
        wrong=written(
            {
                2.0: "Those two sum to 0.65. Have they reached 0.8?",
                4.0: "The first three sum to 0.85. Is the fourth needed?",
                1.0: "No single one of them reaches 0.8.",
                0.0: "At least one token stays.",
                5.0: "All five sum to 1. How many are needed for 0.8?",
            }
        ),
    ),
    number(
        "after_top_k",
        lambda: 0.4 / (0.4 + 0.25),
        0.0055,
        "Two tokens stay. By what are their probabilities divided, so that they sum to one?",
        wrong=written(
            {
                0.4: "The two that stay must sum to one.",
                0.38: "That is the second of the two.",
                0.5: "They keep their proportion: the first is more probable.",
                0.65: "That is their sum. What is it for?",
            }
        ),
    ),
    number(
        "clipped",
        lambda: 4 / math.hypot(3, 4),
        0.0055,
        "What is the norm of all four entries together, and which factor makes it 1?",
        wrong=written(
            {
                1.0: "That is each gradient clipped by itself. There is one norm for all, and one factor.",
                0.57: "That is the sum of the two norms. The norm of the vector [3, 0, 0, 4] is smaller.",
                0.16: "That is 4 divided by the sum of the squares. Which step is missing?",
                0.6: "That is the other one, the 3.",
                4.0: "Is the norm of all together larger than `max_norm`?",
                5.0: "That is the norm before.",
            }
        ),
    ),
    number(
        "fed",
        lambda: 10 + 5 - 1,
        0,
        "The prompt goes through once, then one new token after the other. Which of them is never needed as input?",
        wrong=written(
            {
                15.0: "Nothing is predicted after the last new token. Does the model have to read it?",
                60.0: "That is without a cache, where each round reads all of the text. Which tokens are in the cache?",
                5.0: "The prompt has to be read as well.",
                10.0: "The new tokens have to be read too, but for one.",
                50.0: "Is the prompt read again for every new token?",
            }
        ),
    ),
    choice(
        "high_temperature",
        "abcd",
        "25d82324120e",
        "Divide the logits 4, 2 and 0 by 100. How far apart are they then, and what does softmax make of them?",
        wrong={
            "a": "That is where low temperatures lead.",
            "b": "Temperature 1 divides by one. Higher ones divide by more.",
            "d": "Dividing by a positive number doesn't change the order.",
        },
    ),
    choice(
        "why_last_norm",
        "abcd",
        "b5345f7132bb",
        "Where does a pre-norm block normalise: what goes into its sub-layers, or what comes out of it?",
        wrong={
            "b": "A row of the embedding is no probability, and neither is what it is multiplied with.",
            "c": "A norm works on each token by itself. What hides the future?",
            "d": "Nothing counts norms. What would go into the head without it?",
        },
    ),
)

EXERCISE = quiz("quiz_11", LESSON, 2, QUESTIONS)
