"""What lessons compare at several learning rates, where that takes too long to measure while a learner waits.

`benchmarks/sweeps.py` measures, and writes `sweeps.json`; the lessons show what is stored there.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import mean

STORED = Path(__file__).parent / "sweeps.json"


@dataclass(frozen=True)
class Measured:
    """A comparison of several ways, each trained at several rates from several starts."""

    ways: tuple[str, ...]
    rates: tuple[float, ...]
    steps: int
    figures: tuple[tuple[tuple[float, ...], ...], ...]  # of each way, at each rate, from each start
    more_is_better: bool  # as a percentage of right answers is, and a loss isn't

    def worst(self) -> list[list[float]]:
        """The worst of the starts, for each way (a row) at each rate (a column)."""
        of_starts: Callable[..., float] = min if self.more_is_better else max
        return [[of_starts(starts) for starts in row] for row in self.figures]

    def best_rate(self, way: str) -> float:
        """The rate at which the starts of a way are best on average."""
        means = [mean(starts) for starts in self.figures[self.ways.index(way)]]
        return self.rates[means.index((max if self.more_is_better else min)(means))]

    def at_best(self, way: str) -> tuple[float, ...]:
        """A way's figures at its best rate, one for each start."""
        return self.figures[self.ways.index(way)][self.rates.index(self.best_rate(way))]

    def labels(self) -> list[str]:
        """The rates as they stand above a table's columns."""
        return [f"rate {rate:g}" for rate in self.rates]


@cache
def sweep(name: str) -> Measured:
    """The stored comparison of this name. KeyError if there is none."""
    found = json.loads(STORED.read_text(encoding="utf-8"))[name]
    figures = tuple(tuple(tuple(starts) for starts in row) for row in found["figures"].values())
    return Measured(tuple(found["figures"]), tuple(found["rates"]), found["steps"], figures, found["more_is_better"])
