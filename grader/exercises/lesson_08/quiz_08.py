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
            "(32, 15)": "The decoder is given one token fewer than there are, so how many are left to be said?",
            "(31, 15)": "The first axis is the batch. Does a sequence get lost?",
            "(32, 13)": "One end is cut off for the labels and the other for the decoder's input, not both for one.",
            "(14,)": "The batch is still there.",
        },
    ),
    number(
        "blind_loss",
        lambda: math.log(50),
        0.006,
        "The loss is minus the natural logarithm of the probability that each token gets. What is that probability?",
        wrong=written(
            {
                2.64: "That is for the 14 tokens of this lesson.",
                5.64: "That is the logarithm to the base 2, but cross-entropy takes the natural one.",
                1.7: "That is the logarithm to the base 10, but cross-entropy takes the natural one.",
                0.02: "That is the probability, but what is the loss?",
                50.0: "That is the number of tokens. What probability does each have, and what is the loss?",
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
                2.0: "That is the honest mean, but they divide by more than the real labels.",
                0.6667: "They divide by all of the columns, not by those of the padding alone.",
                12.0: "That is the sum.",
            }
        ),
    ),
    number(
        "peak_step",
        _peak,
        0,
        "One of the two terms rises and the other falls. Where do they meet?",
        wrong=written(
            {
                1.0: "There the warm-up has only begun.",
                256.0: "That is the width, which makes all rates smaller but doesn't move the peak.",
                4000.0: "That is the paper's warm-up, but which one is given here?",
                801.0: "That is one too many. At which step does the rate stop rising?",
                799.0: "That is one too few. At which step does the rate stop rising?",
            }
        ),
    ),
    number(
        "calls",
        _calls,
        0,
        "Each call writes one column, but which column is there before the first call?",
        wrong=written(
            {
                20.0: "One of these columns is there from the start.",
                21.0: "bos counts as a column.",
                18.0: "eos has to be written too, so only one column needs no call.",
                1.0: "One call is enough where the right answer is given, but here it has to be written.",
            }
        ),
    ),
    number(
        "matches",
        _matches,
        0.005,
        "Cut every row after its first 2, and leave those without one. Which pairs are equal then?",
        wrong=written(
            {
                0.75: "That is the fraction of equal tokens, or one pair too many. Look at the last row once more.",
                0.25: "In the first row the two differ after eos, but does that matter?",
                1.0: "Look at the second row, where one of the two has ended and the other hasn't.",
                2.0: "That is the number of equal rows, but what fraction of the rows is it?",
            }
        ),
    ),
    choice(
        "too_good",
        "abcd",
        "610f3c0bf802",
        "It has learnt to repeat what it was given. Where does it get the answer from?",
        wrong={
            "a": "A learning rate that is too low makes the loss fall too slowly. Is that so here?",
            "b": "Padding makes the loss smaller, but not next to nothing. What else could be so easy to predict?",
            "d": "Without the source it could only guess, and the loss would stay high.",
        },
    ),
    choice(
        "forced",
        "abcd",
        "29e81a1d560f",
        "What can the model see with teacher forcing that isn't there when it writes by itself?",
        wrong={
            "b": "With teacher forcing all of them are right already, so what would more steps change?",
            "c": "Then it would write them well, too, since it would know them by heart.",
            "d": "A loss that counts padding is too small, but does that change what the model predicts?",
        },
    ),
    choice(
        "no_eval",
        "abcd",
        "2e4d7e89b6af",
        "In train mode dropout sets numbers to zero at random, but would you get a message?",
        wrong={
            "a": "You get no warning, since train mode is as valid as eval mode.",
            "c": "Some of the numbers on the way are set to zero, and others each time. Is the outcome the same?",
            "d": "Weights change when an optimiser takes a step, but is there one?",
        },
    ),
)

EXERCISE = quiz("quiz_08", "08_training", 2, QUESTIONS)
