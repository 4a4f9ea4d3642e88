"""What the masks of lesson 04 share. They are bool, True where a query may attend to a key, as in
`F.scaled_dot_product_attention`.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from grader.sentences import say
from grader.spec import parts
from grader.spec.cases import LENGTH_ONE, length_one_sizes
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Finding, Part, not_judged
from grader.spec.session import Session
from grader.spec.words import Words
from grader.tolerance import FLOAT32

mistake = Words(__file__)

Make = Callable[[int], Tensor]


# --- references -------------------------------------------------------------------------------------------------------


def causal(seq_len: int) -> Tensor:
    """The causal mask, bool, (seq_len, seq_len), from PyTorch's own additive one, which holds 0 where a query may
    attend and -inf where it may not."""
    return nn.Transformer.generate_square_subsequent_mask(seq_len).isfinite()


def padding(tokens: Tensor, pad_idx: int) -> Tensor:
    """(B, T) → (B, 1, 1, T), bool: token by token, True unless it is padding."""
    batch, seq_len = tokens.shape
    real = [[int(token) != pad_idx for token in row] for row in tokens]
    return torch.tensor(real).reshape(batch, 1, 1, seq_len)


# --- parts and mistakes that all masks share --------------------------------------------------------------------------


def is_bool(case: str) -> Part:
    """A part that asks for a bool mask, judged on this case once its values are right."""

    def judge(session: Session) -> Finding | None:
        finding = parts.inspect_call(session, session.cases[case], FLOAT32)
        if finding is not None:
            return not_judged("values-first")
        value = session.call(session.cases[case]).value
        if value.dtype == torch.bool:
            return None
        dtype = str(value.dtype).removeprefix("torch.")
        said = say("The result of `{name}` has dtype {dtype}, expected bool.", name=session.exercise.name, dtype=dtype)
        return Finding("dtype-changed", said)

    return Part("is a bool mask", 1.5, judge)


def _means_the_same(value: Tensor, right: Tensor) -> bool:
    """Whether numbers stand for the right mask: 1 and 0, or 0 and a large negative number to add to scores."""
    additive = (value == 0) == right
    return bool(((value != 0) == right).all()) or bool((additive & (right | (value <= -1e3))).all())


def _not_bool(session: Session) -> bool:
    for case in session.real_cases():
        value, right = session.call(case).value, session.expected(case)[0]
        if not isinstance(value, Tensor) or value.dtype == torch.bool or value.shape != right.shape:
            return False
        if not _means_the_same(value, right):
            return False
    return True


NOT_BOOL = mistake("not-bool", recognise=_not_bool)


def asks_the_whole_mask(session: Session) -> bool:
    """Whether a call raised the error of a mask that is used as a condition, as in `if mask`."""
    raised = [session.call(case).raised for case in session.real_cases()]
    return any(error is not None and "more than one value is ambiguous" in error.message for error in raised)


MASK_AS_CONDITION = mistake("mask-as-condition", recognise=asks_the_whole_mask)


def triangle(diagonal: int, upper: bool = False) -> Make:
    """Makes a bool mask of the number of tokens: True on and below this diagonal or, with `upper`, on and above it. 0
    is the main diagonal, 1 the one above it."""

    def make(seq_len: int) -> Tensor:
        ones = torch.ones(seq_len, seq_len, dtype=torch.bool)
        return torch.triu(ones, diagonal) if upper else torch.tril(ones, diagonal)

    return make


# --- padding -----------------------------------------------------------------------------------------------------

TOKENS, NO_PADDING, ZERO, NOTHING = "padded at the end", "no padding", "pad_idx 0, padding anywhere", "all padding"
ANYWHERE = (ZERO, NOTHING, *LENGTH_ONE)


def batches(draw: Draw) -> list[Case]:
    """Cases of tokens, (B, T), and a pad_idx: ids above and below the padding's, among them 0 where it isn't padding.
    Of several sentences one has no padding, unless everything is padding."""
    sizes = draw.sizes("T", B=3, too_short=2)
    batch, length = sizes["B"], sizes["T"]
    pad = draw.integer(3, 6)

    def ids(pad_idx: int) -> Tensor:
        tokens = draw.integers((batch, length), 0, 12)
        tokens = torch.where(tokens == pad_idx, pad_idx + 1, tokens)
        tokens[:, 0], tokens[1, 1] = pad_idx + 2, max(pad_idx - 2, 1)
        return tokens

    ends = torch.tensor([max(length // 2, 1), length, max(length - 2, 1)])
    zero_elsewhere = ids(pad)
    zero_elsewhere[1, 1] = 0  # an id like any other here
    at_the_end = zero_elsewhere.masked_fill(torch.arange(length) >= ends.unsqueeze(1), pad)
    anywhere = ids(0)
    anywhere[0, -1] = anywhere[2, 0] = 0
    return [
        Case(TOKENS, {"tokens": at_the_end, "pad_idx": pad}, sizes),
        Case(NO_PADDING, {"tokens": ids(pad), "pad_idx": pad}, sizes),
        Case(ZERO, {"tokens": anywhere, "pad_idx": 0}, sizes),
        Case(NOTHING, {"tokens": torch.full((batch, length), pad), "pad_idx": pad}, sizes),
        *(
            Case(name, {"tokens": at_the_end[: one["B"], : one["T"]], "pad_idx": pad}, one, comparable=False)
            for name, one in length_one_sizes(sizes).items()
        ),
    ]


Masking = Callable[[Tensor, int], Tensor]


def as_key(visible: Callable[[Tensor, int], Tensor]) -> Masking:
    """A mask (B, 1, 1, T) of `visible`, which says for every token, (B, T), whether queries may attend to it."""
    return lambda tokens, pad_idx: visible(tokens, pad_idx)[:, None, None, :]


def is_padding(tokens: Tensor, pad_idx: int) -> Tensor:
    """Which entries of `tokens` are padding: bool, (B, T)."""
    return tokens == pad_idx
