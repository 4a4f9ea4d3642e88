"""The quiz of lesson 08: numbers and shapes are computed here, letters are known by their digest only."""

from __future__ import annotations

import math

import torch

from grader.exercises.lesson_08.exact_match import share_of_right_rows
from grader.exercises.lesson_08.noam_rate import learning_rate
from grader.spec.answers import choice, number, quiz, shape, written


def _labels_shape() -> tuple[int, ...]:
    return tuple(torch.zeros(32, 15)[:, 1:].shape)


def _diluted() -> float:
    return 6 * 2.0 / (6 + 18)


def _peak() -> float:
    return max(range(1, 3000), key=lambda step: learning_rate(step, 256, 800))


def _calls() -> float:
    return len(range(1, 20))  # column 0 is bos


def _matches() -> float:
    predicted = torch.tensor([[5, 2, 7], [5, 6, 2], [5, 6, 7], [8, 2, 2]])
    target = torch.tensor([[5, 2, 2], [5, 6, 7], [5, 6, 7], [8, 9, 2]])
    return share_of_right_rows(predicted, target, 2)


QUESTIONS = (
    shape(
        "labels_shape",
        _labels_shape,
        "The target loses one column, and no row.",
        wrong={
            "(32, 15)": "The decoder is given one token less than there are. How many are left to be said?",
            "(31, 15)": "The first axis is the batch. Does a sequence get lost?",
            "(32, 13)": "One end is cut off for the labels, the other end for the decoder's input. Not both for one.",
            "(14,)": "The batch is still there.",
        },
    ),
    number(
        "blind_loss",
        lambda: math.log(50),
        0.006,
        "What probability does each token get? The loss is minus its natural logarithm.",
        wrong=written(
            {
                2.64: "That is for the 14 tokens of this lesson.",
                5.64: "That is the logarithm to the base 2. Cross-entropy takes the natural one.",
                1.7: "That is the logarithm to the base 10. Cross-entropy takes the natural one.",
                0.02: "That is the probability. And the loss?",
                50.0: "That is the number of tokens. What probability does each have? And what is the loss?",
            }
        ),
    ),
    number(
        "diluted",
        _diluted,
        0.005,
        "Add up all losses, then divide by how many columns there are, padding among them.",
        wrong=written(
            {
                2.0: "That is the honest mean. They divide by more than the real labels.",
                0.6667: "They divide by all of the columns, not by those of the padding alone.",
                12.0: "That is the sum.",
            }
        ),
    ),
    number(
        "peak_step",
        _peak,
        0,
        "Two terms, one rising, one falling. Where do they meet?",
        wrong=written(
            {
                1.0: "There the warm-up has only begun.",
                256.0: "That is the width. It makes all rates smaller, and moves none.",
                4000.0: "That is the paper's warm-up. Which one is given here?",
                801.0: "One too many: which is the last step that the rate rises to?",
                799.0: "One too few: which is the last step that the rate rises to?",
            }
        ),
    ),
    number(
        "calls",
        _calls,
        0,
        "Each call writes one column. Which column is there before the first call?",
        wrong=written(
            {
                20.0: "One of these columns is there from the start.",
                21.0: "bos counts as a column.",
                18.0: "eos has to be written too: only one column needs no call.",
                1.0: "One call is enough where the right answer is given. Here it has to be written.",
            }
        ),
    ),
    number(
        "matches",
        _matches,
        0.005,
        "Cut every row after its first 2, those without one not at all. Which pairs are equal then?",
        wrong=written(
            {
                0.75: "That is the share of equal tokens, or one pair too many. Look at the last row once more.",
                0.25: "In the first row the two differ after eos. Does that matter?",
                1.0: "Look at the second row: one of the two has ended there, the other hasn't.",
                2.0: "That is the number of equal rows. What share of the rows is it?",
            }
        ),
    ),
    choice(
        "too_good",
        "abcd",
        "610f3c0bf802",
        "It has learnt to say what it was given. Where does it get the answer from?",
        wrong={
            "a": "A learning rate that is too low makes the loss fall too slowly. Is that so here?",
            "b": "Padding in the loss makes it smaller, but not next to nothing. What else could be so easy to say?",
            "d": "Without the source it could only guess, and the loss would stay high.",
        },
    ),
    choice(
        "forced",
        "abcd",
        "29e81a1d560f",
        "What is there to be seen with teacher forcing that isn't there when the model writes?",
        wrong={
            "b": "With teacher forcing all of them are right already. What would more steps change?",
            "c": "Then it would write them well, too: it would know them by heart.",
            "d": "A loss that counts padding is too small. Does that change what the model says?",
        },
    ),
    choice(
        "no_eval",
        "abcd",
        "2e4d7e89b6af",
        "In train mode dropout sets numbers to zero at random. Would you get a message?",
        wrong={
            "a": "Nothing warns you: train mode is a mode like the other.",
            "c": "Some of the numbers on the way are missing, others each time. Is the outcome the same?",
            "d": "Weights change when an optimiser makes a step. Is there one?",
        },
    ),
)

EXERCISE = quiz("quiz_08", "08_training", 2, QUESTIONS)
