"""The table that grows from lesson 01 to lesson 05: what a reader can read with each piece of attention."""

from __future__ import annotations

from grader.learner.tables import show
from grader.models.sweeps import Measured, sweep

COMPARISONS = ("reads", "reads_deep")


def show_reads(until: str = "", *, yours: float | None = None) -> None:
    """Show how many of the robot's new sentences are read rightly, a row for each kind of attention up to `until`, or
    for all. Each has its best of five rates, and three starts. `yours` is what the learner's own reader has just read,
    in percent, and stands in the last row. ValueError where there is no row of that name."""
    found: dict[str, Measured] = {}
    for name in COMPARISONS:
        if not until or until not in found:
            found |= dict.fromkeys(sweep(name).ways, sweep(name))
    if until and until not in found:
        raise ValueError(f"until: got {until!r}, expected one of {', '.join(found)}")
    ways = list(found)[: list(found).index(until) + 1] if until else list(found)
    columns = ["% right, from three starts", "best rate"]
    table = [
        [", ".join(f"{right:.0f}" for right in found[way].at_best(way)), f"{found[way].best_rate(way):g}"]
        for way in ways
    ]
    if yours is not None:
        columns.append("just now")
        table = [[*row, f"{yours:.0f}" if way == ways[-1] else ""] for way, row in zip(ways, table, strict=True)]
    show(table, ways, columns, title="read with")
