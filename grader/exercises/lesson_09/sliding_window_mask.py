"""`sliding_window_mask`: a token sees itself and the few tokens before it (Beltagy et al. 2020, section 3.1)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from grader.exercises.lesson_04.shared import NOT_BOOL, asks_the_whole_mask, is_bool
from grader.exercises.lesson_09.shared import one_of
from grader.spec import parts
from grader.spec.draw import Draw
from grader.spec.exercise import Case
from grader.spec.spec import Spec, When, by_id

spec = Spec(__name__)

ONE, ANOTHER = "one window", "another window"
EDGES = ("a window of one", "a window as long as the sequence", "a window longer than the sequence", "a single token")


def reference(seq_len: int, window: int) -> Tensor:
    """The right mask, (seq_len, seq_len) and boolean, row by row: False, then at most `window` times True up to the
    token itself, then False."""
    seen = [range(max(at - window + 1, 0), at + 1) for at in range(seq_len)]
    return torch.tensor([[at in row for at in range(seq_len)] for row in seen])


def _cases(draw: Draw) -> list[Case]:
    length, other = one_of(draw, 7, 8), one_of(draw, 11, 13)
    sizes = (
        (ONE, length, 3),
        (ANOTHER, other, one_of(draw, 5, 6)),
        (EDGES[0], length, 1),
        (EDGES[1], length, length),
        (EDGES[2], length, length + one_of(draw, 2, 3)),
        (EDGES[3], 1, 2),
    )
    return [Case(name, {"seq_len": n, "window": window}, {"T": n}) for name, n, window in sizes]


# --- wrong on purpose -------------------------------------------------------------------------------------------------


def _where(may_attend: Callable[[Tensor, int], Tensor]) -> Callable[[int, int], Tensor]:
    """A mask (seq_len, seq_len), made by `may_attend` from how far each key is behind each query, (seq_len, seq_len)
    and negative where it is ahead, and from the window."""

    def wrong(seq_len: int, window: int) -> Tensor:
        at = torch.arange(seq_len)
        return may_attend(at.unsqueeze(-1) - at, window)

    return wrong


def _blocks(seq_len: int, window: int) -> Tensor:
    """A wrong mask: blocks of `window` tokens in which each token sees itself and those before it."""
    at = torch.arange(seq_len)
    return (at.unsqueeze(-1) // window == at // window) & (at <= at.unsqueeze(-1))


def _first_keys(seq_len: int, window: int) -> Tensor:
    """A wrong mask: of the first `window` keys each query sees those that are not ahead of it, and no other keys."""
    at = torch.arange(seq_len)
    return (at < window) & (at <= at.unsqueeze(-1))


def _wrapped(seq_len: int, window: int) -> Tensor:
    """A wrong mask in which the first tokens see the last ones, as neighbours on a ring."""
    at = torch.arange(seq_len)
    return (at.unsqueeze(-1) - at) % seq_len < window


def _first_rows_empty(seq_len: int, window: int) -> Tensor:
    """A wrong mask made of slices from `i - window + 1`, which is negative in the first rows, so that these stay
    empty."""
    mask = torch.zeros(seq_len, seq_len, dtype=torch.bool)
    for i in range(seq_len):
        mask[i, i - window + 1 : i + 1] = True
    return mask


EXERCISE = spec.exercise(
    reference,
    points=2,
    outputs={"mask": "T T"},
    cases=_cases,
    parts=(
        parts.shape(ONE),
        parts.values("shows a token itself and the window − 1 tokens before it", 3, ONE),
        parts.values("works for other lengths and windows", 2, ONE, ANOTHER),
        parts.values("works for very short and very long windows", 1.5, ONE, *EDGES),
        is_bool(ONE),
    ),
    mistakes={
        "true-means-hidden": (
            _where(lambda back, window: (back < 0) | (back >= window)),
            _where(lambda back, window: (back < 0) | (back > window)),
        ),
        "window-off-by-one": (
            _where(lambda back, window: (back >= 0) & (back <= window)),
            _where(lambda back, window: (back >= 0) & (back < window - 1)),
        ),
        "itself-hidden": (
            _where(lambda back, window: (back > 0) & (back <= window)),
            _where(lambda back, window: (back > 0) & (back < window)),
        ),
        "both-sides": (
            _where(lambda back, window: back.abs() < window),
            _where(lambda back, window: back.abs() <= window),
            _where(lambda back, window: back.abs() <= window // 2),
            _where(lambda back, window: back.abs() <= (window - 1) // 2),
            _where(lambda back, window: back.abs() < window // 2),
        ),
        "looks-ahead": (
            _where(lambda back, window: (back <= 0) & (back > -window)),
            _where(lambda back, window: (back <= 0) & (back >= -window)),
            _where(lambda back, window: back < window),
            _where(lambda back, window: back <= window),
            _where(lambda back, window: back > -window),
            _where(lambda back, window: back >= -window),
            _where(lambda back, window: (back >= -1) & (back < window)),
            _where(lambda back, window: (back >= -1) & (back < window - 1)),
        ),
        "window-ignored": _where(lambda back, window: back >= 0),
        "wraps-around": _wrapped,
        "slice-from-the-end": _first_rows_empty,
        "only-far-tokens": (
            _where(lambda back, window: back >= window),
            _where(lambda back, window: back > window),
        ),
        "blocks-instead-of-window": _blocks,
        "window-stays-at-the-start": _first_keys,
        **by_id(NOT_BOOL),
        "mask-as-condition": When(asks_the_whole_mask),
    },
)
