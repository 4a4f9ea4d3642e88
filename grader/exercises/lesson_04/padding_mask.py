"""`padding_mask`: no token attends to padding."""

from __future__ import annotations

from torch import Tensor

from grader.exercises.lesson_04.shared import (
    ANYWHERE,
    LESSON,
    MASK_AS_CONDITION,
    NO_PADDING,
    NOT_BOOL,
    TOKENS,
    as_key,
    batches,
    is_bool,
    is_padding,
    padding,
)
from grader.exercises.lesson_04.shared import mistake as shared_mistake
from grader.spec import parts
from grader.spec.exercise import Exercise, Output
from grader.spec.session import Session
from grader.spec.words import Words

mistake = Words(__file__)


def is_token(tokens: Tensor, pad_idx: int) -> Tensor:
    """Which entries of `tokens` are not padding: bool, (B, T)."""
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
        mistake("mask-inverted", (as_key(is_padding),)),
        shared_mistake(
            "mask-on-query-axis",
            tuple(lambda tokens, pad_idx, f=f: f(tokens, pad_idx)[:, None, :, None] for f in (is_token, is_padding)),
        ),
        mistake(
            "missing-axes",
            tuple(
                lambda tokens, pad_idx, f=f, axes=axes: f(tokens, pad_idx).reshape(len(tokens), *axes, tokens.shape[1])
                for f in (is_token, is_padding)
                for axes in ((), (1,))
            ),
        ),
        mistake(
            "axes-misplaced",
            tuple(
                lambda tokens, pad_idx, f=f, at=at: f(tokens, pad_idx)[at]
                for f in (is_token, is_padding)
                for at in ((None, None), (slice(None), slice(None), None, None), (None, slice(None), None))
            ),
        ),
        mistake(
            "stretched-already", (lambda tokens, pad_idx: padding(tokens, pad_idx).expand(-1, -1, tokens.shape[1], -1),)
        ),
        mistake(
            "padded-queries-hidden", (lambda tokens, pad_idx: padding(tokens, pad_idx) & padding(tokens, pad_idx).mT,)
        ),
        mistake(
            "compared-by-size",
            (
                as_key(lambda tokens, pad_idx: tokens > pad_idx),
                as_key(lambda tokens, pad_idx: tokens < pad_idx),
                as_key(lambda tokens, pad_idx: tokens >= pad_idx),
                as_key(lambda tokens, pad_idx: tokens <= pad_idx),
            ),
        ),
        mistake("one-answer-for-all", recognise=_one_answer),
        shared_mistake(
            "pad-idx-ignored", (as_key(lambda tokens, _: tokens != 0), as_key(lambda tokens, _: tokens > 0))
        ),
        NOT_BOOL,
        MASK_AS_CONDITION,
    ),
)
