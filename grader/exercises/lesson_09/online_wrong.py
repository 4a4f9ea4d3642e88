"""Wrong on purpose: attentions that walk over blocks of keys, or should, for `online_attention` to compare with."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from grader.exercises.lesson_09.shared import Attend, attention


class State(NamedTuple):
    """What is carried from block to block, for each query."""

    top: Tensor
    total: Tensor
    mixed: Tensor


Step = Callable[[State, Tensor, Tensor], State]


def walk(step: Step, divide: bool = True) -> Attend:
    """An attention over blocks of keys that takes `step` for each of them."""

    def attend(query: Tensor, key: Tensor, value: Tensor, block_size: int) -> Tensor:
        rows = query.new_zeros(*query.shape[:-1], 1)
        state = State(rows - math.inf, rows, rows * value[..., :1, :])
        for k, v in zip(key.split(block_size, -2), value.split(block_size, -2), strict=True):
            state = step(state, query @ k.mT / math.sqrt(query.shape[-1]), v)
        return state.mixed / state.total if divide else state.mixed

    return attend


def step(rescale_total: bool = True, rescale_mixed: bool = True, running: bool = True) -> Step:
    """A step that leaves out what is named; not `running`: each block has a maximum of its own."""

    def one(state: State, scores: Tensor, value: Tensor) -> State:
        top = scores.amax(-1, keepdim=True)
        if running:
            top = torch.maximum(state.top, top)
        counts, factor = (scores - top).exp(), (state.top - top).exp()
        total = state.total * (factor if rescale_total else 1.0) + counts.sum(-1, keepdim=True)
        return State(top, total, state.mixed * (factor if rescale_mixed else 1.0) + counts @ value)

    return one


def first_keys(lost: Callable[[int, int], int], empty: float) -> Attend:
    """Attention to the keys before the last block; `empty` comes back where there are none."""

    def wrong(query: Tensor, key: Tensor, value: Tensor, block_size: int) -> Tensor:
        kept = lost(key.shape[-2], block_size)
        if kept <= 0:
            return query.new_full((*query.shape[:-1], value.shape[-1]), empty)
        return attention(query, key[..., :kept, :], value[..., :kept, :])

    return wrong


def one_top(axes: int) -> Attend:
    """One maximum for the scores of the last `axes` axes: a row far below it holds only zeros, and 0/0 is NaN."""

    def wrong(query: Tensor, key: Tensor, value: Tensor, block_size: int) -> Tensor:
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        counts = torch.exp(scores - scores.amax(tuple(range(-min(axes, scores.dim()), 0)), keepdim=True))
        return counts @ value / counts.sum(-1, keepdim=True)

    return wrong


LOST = (lambda length, size: length // size * size, lambda length, size: (length - 1) // size * size)


def unscaled(query: Tensor, key: Tensor, value: Tensor, block_size: int) -> Tensor:
    return attention(query * math.sqrt(query.shape[-1]), key, value)
