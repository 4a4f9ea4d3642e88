"""`decoder_mask`: the causal mask and the padding mask in one."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from grader.exercises.lesson_04.shared import (
    ANYWHERE,
    DIAGONAL_HIDDEN,
    INVERTED,
    LESSON,
    MASK_AS_CONDITION,
    NO_PADDING,
    NOT_BOOL,
    ON_QUERY_AXIS,
    ONE_FUTURE,
    PAD_IDX_IGNORED,
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
from grader.spec import parts
from grader.spec.exercise import Exercise, Mistake, Output


def decoder(tokens: Tensor, pad_idx: int) -> Tensor:
    """A key is visible if it is a token and not in the future."""
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
        Mistake(
            "or-instead-of-and",
            "a key is visible when it passes one of the two tests; it has to pass both.",
            (
                "Take a padded key in the past: may it be attended to? And a real token in the future?",
                "Say the rule in words, and mind the word between its two halves.",
            ),
            (_joined(causal, padding, torch.logical_or),),
        ),
        Mistake(
            "padding-forgotten",
            "the future is hidden, but padded keys are still visible.",
            (
                "Compare two rows of your mask that belong to sentences of different lengths. Should they be equal?",
                "The mask should depend on the tokens' values, not only on their number.",
            ),
            (_future_only, lambda t, p: causal(t.shape[1]), lambda t, p: causal(t.shape[1])[None, None]),
        ),
        Mistake(
            "causal-forgotten",
            "padded keys are hidden, but the future is visible.",
            (
                "Look at the first row of the mask of a sentence without padding. What may token 0 attend to?",
                "You need two masks. Which one do you have, and which one is missing?",
            ),
            (_padding_only, padding),
        ),
        Mistake(
            "mask-inverted",
            "what should be hidden is visible, and the other way round.",
            INVERTED,
            (
                lambda t, p: ~decoder(t, p),
                *(_joined(triangle(d, upper=True), padding) for d in (1, 0)),
                *(_joined(triangle(d, upper=True), as_key(is_padding)) for d in (1, 0)),
                _joined(causal, as_key(is_padding)),
            ),
        ),
        Mistake(
            "padded-queries-hidden",
            "the rows of padded queries are hidden as well; they should stay as they are.",
            (
                "Look at the last row of a padded sentence. It should show the same keys as the last real row does.",
                "Only keys are hidden. What comes out for a padded query is thrown away later, so its row may stay.",
            ),
            (_joined(causal, _both_axes),),
        ),
        Mistake(
            "missing-axes",
            "the padding's mask lacks axes of length 1, so sentences meet the wrong axis of the triangle.",
            (
                "Write the shapes of your two masks under each other, right-aligned. What meets what?",
                "The result is (B, 1, T, T). Which axes of length 1 does the mask of the padding need?",
            ),
            (
                lambda t, p: (t != p)[:, None] & causal(t.shape[1]),
                lambda t, p: (t != p)[None, :, None] & causal(t.shape[1]),
            ),
        ),
        Mistake(
            "equality-instead-of-and",
            "a key is visible where both tests give the same answer, two times No among them.",
            (
                "Take a padded key in the future: both tests say No. What does your mask say?",
                "Say the rule in words. Which operator asks for both?",
            ),
            (_joined(causal, padding, torch.eq),),
        ),
        Mistake(*ON_QUERY_AXIS, (_joined(causal, _queries),)),
        Mistake(*DIAGONAL_HIDDEN, (_joined(triangle(-1), padding),)),
        Mistake(*ONE_FUTURE, (_joined(triangle(1), padding),)),
        Mistake(*PAD_IDX_IGNORED, (_joined(causal, as_key(lambda tokens, _: tokens != 0)),)),
        NOT_BOOL,
        MASK_AS_CONDITION,
    ),
    builds_on=("causal_mask", "padding_mask"),
)
