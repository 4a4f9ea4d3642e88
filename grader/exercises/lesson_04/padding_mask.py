"""`padding_mask`: no token attends to padding."""

from __future__ import annotations

from torch import Tensor

from grader.exercises.lesson_04 import shared
from grader.spec import parts
from grader.spec.session import Session
from grader.spec.spec import Spec, When, by_id

spec = Spec(__name__, shared.mistake)


def is_token(tokens: Tensor, pad_idx: int) -> Tensor:
    """Which entries of `tokens` are not padding: bool, (B, T)."""
    return tokens != pad_idx


def _one_answer(session: Session) -> bool:
    raised = session.call(session.cases[shared.TOKENS]).raised
    return raised is not None and not raised.deliberate and "'bool' object" in raised.message


EXERCISE = spec.exercise(
    shared.padding,
    points=2,
    outputs={"mask": "B 1 1 T"},
    cases=shared.batches,
    parts=(
        parts.shape(shared.TOKENS),
        parts.values("is True for tokens, False for padding", 3, shared.TOKENS, shared.NO_PADDING),
        parts.values("works for any pad_idx, wherever the padding is", 2, shared.TOKENS, *shared.ANYWHERE),
        shared.is_bool(shared.TOKENS),
        parts.unchanged(shared.TOKENS, weight=0.5),
    ),
    mistakes={
        "mask-inverted": shared.as_key(shared.is_padding),
        "mask-on-query-axis": tuple(
            lambda tokens, pad_idx, f=f: f(tokens, pad_idx)[:, None, :, None] for f in (is_token, shared.is_padding)
        ),
        "missing-axes": tuple(
            lambda tokens, pad_idx, f=f, axes=axes: f(tokens, pad_idx).reshape(len(tokens), *axes, tokens.shape[1])
            for f in (is_token, shared.is_padding)
            for axes in ((), (1,))
        ),
        "axes-misplaced": tuple(
            lambda tokens, pad_idx, f=f, at=at: f(tokens, pad_idx)[at]
            for f in (is_token, shared.is_padding)
            for at in ((None, None), (slice(None), slice(None), None, None), (None, slice(None), None))
        ),
        "stretched-already": lambda tokens, pad_idx: shared.padding(tokens, pad_idx).expand(
            -1, -1, tokens.shape[1], -1
        ),
        "padded-queries-hidden": lambda tokens, pad_idx: (
            shared.padding(tokens, pad_idx) & shared.padding(tokens, pad_idx).mT
        ),
        "compared-by-size": (
            shared.as_key(lambda tokens, pad_idx: tokens > pad_idx),
            shared.as_key(lambda tokens, pad_idx: tokens < pad_idx),
            shared.as_key(lambda tokens, pad_idx: tokens >= pad_idx),
            shared.as_key(lambda tokens, pad_idx: tokens <= pad_idx),
        ),
        "one-answer-for-all": When(_one_answer),
        "pad-idx-ignored": (shared.as_key(lambda tokens, _: tokens != 0), shared.as_key(lambda tokens, _: tokens > 0)),
        **by_id(shared.NOT_BOOL, shared.MASK_AS_CONDITION),
    },
)
