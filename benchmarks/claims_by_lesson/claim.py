"""What a claim is, and what a curious student changes first."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Names = Mapping[str, Any]


@dataclass(frozen=True)
class Claim:
    """A conclusion of a lesson. A claim whose cells train compares ways of learning, and then each of them gets several
    learning rates in `benchmarks/sweeps.py`; or it compares something else; or no rate could overturn it."""

    says: str  # what holds, with its figures in order
    figures: Callable[[Names], Sequence[float]]  # takes them out of the names that the lesson's cells leave behind
    holds: Callable[..., bool]  # judges them
    # By a title, and by the text in a cell, what a student writes in its place.
    edits: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    # By the title of an edit of which the text says that something else comes out, what judges that.
    exceptions: Mapping[str, Callable[..., bool]] = field(default_factory=dict)
    sweep: str = ""  # the comparison's name there
    compares: str = ""  # what is compared, if not ways of learning: a rule with a model, say
    any_rate: str = ""  # why no rate could


# What a curious student does to a number first, by what it is.
STEPS = {"half the steps": 0.5, "four times the steps": 4}
RATE = {"half the rate": 0.5, "twice the rate": 2}
DEPTH = {"half the depth": 0.5, "twice the depth": 2}
WIDTH = {"half as wide": 0.5, "twice as wide": 2}


def times(text: str, factors: Mapping[str, float]) -> dict[str, dict[str, str]]:
    """Edits, by title, that multiply the number at the end of a text of the lesson; `factors` has the factors by title.

    >>> times("steps=300", {"four times the steps": 4})
    {'four times the steps': {'steps=300': 'steps=1200'}}
    """
    begin, number = re.fullmatch(r"(.*?)([\d.]+)", text).groups()  # type: ignore[union-attr]
    return {title: {text: f"{begin}{float(number) * factor:g}"} for title, factor in factors.items()}


def trained(call: str) -> dict[str, dict[str, str]]:
    """Edits of lesson 01's and 02's readers; `call` trains one and ends with the rate."""
    steps = {"half the steps": 300, "four times the steps": 2400}
    return {title: {call: f"{call}, steps={count}"} for title, count in steps.items()} | times(call, RATE)
