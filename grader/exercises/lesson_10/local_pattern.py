"""`local_pattern`: every token attends to its neighbours, all with the same weight."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from grader.exercises.lesson_06.shared import default_dtype
from grader.spec import parts
from grader.spec.draw import Draw
from grader.spec.exercise import Case
from grader.spec.session import Session
from grader.spec.spec import Spec, When

spec = Spec(__name__)

Weigh = Callable[[int, int], Tensor]
FEW, WIDE = "radius 1", "a wider radius"
REST = (
    "radius 0",
    "a radius one short of the length",
    "a radius as long as the sequence",
    "a radius more than twice as long",
    "a single token",
)


def local(seq_len: int, radius: int) -> Tensor:
    """The right pattern, weights (seq_len, seq_len), row by row: the tokens within the radius have equal shares, the
    others none."""
    rows = []
    for query in range(seq_len):
        near = [key for key in range(seq_len) if abs(query - key) <= radius]
        rows.append([1 / len(near) if key in near else 0.0 for key in range(seq_len)])
    return torch.tensor(rows, dtype=torch.float64)


def _cases(draw: Draw) -> list[Case]:
    """The cases of a check: long enough for the middle rows to have all their neighbours, and for a wrapped band to
    leave tokens out."""
    radius = 2 + draw.integer(0, 2)
    sizes = draw.sizes("T", T2=2 * radius + 4 + draw.integer(0, 3))
    few = max(sizes["T"], 6)

    def case(name: str, seq_len: int, radius: int, comparable: bool = True) -> Case:
        return Case(name, {"seq_len": seq_len, "radius": radius}, {"T": seq_len}, comparable=comparable)

    return [
        case(FEW, few + (few == sizes["T2"]), 1),
        case(WIDE, sizes["T2"], radius),
        case(REST[0], 5, 0, comparable=False),  # without the token itself no token is left
        # In the next three a row is all of the sequence. A band that is cut out, or a diagonal that isn't there, fails.
        case(REST[1], 5, 4, comparable=False),
        case(REST[2], 4, 4, comparable=False),
        case(REST[3], 3, 7 + draw.integer(0, 3), comparable=False),
        case(REST[4], 1, 1, comparable=False),
    ]


def _distances(seq_len: int) -> Tensor:
    """The position of the key minus that of the query, (seq_len, seq_len)."""
    positions = torch.arange(seq_len)
    return positions - positions[:, None]


def _near(seq_len: int, radius: int) -> Tensor:
    return (_distances(seq_len).abs() <= radius).double()


def _around(seq_len: int, radius: int) -> Tensor:
    """A wrong band, (seq_len, seq_len) of zeros and ones, that treats the last token as the one before the first."""
    distance = _distances(seq_len).abs()
    return (torch.minimum(distance, seq_len - distance) <= radius).double()


def _others(seq_len: int, radius: int) -> Tensor:
    return _near(seq_len, radius) - torch.eye(seq_len)


def _backwards(seq_len: int, radius: int) -> Tensor:
    distance = _distances(seq_len)
    return ((distance <= 0) & (distance >= -radius)).double()


def _rows_to_one(band: Weigh) -> Weigh:
    return lambda n, r: band(n, r) / band(n, r).sum(-1, keepdim=True)


def _by(band: Weigh, count: Callable[[int], float]) -> Weigh:
    return lambda n, r: band(n, r) / count(r)


def _falling_off(seq_len: int, radius: int) -> Tensor:
    """A wrong band, (seq_len, seq_len) of zeros and ones, that leaves the end out, as Python's `range` does: it has one
    neighbour too few on the right."""
    distance = _distances(seq_len)
    return ((distance >= -radius) & (distance < radius)).double()


def _left_around(seq_len: int, radius: int) -> Tensor:
    """A wrong band, (seq_len, seq_len) of zeros and ones, made with negative indices: it goes round at the left end and
    is cut at the right one."""
    distance = _distances(seq_len)
    return ((distance.abs() <= radius) | (distance >= seq_len - radius)).double()


def _sliced(seq_len: int, radius: int) -> Tensor:
    """A wrong band, (seq_len, seq_len) of zeros and ones: a slice of each row whose start may be negative, which counts
    from the end, so that the row loses its beginning or is empty."""
    band = torch.zeros(seq_len, seq_len, dtype=torch.float64)
    for row in range(seq_len):
        band[row, row - radius : row + radius + 1] = 1
    return band


def _farthest(seq_len: int, radius: int) -> Tensor:
    return (_distances(seq_len).abs() == radius).double()


def _beyond_the_end(session: Session) -> bool:
    raised = [session.call(case).raised for case in session.real_cases()]
    return any(error is not None and "IndexError" in error.types for error in raised)


def _full(radius: int) -> float:
    return 2 * radius + 1


EXERCISE = spec.exercise(
    local,
    points=3,
    outputs={"weights": "T T"},
    cases=_cases,
    parts=(
        parts.shape(FEW),
        parts.values("divides each row equally among the token and its neighbours", 3, FEW),
        parts.values("works for a wider radius", 2, FEW, WIDE),
        parts.values("works at the extremes: radius 0, one token, all tokens within the radius", 1, FEW, *REST),
        default_dtype(FEW),
    ),
    mistakes={
        "edges-not-normalised": (_by(_near, _full), _by(_near, lambda _: 3.0)),
        "not-normalised": _near,
        "divided-by-another-number": (
            *(_by(_near, count) for count in (lambda r: r or 1, lambda r: 2 * r or 1, lambda r: r + 1)),
            lambda n, r: _near(n, r) / _near(n, r).sum(),
            lambda n, r: _near(n, r) / n,
        ),
        "softmax-of-band": lambda n, r: _near(n, r).softmax(-1),
        "wraps-around": (
            *(_rows_to_one(_around), _by(_around, _full), _around),
            *(_rows_to_one(_left_around), _by(_left_around, _full), _left_around),
        ),
        "slice-from-the-end": (_sliced, _rows_to_one(_sliced), _by(_sliced, _full)),
        "edges-not-cut": When(_beyond_the_end),
        "band-inverted": (
            lambda n, r: (1 - _near(n, r)) / (1 - _near(n, r)).sum(-1, keepdim=True).clamp(min=1),
            _rows_to_one(lambda n, r: 1 - _near(n, r)),
        ),
        "only-the-farthest": (_rows_to_one(_farthest), _by(_farthest, lambda _: 2.0), _by(_farthest, _full), _farthest),
        "band-open": tuple(
            _rows_to_one(lambda n, r, lower=lower: torch.ones(n, n).tril(r) if lower else torch.ones(n, n).triu(-r))  # type: ignore[misc]
            for lower in (True, False)
        ),
        "self-left-out": (_rows_to_one(_others), _by(_others, lambda r: 2 * r), _by(_others, _full), _others),
        "columns-normalised": lambda n, r: _near(n, r) / _near(n, r).sum(0, keepdim=True),
        "one-side-only": tuple(
            form(side)
            for side in (_backwards, lambda n, r: _backwards(n, r).mT)
            for form in (_rows_to_one, lambda band: _by(band, _full))
        ),
        "radius-ignored": (
            _rows_to_one(lambda n, _: _near(n, 1)),
            lambda n, _: _near(n, 1) / 3,
            _rows_to_one(lambda n, _: _around(n, 1)),
        ),
        "one-neighbour-short": (
            _rows_to_one(_falling_off),
            _by(_falling_off, _full),
            _rows_to_one(lambda n, r: _near(n, r - 1)),
            _rows_to_one(lambda n, r: _falling_off(n, r).mT),
        ),
        "one-neighbour-too-many": (
            _rows_to_one(lambda n, r: _near(n, r + 1)),
            lambda n, r: _near(n, r + 1) / (2 * r + 3),
        ),
        "nearer-counts-more": (
            _rows_to_one(lambda n, r: (r + 1 - _distances(n).abs()).clamp(min=0).double()),
            lambda n, r: (_near(n, r).log() - _distances(n).abs()).softmax(-1),
            _rows_to_one(lambda n, r: _near(n, r) * math.e ** (-_distances(n).abs().double() / max(r, 1))),
        ),
    },
)
