"""`sinusoidal_encoding` (Vaswani et al. 2017, section 3.5)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from grader.exercises.lesson_06.shared import LESSON, Refused, default_dtype, refuses
from grader.spec import parts
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Exercise, Mistake, Output
from grader.spec.session import Session

Wave = Callable[[float], float]
Exponent = Callable[[int, int], float]


def pairwise(column: int, d_model: int) -> float:
    """Rightly: columns 2i and 2i + 1 share the exponent 2i / d_model."""
    return 2 * (column // 2) / d_model


@dataclass(frozen=True)
class SinusoidVariant:
    """The formula, entry by entry, with the given parts changed."""

    exponent: Exponent = pairwise
    waves: tuple[Wave, Wave] = (math.sin, math.cos)
    start: int = 0
    sign: int = -1
    halves: bool = False

    def __call__(self, seq_len: int, d_model: int) -> Tensor:
        # The column of the interleaved arrangement that stands at each place.
        order = [*range(0, d_model, 2), *range(1, d_model, 2)] if self.halves else range(d_model)
        rows = [[self._entry(t + self.start, j, d_model) for j in order] for t in range(seq_len)]
        return torch.tensor(rows, dtype=torch.float64)

    def _entry(self, position: int, column: int, d_model: int) -> float:
        rate = 10000.0 ** (self.sign * self.exponent(column, d_model))
        return self.waves[column % 2](position * rate)


def _times(factor: float) -> Exponent:
    """The exponent times a factor, as another base has it."""
    return lambda column, d_model: factor * pairwise(column, d_model)


def _rounded(column: int, d_model: int) -> float:
    """-log(10000) * 2i / d_model // 2, as Python reads it."""
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
    """All sines, then all cosines, cut into rows anew."""
    right = SinusoidVariant()(seq_len, d_model)
    return torch.stack([right[:, 0::2], right[:, 1::2]]).reshape(seq_len, d_model)


SMALL, LONG, PAIR = "a few positions", "more and wider", "two columns"
ODD = (5, 7, 11)


def _cases(draw: Draw) -> list[Case]:
    """Mistakes are recognised on few positions: with a wrong frequency an angle can be too large for float32."""
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
    "Which of your lines asks whether `d_model` is odd? It has to come before anything is computed.",
    "What is left over when an odd number is divided by 2? `raise ValueError(...)` takes the message.",
)


def _odd_widths(session: Session) -> list[Refused]:
    return [Refused((4, d), f"`sinusoidal_encoding` was called with d_model = {d}, which is odd.") for d in ODD]


EXERCISE = Exercise(
    name="sinusoidal_encoding",
    lesson=LESSON,
    points=3,
    signature=("seq_len", "d_model"),
    outputs=(Output("encoding", "T E"),),
    cases=_cases,
    reference=SinusoidVariant(),
    parts=(
        parts.shape(SMALL),
        parts.values("has sine in even and cosine in odd columns, each pair with its frequency", 3, SMALL),
        parts.values("works for other lengths and widths", 2, LONG, PAIR, "one position"),
        default_dtype(SMALL),
        refuses("raises ValueError for an odd d_model", 1, SMALL, _odd_widths, NOT_EVEN),
    ),
    mistakes=(
        Mistake(
            "exponent-doubled",
            "the speeds fall too fast from pair to pair: the exponent is twice what it should be.",
            (
                "For d_model = 6 the three exponents are 0, 2/6 and 4/6. Print yours.",
                "`torch.arange(0, d_model, 2)` already counts 0, 2, 4, …: that is 2i, not i.",
            ),
            (SinusoidVariant(lambda j, d: 4 * (j // 2) / d),),
        ),
        Mistake(
            "exponent-halved",
            "the speeds fall too slowly from pair to pair: the exponent is half of what it should be.",
            (
                "For d_model = 6 the three exponents are 0, 2/6 and 4/6. Print yours.",
                "The formula has 2i above the fraction line, and i counts the pairs.",
            ),
            (SinusoidVariant(lambda j, d: j // 2 / d),),
        ),
        Mistake(
            "frequency-per-column",
            "every column has a speed of its own; the two columns of a pair should share one.",
            (
                "Square columns 0 and 1 of one row and add them, then columns 2 and 3. What should come out?",
                "Columns 2 and 3 are the sine and the cosine of the *same* angle. Which i do they both have?",
            ),
            tuple(
                SinusoidVariant(exponent)
                for exponent in (
                    lambda j, d: j / d,
                    lambda j, d: (j + j % 2) / d,
                    lambda j, d: 2 * j / d,
                    lambda j, d: 2 * (j + j % 2) / d,
                )
            ),
        ),
        Mistake(
            "frequency-multiplied",
            "the positions are multiplied by 10000^(2i/d_model); they should be divided by it.",
            (
                "Compare row 1 with row 2 in the last columns: should they differ by much there?",
                "Later columns turn more slowly. Does your factor grow or shrink with i?",
            ),
            (SinusoidVariant(sign=1),),
        ),
        Mistake(
            "sin-cos-swapped",
            "sine and cosine have changed places.",
            (
                "Print row 0. Where are its zeros and its ones?",
                "sin(0) is 0 and cos(0) is 1. Which of the two should stand in column 0?",
            ),
            (SinusoidVariant(waves=(math.cos, math.sin)),),
        ),
        Mistake(
            "halves-instead-of-interleaved",
            "all sines come first and all cosines after them; here they alternate. Both arrangements are in use.",
            (
                "Look at row 0 of got and of expected: where are the zeros?",
                "Columns 0, 2, 4, … can be assigned at once: a slice with a step, `encoding[:, 0::2]`.",
            ),
            (
                SinusoidVariant(halves=True),
                SinusoidVariant(waves=(math.cos, math.sin), halves=True),
                SinusoidVariant(lambda j, d: j // 2 / (d // 2 - 1), halves=True),  # as in tensor2tensor
            ),
        ),
        Mistake(
            "starts-at-one",
            "the first row is that of position 1; positions count from 0.",
            (
                "Row 0 should hold sin(0) and cos(0). What does yours hold?",
                "Print your positions for seq_len = 4. Where do they begin?",
            ),
            (SinusoidVariant(start=1),),
        ),
        Mistake(
            "another-base",
            "the speeds are made with another base than 10000.",
            (
                "For d_model = 4 the second pair turns by 0.01 from row to row. By how much does yours?",
                "If you use `exp` and `log`: is it the natural logarithm, of 10000?",
            ),
            tuple(
                SinusoidVariant(_times(factor))
                for factor in (
                    0.25,
                    math.log(1000, 10000),
                    math.log(100_000, 10000),
                    math.log10(10000) / math.log(10000),
                )
            ),
        ),
        Mistake(
            "exponent-rounded",
            "the exponents are whole numbers; they should be fractions between 0 and 1.",
            (
                "For d_model = 6 the three exponents are 0, 2/6 and 4/6. Print yours.",
                "`//` rounds down. Is there one in your exponent, or no exponent at all?",
            ),
            (SinusoidVariant(lambda j, d: pairwise(j, d) // 1), SinusoidVariant(_rounded)),
        ),
        Mistake(
            "one-wave-only",
            "all columns have the same wave; odd columns should have the cosine.",
            ("Print row 0: sin(0) is 0 and cos(0) is 1.", "Which of the two functions does your code never call?"),
            (SinusoidVariant(waves=(math.sin, math.sin)), SinusoidVariant(waves=(math.cos, math.cos))),
        ),
        Mistake(
            "waves-by-row",
            "sine and cosine alternate from row to row; they should alternate from column to column.",
            (
                "Print row 0: where are its zeros and its ones?",
                "What is even or odd in the formula: the position or the column?",
            ),
            (_waves_by_row,),
        ),
        Mistake(
            "divided-by-length",
            "the exponent is divided by the number of positions; it should be divided by d_model.",
            ("Call it with two lengths. Should row 1 change?", "Which number is below 2i in the formula?"),
            (_by_length,),
        ),
        Mistake(
            "positions-scaled",
            "the positions are divided by their number, so they lie between 0 and 1.",
            (
                "Print the angles of the first pair. By how much should they grow from row to row?",
                "Row 3 is position 3, however long the sequence is.",
            ),
            (lambda n, d: _scaled_positions(n, d, n), lambda n, d: _scaled_positions(n, d, max(n - 1, 1))),
        ),
        Mistake(
            "reshaped-instead-of-interleaved",
            "sines and cosines are stacked on a wrong axis, so rows get mixed up.",
            (
                "Print the first row: what should stand next to sin(0)?",
                "Stack a numbered sine table and a numbered cosine table, and look at which entries become neighbours.",
            ),
            (_stacked_in_front,),
        ),
    ),
)
