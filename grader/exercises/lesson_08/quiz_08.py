"""The quiz of lesson 08: numbers and shapes are computed here, letters are known by their digest only."""

from __future__ import annotations

import torch

from grader.exercises.lesson_08.exact_match import share_of_right_rows
from grader.exercises.lesson_08.noam_rate import learning_rate
from grader.spec.answers import choice, number, written
from grader.spec.spec import Spec


def _diluted() -> float:
    return 6 * 2.0 / (6 + 18)


def _half_peak() -> float:
    peak = learning_rate(800, 256, 800)
    return next(step for step in range(801, 9999) if learning_rate(step, 256, 800) <= peak / 2 * (1 + 1e-9))


def _calls() -> float:
    return len(range(1, 20))  # column 0 is bos


def _matches() -> float:
    predicted = torch.tensor([[5, 2, 7], [5, 6, 2], [5, 6, 7], [8, 2, 2]])
    target = torch.tensor([[5, 2, 2], [5, 6, 7], [5, 6, 7], [8, 9, 2]])
    return share_of_right_rows(predicted, target, 2)


QUESTIONS = (
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
        "half_peak",
        _half_peak,
        0,
        "After the peak only the step's own term counts, and it falls with the root of the step. By what factor does a "
        "number have to grow so that its root doubles?",
        wrong=written(
            {
                800.0: "That is the peak itself. Where is the rate half as high again?",
                1600.0: "At twice the step the rate is the peak's divided by the root of 2. How far is it to half?",
                400.0: "That is on the way up, but the question is about the way down.",
                16000.0: "That would be so with the paper's warm-up of 4000, but which one is given here?",
                2400.0: "So many steps after the peak, but the steps are counted from the start.",
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
    number(
        "whole_dates",
        lambda: 0.99**11,
        0.005,
        "All of the eleven tokens have to be right. With what probability are the first two right?",
        wrong=written(
            {
                0.99: "That is the fraction of tokens, but a date is right only if all of its tokens are.",
                0.11: "That is about the fraction of dates with a mistake.",
                0.1: "That is about the fraction of dates with a mistake.",
            }
        ),
    ),
    choice(
        "by_heart",
        "abcd",
        "51f89a677eba",
        "Compare the figures in pairs. Which two agree, which two don't, and which data does each of them come from?",
        wrong={
            "a": "Then the forced accuracy would be near 100 % and the free-running one near 0, but here they agree.",
            "c": "Padding makes the reported loss small, but why should training dates and held-out ones differ then?",
            "d": "A model that repeats what it is given writes no date at all when it is free-running.",
        },
    ),
)

EXERCISE = Spec(__name__).quiz(2, QUESTIONS)
