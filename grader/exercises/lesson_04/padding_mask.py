"""`padding_mask`: no token attends to padding."""

from __future__ import annotations

from torch import Tensor

from grader.exercises.lesson_04.shared import (
    ANYWHERE,
    AXES_MISPLACED,
    INVERTED,
    LESSON,
    MASK_AS_CONDITION,
    NO_PADDING,
    NOT_BOOL,
    ON_QUERY_AXIS,
    PAD_IDX_IGNORED,
    TOKENS,
    as_key,
    batches,
    is_bool,
    is_padding,
    padding,
)
from grader.spec import parts
from grader.spec.exercise import Exercise, Mistake, Output
from grader.spec.session import Session


def is_token(tokens: Tensor, pad_idx: int) -> Tensor:
    return tokens != pad_idx


def _one_answer(session: Session) -> bool:
    raised = session.call(session.cases[TOKENS]).raised
    return raised is not None and not raised.deliberate and "'bool' object" in raised.message


EXERCISE = Exercise(
    name="padding_mask",
    lesson=LESSON,
    points=2,
    signature=("tokens", "pad_idx"),
    outputs=(Output("mask", "B 1 1 T"),),
    cases=batches,
    reference=padding,
    parts=(
        parts.shape(TOKENS),
        parts.values("is True for tokens, False for padding", 3, TOKENS, NO_PADDING),
        parts.values("works for any pad_idx, wherever the padding is", 2, TOKENS, *ANYWHERE),
        is_bool(TOKENS),
        parts.unchanged(TOKENS, weight=0.5),
    ),
    mistakes=(
        Mistake(
            "mask-inverted",
            "the mask is True for padding and False for tokens.",
            ("In this course True means *may attend*. May a query attend to padding?", INVERTED[1]),
            (as_key(is_padding),),
        ),
        Mistake(
            *ON_QUERY_AXIS,
            tuple(lambda tokens, pad_idx, f=f: f(tokens, pad_idx)[:, None, :, None] for f in (is_token, is_padding)),
        ),
        Mistake(
            "missing-axes",
            "the right places are marked, but the axes for heads and queries are missing.",
            (
                "Scores are (B, H, Tq, Tk). Write your mask's shape under it, right-aligned: what meets what?",
                "An axis of length 1 stretches to any length. Between which two axes are such axes needed?",
            ),
            tuple(
                lambda tokens, pad_idx, f=f, axes=axes: f(tokens, pad_idx).reshape(len(tokens), *axes, tokens.shape[1])
                for f in (is_token, is_padding)
                for axes in ((), (1,))
            ),
        ),
        Mistake(
            *AXES_MISPLACED,
            tuple(
                lambda tokens, pad_idx, f=f, at=at: f(tokens, pad_idx)[at]
                for f in (is_token, is_padding)
                for at in ((None, None), (slice(None), slice(None), None, None), (None, slice(None), None))
            ),
        ),
        Mistake(
            "stretched-already",
            "the mask is right, but there is a row for every query; one row for all of them is asked for.",
            (
                "Do the visible keys depend on the query here?",
                "An axis of length 1 stretches by itself. Which of your axes is longer than it needs to be?",
            ),
            (lambda tokens, pad_idx: padding(tokens, pad_idx).expand(-1, -1, tokens.shape[1], -1),),
        ),
        Mistake(
            "padded-queries-hidden",
            "padded queries are hidden as well; only keys are asked for.",
            (
                "Which shape does the exercise ask for? Is there an axis for the queries?",
                "Only keys are hidden. What comes out for a padded query is thrown away later.",
            ),
            (lambda tokens, pad_idx: padding(tokens, pad_idx) & padding(tokens, pad_idx).mT,),
        ),
        Mistake(
            "compared-by-size",
            "ids are asked whether they are larger or smaller than `pad_idx`; only the one that equals it is padding.",
            (
                "With `pad_idx=3`: which ids does your mask hide? Is the token with id 1 padding?",
                "Which comparison of Python asks whether two numbers are the same?",
            ),
            (
                as_key(lambda tokens, pad_idx: tokens > pad_idx),
                as_key(lambda tokens, pad_idx: tokens < pad_idx),
                as_key(lambda tokens, pad_idx: tokens >= pad_idx),
                as_key(lambda tokens, pad_idx: tokens <= pad_idx),
            ),
        ),
        Mistake(
            "one-answer-for-all",
            "there is one True or False for the whole table of tokens; every token needs its own.",
            (
                "Print the comparison by itself. Is it a tensor?",
                "`is` and `in` give one answer for the whole tensor. Which comparison goes entry by entry?",
            ),
            recognise=_one_answer,
        ),
        Mistake(*PAD_IDX_IGNORED, (as_key(lambda tokens, _: tokens != 0), as_key(lambda tokens, _: tokens > 0))),
        NOT_BOOL,
        MASK_AS_CONDITION,
    ),
)
