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
        "The target loses one column but no rows.",
        wrong={
            "(32, 15)": "The decoder's input is one token shorter than the target, and each of its tokens has one "
            "label, so how many labels are there?",
            "(31, 15)": "The first axis is the batch. Is a sequence lost?",
            "(32, 13)": "One end is cut off for the labels and the other for the decoder's input, not both for either.",
            "(14,)": "The batch axis is still there.",
        },
    ),
    number(
        "blind_loss",
        lambda: math.log(50),
        0.006,
        "The loss is minus the natural logarithm of the probability that each token gets. What is that probability?",
        wrong=written(
            {
                2.64: "That is the loss for the 14 tokens of this lesson.",
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
        "Add up all the losses, then divide by the number of positions, padding included.",
        wrong=written(
            {
                2.0: "That is the honest mean, but here the sum is divided by more than the number of real labels.",
                0.6667: "The sum is divided by the number of all positions, not of the padding alone.",
                12.0: "That is the sum.",
            }
        ),
    ),
    number(
        "peak_step",
        _peak,
        0,
        "As the step grows, one of the two terms rises and the other falls. At which step do they meet?",
        wrong=written(
            {
                1.0: "At step 1 the warm-up has only just begun.",
                256.0: "That is the width, which makes all rates smaller but doesn't move the peak.",
                4000.0: "That is the paper's warm-up, but which one is given here?",
                801.0: "That is one too many. At which step does the rate stop rising?",
                799.0: "That is one step too early. At which step does the rate stop rising?",
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
                20.0: "One of these 20 columns is there from the start.",
                21.0: "bos is one of the 20 columns.",
                18.0: "eos has to be written too, so only one column needs no call.",
                1.0: "One call is enough if the decoder is given the right answer, but here it has to write it.",
            }
        ),
    ),
    number(
        "matches",
        _matches,
        0.005,
        "Cut every row after its first 2, and leave rows without a 2 as they are. Which pairs are equal then?",
        wrong=written(
            {
                0.75: "That is the fraction of equal tokens, or one pair too many. Look at the last row again.",
                0.25: "In the first row, prediction and target differ after eos, but does that matter?",
                1.0: "Look at the second row, where only one of the two sequences has ended.",
                2.0: "That is the number of equal rows, but what fraction of the rows is it?",
            }
        ),
    ),
    choice(
        "too_good",
        "abcd",
        "610f3c0bf802",
        "The model has learnt to repeat what it was given. Where does it get the answer from?",
        wrong={
            "a": "A learning rate that is too low makes the loss fall too slowly. Is that so here?",
            "b": "Padding makes the loss smaller, but not as small as this. What else could be so easy to predict?",
            "d": "Without the source the model could only guess, and the loss would stay high.",
        },
    ),
    choice(
        "forced",
        "abcd",
        "29e81a1d560f",
        "What can the model see with teacher forcing that it can't see when it is free-running?",
        wrong={
            "b": "With teacher forcing all dates are right already, so what would more steps change?",
            "c": "Then the model would get them right when free-running too, since it would know them by heart.",
            "d": "A loss that counts padding is too small, but does that change what the model predicts?",
        },
    ),
    choice(
        "no_eval",
        "abcd",
        "2e4d7e89b6af",
        "In train mode dropout sets numbers to zero at random, but would anything raise an error or warn you?",
        wrong={
            "a": "You get no warning, since train mode is as valid as eval mode.",
            "c": "Some of the numbers on the way are set to zero, and different ones each time. Is the outcome the "
            "same?",
            "d": "Weights change when an optimiser takes a step, but does any optimiser run here?",
        },
    ),
)

EXERCISE = quiz("quiz_08", "08_training", 2, QUESTIONS)
