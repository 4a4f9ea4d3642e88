"""`sliding_window_mask`: a token sees itself and the few tokens before it (Beltagy et al. 2020, section 3.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from grader.exercises.lesson_04.shared import INVERTED, MASK_AS_CONDITION, NOT_BOOL, is_bool
from grader.exercises.lesson_09.shared import LESSON, one_of
from grader.spec import parts
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Exercise, Mistake, Output

ONE, ANOTHER = "one window", "another window"
EDGES = ("a window of one", "a window as long as the sequence", "a window longer than the sequence", "a single token")


def reference(seq_len: int, window: int) -> Tensor:
    """Row by row: False, then at most `window` times True up to the token itself, then False."""
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
    """A mask from how far each key is behind each query (negative: ahead), and the window."""

    def wrong(seq_len: int, window: int) -> Tensor:
        at = torch.arange(seq_len)
        return may_attend(at.unsqueeze(-1) - at, window)

    return wrong


def _blocks(seq_len: int, window: int) -> Tensor:
    """Blocks of `window` tokens that see each other backwards."""
    at = torch.arange(seq_len)
    return (at.unsqueeze(-1) // window == at // window) & (at <= at.unsqueeze(-1))


def _first_keys(seq_len: int, window: int) -> Tensor:
    """The first `window` keys, whatever the query."""
    at = torch.arange(seq_len)
    return (at < window) & (at <= at.unsqueeze(-1))


def _wrapped(seq_len: int, window: int) -> Tensor:
    """The first tokens see the last ones, as neighbours on a ring."""
    at = torch.arange(seq_len)
    return (at.unsqueeze(-1) - at) % seq_len < window


def _first_rows_empty(seq_len: int, window: int) -> Tensor:
    """Slices from `i - window + 1`, which is negative in the first rows."""
    mask = torch.zeros(seq_len, seq_len, dtype=torch.bool)
    for i in range(seq_len):
        mask[i, i - window + 1 : i + 1] = True
    return mask


ROW = "Print the mask for 6 tokens and a window of 3. How many keys should the last row show, and which?"

EXERCISE = Exercise(
    name="sliding_window_mask",
    lesson=LESSON,
    points=2,
    signature=("seq_len", "window"),
    outputs=(Output("mask", "T T"),),
    cases=_cases,
    reference=reference,
    parts=(
        parts.shape(ONE),
        parts.values("shows a token itself and the window − 1 tokens before it", 3, ONE),
        parts.values("works for other lengths and windows", 2, ONE, ANOTHER),
        parts.values("works for very short and very long windows", 1.5, ONE, *EDGES),
        is_bool(ONE),
    ),
    mistakes=(
        Mistake(
            "true-means-hidden",
            "the mask is True where a key is hidden; it should be True where a token may attend.",
            INVERTED,
            (
                _where(lambda back, window: (back < 0) | (back >= window)),
                _where(lambda back, window: (back < 0) | (back > window)),
            ),
        ),
        Mistake(
            "window-off-by-one",
            "the window is one token too long or too short: the token itself counts as one of the window.",
            (
                ROW,
                "A window of 1 holds the token alone. How many tokens before it does a window of 3 add?",
            ),
            (
                _where(lambda back, window: (back >= 0) & (back <= window)),
                _where(lambda back, window: (back >= 0) & (back < window - 1)),
            ),
        ),
        Mistake(
            "itself-hidden",
            "a token sees the tokens before it, but not itself.",
            (
                "Print the mask for a window of 1. Which keys should it show?",
                "The window ends with the token itself. Does your comparison let a distance of 0 through?",
            ),
            (
                _where(lambda back, window: (back > 0) & (back <= window)),
                _where(lambda back, window: (back > 0) & (back < window)),
            ),
        ),
        Mistake(
            "both-sides",
            "the window reaches to both sides: a token sees later tokens too.",
            (
                "Look at the first row of your mask. Which keys may token 0 attend to?",
                "An absolute distance can't tell before from after. Which of the two should the window hold?",
            ),
            (
                _where(lambda back, window: back.abs() < window),
                _where(lambda back, window: back.abs() <= window),
                _where(lambda back, window: back.abs() <= window // 2),
                _where(lambda back, window: back.abs() <= (window - 1) // 2),
                _where(lambda back, window: back.abs() < window // 2),
            ),
        ),
        Mistake(
            "looks-ahead",
            "a token sees tokens that come after it.",
            (
                "Look at the first row of your mask. Which keys may token 0 attend to?",
                "Rows belong to queries, columns to keys. In which direction do you subtract, or move the triangle?",
            ),
            (
                _where(lambda back, window: (back <= 0) & (back > -window)),
                _where(lambda back, window: (back <= 0) & (back >= -window)),
                _where(lambda back, window: back < window),
                _where(lambda back, window: back <= window),
                _where(lambda back, window: back > -window),
                _where(lambda back, window: back >= -window),
                _where(lambda back, window: (back >= -1) & (back < window)),
                _where(lambda back, window: (back >= -1) & (back < window - 1)),
            ),
        ),
        Mistake(
            "window-ignored",
            "a token sees all tokens before it, however short the window is.",
            (
                ROW,
                "The mask has two borders: one hides what comes later, one hides what is too far back. "
                "Which of them is missing?",
            ),
            (_where(lambda back, window: back >= 0),),
        ),
        Mistake(
            "wraps-around",
            "the first tokens see the last ones, as if the sequence were a ring.",
            (
                "Look at the first row of your mask. Which keys may token 0 attend to?",
                "No token comes before the first. Which columns do you reach from row 0: is any of them negative?",
            ),
            (_wrapped,),
        ),
        Mistake(
            "slice-from-the-end",
            "the first rows are empty: a slice with a negative start counts from the end.",
            (
                "Print `list(range(6))[-2:1]`. Where does this slice begin, and where does it end?",
                "At which column should the window of row 0 begin? A sequence has no token before 0.",
            ),
            (_first_rows_empty,),
        ),
        Mistake(
            "only-far-tokens",
            "the mask hides the window and shows what is too far back.",
            (
                ROW,
                "Near the diagonal the distance is small. Should a small distance be hidden or seen?",
            ),
            (
                _where(lambda back, window: back >= window),
                _where(lambda back, window: back > window),
            ),
        ),
        Mistake(
            "blocks-instead-of-window",
            "the tokens are cut into blocks of the window's length, and see nothing of the block before.",
            (
                "Look at row 3 of your mask for a window of 3. Which keys does it show?",
                "A window moves on by one with every token. What moves by more than one in your code?",
            ),
            (_blocks,),
        ),
        Mistake(
            "window-stays-at-the-start",
            "the window stays at the first tokens; it should move along with the query.",
            (
                ROW,
                "Compare the key's position with the query's, not with the beginning of the sequence.",
            ),
            (_first_keys,),
        ),
        NOT_BOOL,
        replace(
            MASK_AS_CONDITION,
            symptom="Python's `and`, `or`, `not` and chains as in `a < b < c` need one True or False; a mask is many.",
            hints=(
                "Does one line of yours hold two comparisons? A chain of them has a hidden `and`.",
                "Masks are negated and combined entry by entry. Which operators do that?",
            ),
        ),
    ),
)
