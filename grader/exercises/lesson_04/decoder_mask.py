"""`decoder_mask`: the causal mask and the padding mask in one."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from grader.exercises.lesson_04 import shared
from grader.spec import parts
from grader.spec.spec import Spec, by_id

spec = Spec(__name__, shared.mistake)


def decoder(tokens: Tensor, pad_idx: int) -> Tensor:
    """(B, T) → (B, 1, T, T), bool: a key is visible if it is a token, not padding, and not in the future."""
    return torch.logical_and(shared.padding(tokens, pad_idx), shared.causal(tokens.shape[1]))


def _joined(
    make: shared.Make, visible: shared.Masking, join: Callable[[Tensor, Tensor], Tensor] = torch.logical_and
) -> shared.Masking:
    return lambda tokens, pad_idx: join(visible(tokens, pad_idx), make(tokens.shape[1]))


def _future_only(tokens: Tensor, _pad_idx: int) -> Tensor:
    return shared.causal(tokens.shape[1]).expand(len(tokens), 1, -1, -1)


def _padding_only(tokens: Tensor, pad_idx: int) -> Tensor:
    return shared.padding(tokens, pad_idx).expand(-1, 1, tokens.shape[1], -1)


def _queries(tokens: Tensor, pad_idx: int) -> Tensor:
    return shared.padding(tokens, pad_idx).mT


def _both_axes(tokens: Tensor, pad_idx: int) -> Tensor:
    return shared.padding(tokens, pad_idx) & _queries(tokens, pad_idx)


EXERCISE = spec.exercise(
    decoder,
    points=3,
    outputs={"mask": "B 1 T T"},
    cases=shared.batches,
    parts=(
        parts.shape(shared.TOKENS),
        parts.values("hides the future where there is no padding", 2, shared.NO_PADDING),
        parts.values("hides the future and padded keys", 3, shared.TOKENS),
        parts.values("works for any pad_idx, wherever the padding is", 1, shared.TOKENS, *shared.ANYWHERE),
        shared.is_bool(shared.TOKENS),
        parts.unchanged(shared.TOKENS, weight=0.5),
    ),
    mistakes={
        "or-instead-of-and": _joined(shared.causal, shared.padding, torch.logical_or),
        "padding-forgotten": (
            _future_only,
            lambda t, p: shared.causal(t.shape[1]),
            lambda t, p: shared.causal(t.shape[1])[None, None],
        ),
        "causal-forgotten": (_padding_only, shared.padding),
        "mask-inverted": (
            lambda t, p: ~decoder(t, p),
            *(_joined(shared.triangle(d, upper=True), shared.padding) for d in (1, 0)),
            *(_joined(shared.triangle(d, upper=True), shared.as_key(shared.is_padding)) for d in (1, 0)),
            _joined(shared.causal, shared.as_key(shared.is_padding)),
        ),
        "padded-queries-hidden": _joined(shared.causal, _both_axes),
        "missing-axes": (
            lambda t, p: (t != p)[:, None] & shared.causal(t.shape[1]),
            lambda t, p: (t != p)[None, :, None] & shared.causal(t.shape[1]),
        ),
        "equality-instead-of-and": _joined(shared.causal, shared.padding, torch.eq),
        "mask-on-query-axis": _joined(shared.causal, _queries),
        "diagonal-hidden": _joined(shared.triangle(-1), shared.padding),
        "one-future-token-visible": _joined(shared.triangle(1), shared.padding),
        "pad-idx-ignored": _joined(shared.causal, shared.as_key(lambda tokens, _: tokens != 0)),
        **by_id(shared.NOT_BOOL, shared.MASK_AS_CONDITION),
    },
    builds_on=("causal_mask", "padding_mask"),
)
