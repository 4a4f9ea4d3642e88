"""`sinusoidal_encoding`: positions as sines and cosines (Vaswani et al. 2017, section 3.5)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from grader.exercises.lesson_06.shared import Refused, default_dtype, refuses
from grader.sentences import say
from grader.spec import parts
from grader.spec.draw import Draw
from grader.spec.exercise import Case
from grader.spec.session import Session
from grader.spec.spec import Spec

spec = Spec(__name__)

Wave = Callable[[float], float]
Exponent = Callable[[int, int], float]


def pairwise(column: int, d_model: int) -> float:
    """The right exponent of a column's frequency, a power of 1 / 10000: columns 2i and 2i + 1 share 2i / d_model."""
    return 2 * (column // 2) / d_model


@dataclass(frozen=True)
class SinusoidVariant:
    """The encoding (seq_len, d_model), entry by entry; right unless a field is changed."""

    exponent: Exponent = pairwise  # from a column and d_model
    waves: tuple[Wave, Wave] = (math.sin, math.cos)  # of the even and the odd columns
    start: int = 0  # the first position
    sign: int = -1  # of the exponent
    halves: bool = False  # all even columns come first

    def __call__(self, seq_len: int, d_model: int) -> Tensor:
        # The column of the interleaved arrangement that stands at each place.
        order = [*range(0, d_model, 2), *range(1, d_model, 2)] if self.halves else range(d_model)
        rows = [[self._entry(t + self.start, j, d_model) for j in order] for t in range(seq_len)]
        return torch.tensor(rows, dtype=torch.float64)

    def _entry(self, position: int, column: int, d_model: int) -> float:
        rate = 10000.0 ** (self.sign * self.exponent(column, d_model))
        return self.waves[column % 2](position * rate)


def _times(factor: float) -> Exponent:
    """The right exponent times a factor, as if the base were 10000 to the power of that factor."""
    return lambda column, d_model: factor * pairwise(column, d_model)


def _rounded(column: int, d_model: int) -> float:
    """The exponent that `-math.log(10000) * 2 * i / d_model // 2` gives: Python's `//` rounds down what stands before
    it."""
    return -(-2 * (column // 2) * math.log(10000.0) / d_model // 2) / math.log(10000.0)


def _waves_by_row(seq_len: int, d_model: int) -> Tensor:
    angles = [[t * 10000.0 ** -pairwise(j, d_model) for j in range(d_model)] for t in range(seq_len)]
    waves = (math.sin, math.cos)
    return torch.tensor([[waves[t % 2](a) for a in row] for t, row in enumerate(angles)], dtype=torch.float64)


def _by_length(seq_len: int, d_model: int) -> Tensor:
    return SinusoidVariant(lambda j, _: 2 * (j // 2) / seq_len)(seq_len, d_model)


def _scaled_positions(seq_len: int, d_model: int, by: int) -> Tensor:
    rows = [[t / by * 10000.0 ** -pairwise(j, d_model) for j in range(d_model)] for t in range(seq_len)]
    waves = (math.sin, math.cos)
    return torch.tensor([[waves[j % 2](a) for j, a in enumerate(row)] for row in rows], dtype=torch.float64)


def _stacked_in_front(seq_len: int, d_model: int) -> Tensor:
    """A wrong encoding: all sines in front of all cosines, in one long row that is cut into (seq_len, d_model)."""
    right = SinusoidVariant()(seq_len, d_model)
    return torch.stack([right[:, 0::2], right[:, 1::2]]).reshape(seq_len, d_model)


SMALL, LONG, PAIR = "a few positions", "more and wider", "two columns"
ODD = (5, 7, 11)


def _cases(draw: Draw) -> list[Case]:
    """The cases of a check. Mistakes are recognised on the short ones only: with a wrong frequency the angles of many
    positions are too large for float32."""
    few, long = 5 + 2 * draw.integer(0, 2), 17 + 2 * draw.integer(0, 9 if draw.larger else 4)
    wide = (10, 12, 14, 18)[draw.integer(0, 4)]

    def case(name: str, seq_len: int, d_model: int, comparable: bool = True) -> Case:
        return Case(
            name,
            {"seq_len": seq_len, "d_model": d_model},
            {"T": seq_len, "E": d_model},
            comparable=comparable,
        )

    return [
        case(SMALL, few, 6),
        case(LONG, long, wide, comparable=False),
        case(PAIR, few + 4, 2, comparable=False),
        case("one position", 1, 8),
    ]


NOT_EVEN = (
    "Which of your lines asks whether `d_model` is odd? That line has to come before anything is computed.",
    "What is left over when an odd number is divided by 2? `raise ValueError(...)` takes the message.",
)


def _odd_widths(session: Session) -> list[Refused]:
    words = "`sinusoidal_encoding` was called with d_model = {width}, which is odd."
    return [Refused((4, width), say(words, width=width)) for width in ODD]


EXERCISE = spec.exercise(
    SinusoidVariant(),
    points=3,
    outputs={"encoding": "T E"},
    cases=_cases,
    parts=(
        parts.shape(SMALL),
        parts.values("has sine in even and cosine in odd columns, each pair with its frequency", 3, SMALL),
        parts.values("works for other lengths and widths", 2, LONG, PAIR, "one position"),
        default_dtype(SMALL),
        refuses("raises ValueError for an odd d_model", 1, SMALL, _odd_widths, NOT_EVEN),
    ),
    mistakes={
        "exponent-doubled": SinusoidVariant(lambda j, d: 4 * (j // 2) / d),
        "exponent-halved": SinusoidVariant(lambda j, d: j // 2 / d),
        "frequency-per-column": tuple(
            SinusoidVariant(exponent)
            for exponent in (
                lambda j, d: j / d,
                lambda j, d: (j + j % 2) / d,
                lambda j, d: 2 * j / d,
                lambda j, d: 2 * (j + j % 2) / d,
            )
        ),
        "frequency-multiplied": SinusoidVariant(sign=1),
        "sin-cos-swapped": SinusoidVariant(waves=(math.cos, math.sin)),
        "halves-instead-of-interleaved": (
            SinusoidVariant(halves=True),
            SinusoidVariant(waves=(math.cos, math.sin), halves=True),
            SinusoidVariant(lambda j, d: j // 2 / (d // 2 - 1), halves=True),  # as in tensor2tensor
        ),
        "starts-at-one": SinusoidVariant(start=1),
        "another-base": tuple(
            SinusoidVariant(_times(factor))
            for factor in (
                0.25,
                math.log(1000, 10000),
                math.log(100_000, 10000),
                math.log10(10000) / math.log(10000),
            )
        ),
        "exponent-rounded": (SinusoidVariant(lambda j, d: pairwise(j, d) // 1), SinusoidVariant(_rounded)),
        "one-wave-only": (SinusoidVariant(waves=(math.sin, math.sin)), SinusoidVariant(waves=(math.cos, math.cos))),
        "waves-by-row": _waves_by_row,
        "divided-by-length": _by_length,
        "positions-scaled": (
            lambda n, d: _scaled_positions(n, d, n),
            lambda n, d: _scaled_positions(n, d, max(n - 1, 1)),
        ),
        "reshaped-instead-of-interleaved": _stacked_in_front,
    },
)
