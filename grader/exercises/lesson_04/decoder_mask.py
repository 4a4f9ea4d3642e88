"""`decoder_mask`: the causal mask and the padding mask in one."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from grader.exercises.lesson_04.shared import (
    ANYWHERE,
    LESSON,
    MASK_AS_CONDITION,
    NO_PADDING,
    NOT_BOOL,
    TOKENS,
    Make,
    Masking,
    as_key,
    batches,
    causal,
    is_bool,
    is_padding,
    padding,
    triangle,
)
from grader.exercises.lesson_04.shared import mistake as shared_mistake
from grader.spec import parts
from grader.spec.exercise import Exercise, Output
from grader.spec.words import Words

mistake = Words(__file__)


def decoder(tokens: Tensor, pad_idx: int) -> Tensor:
    """(B, T) → (B, 1, T, T), bool: a key is visible if it is a token, not padding, and not in the future."""
    return torch.logical_and(padding(tokens, pad_idx), causal(tokens.shape[1]))


def _joined(make: Make, visible: Masking, join: Callable[[Tensor, Tensor], Tensor] = torch.logical_and) -> Masking:
    return lambda tokens, pad_idx: join(visible(tokens, pad_idx), make(tokens.shape[1]))


def _future_only(tokens: Tensor, _pad_idx: int) -> Tensor:
    return causal(tokens.shape[1]).expand(len(tokens), 1, -1, -1)


def _padding_only(tokens: Tensor, pad_idx: int) -> Tensor:
    return padding(tokens, pad_idx).expand(-1, 1, tokens.shape[1], -1)


def _queries(tokens: Tensor, pad_idx: int) -> Tensor:
    return padding(tokens, pad_idx).mT


def _both_axes(tokens: Tensor, pad_idx: int) -> Tensor:
    return padding(tokens, pad_idx) & _queries(tokens, pad_idx)


EXERCISE = Exercise(
    name="decoder_mask",
    lesson=LESSON,
    points=3,
    signature=("tokens", "pad_idx"),
    outputs=(Output("mask", "B 1 T T"),),
    cases=batches,
    reference=decoder,
    parts=(
        parts.shape(TOKENS),
        parts.values("hides the future where there is no padding", 2, NO_PADDING),
        parts.values("hides the future and padded keys", 3, TOKENS),
        parts.values("works for any pad_idx, wherever the padding is", 1, TOKENS, *ANYWHERE),
        is_bool(TOKENS),
        parts.unchanged(TOKENS, weight=0.5),
    ),
    mistakes=(
        mistake("or-instead-of-and", (_joined(causal, padding, torch.logical_or),)),
        mistake(
            "padding-forgotten",
            (_future_only, lambda t, p: causal(t.shape[1]), lambda t, p: causal(t.shape[1])[None, None]),
        ),
        mistake("causal-forgotten", (_padding_only, padding)),
        mistake(
            "mask-inverted",
            (
                lambda t, p: ~decoder(t, p),
                *(_joined(triangle(d, upper=True), padding) for d in (1, 0)),
                *(_joined(triangle(d, upper=True), as_key(is_padding)) for d in (1, 0)),
                _joined(causal, as_key(is_padding)),
            ),
        ),
        mistake("padded-queries-hidden", (_joined(causal, _both_axes),)),
        mistake(
            "missing-axes",
            (
                lambda t, p: (t != p)[:, None] & causal(t.shape[1]),
                lambda t, p: (t != p)[None, :, None] & causal(t.shape[1]),
            ),
        ),
        mistake("equality-instead-of-and", (_joined(causal, padding, torch.eq),)),
        shared_mistake("mask-on-query-axis", (_joined(causal, _queries),)),
        shared_mistake("diagonal-hidden", (_joined(triangle(-1), padding),)),
        shared_mistake("one-future-token-visible", (_joined(triangle(1), padding),)),
        shared_mistake("pad-idx-ignored", (_joined(causal, as_key(lambda tokens, _: tokens != 0)),)),
        NOT_BOOL,
        MASK_AS_CONDITION,
    ),
    builds_on=("causal_mask", "padding_mask"),
)
