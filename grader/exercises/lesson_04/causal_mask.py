"""`causal_mask`: no token attends to a later one (Vaswani et al. 2017, section 3.2.3)."""

from __future__ import annotations

import torch

from grader.exercises.lesson_04.shared import (
    DIAGONAL_HIDDEN,
    INVERTED,
    LESSON,
    LOOKS_AHEAD,
    NOT_BOOL,
    ONE_FUTURE,
    causal,
    is_bool,
    triangle,
)
from grader.spec import parts
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Exercise, Mistake, Output


def _lengths(draw: Draw) -> list[Case]:
    sizes = draw.sizes("T", "other", B=2)  # a length of 2 can't tell one hidden token from two
    sizes["other"] += 128 if draw.larger else 0  # longer than a table that a mask may be cut from
    return [
        Case("one length", {"seq_len": sizes["T"]}, {"T": sizes["T"]}),
        Case("another length", {"seq_len": sizes["other"]}, {"T": sizes["other"]}),
        Case("a single token", {"seq_len": 1}, {"T": 1}),
    ]


EXERCISE = Exercise(
    name="causal_mask",
    lesson=LESSON,
    points=2,
    signature=("seq_len",),
    outputs=(Output("mask", "T T"),),
    cases=_lengths,
    reference=causal,
    parts=(
        parts.shape("one length"),
        parts.values("is True on and below the diagonal", 3, "one length"),
        parts.values("works for other lengths", 2, "one length", "another length", "a single token"),
        is_bool("one length"),
    ),
    mistakes=(
        Mistake("mask-inverted", LOOKS_AHEAD, INVERTED, tuple(triangle(d, upper=True) for d in (1, 0, 2))),
        Mistake(*DIAGONAL_HIDDEN, (triangle(-1),)),
        Mistake(*ONE_FUTURE, (triangle(1),)),
        NOT_BOOL,
        Mistake(
            "everything-visible",
            "nothing is hidden: every token may attend to every token.",
            (
                "Look at the first row of your mask: how many True does it hold? How many should it?",
                "Which part of the square is the future? Where does your code leave it out?",
            ),
            (lambda seq_len: torch.ones(seq_len, seq_len, dtype=torch.bool),),
        ),
        Mistake(
            "only-itself",
            "every token sees only itself; it may see what came before it as well.",
            (
                "Look at the last row of your mask: how many True does it hold? How many should it?",
                "The diagonal is there. What about the cells below it?",
            ),
            (lambda seq_len: torch.eye(seq_len, dtype=torch.bool),),
        ),
    ),
)
