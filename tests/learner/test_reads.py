"""The table of what a reader can read with each piece of attention."""

from __future__ import annotations

import pytest

from grader.learner.reads import show_reads
from grader.models.sweeps import Measured, sweep


def shown(capsys, *args, **options):
    show_reads(*args, **options)
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_the_table_ends_with_the_row_asked_for_and_what_one_has_just_read(capsys):
    head, *rows = shown(capsys, "two layers", yours=99.6)
    assert head.endswith("just now")
    assert [row.split("  ")[0] for row in rows] == ["plain average", "dot products", "one layer", "two layers"]
    assert rows[-1].endswith("  100")
    assert not rows[0].endswith("100")


def test_without_a_name_the_table_has_all_rows(capsys):
    _, *rows = shown(capsys)
    ways = [*sweep("reads").ways, *sweep("reads_deep").ways]
    assert [row.split("  ")[0] for row in rows] == ways


def test_a_name_that_is_in_no_row_is_an_error():
    with pytest.raises(ValueError, match="three layers"):
        show_reads("three layers")


def test_the_best_rate_is_the_one_at_which_the_starts_are_best_on_average():
    figures = (((1.0, 9.0), (4.0, 4.5)), ((7.0, 2.0), (3.0, 3.0)))
    losses = Measured(("a", "b"), (0.01, 0.1), 10, figures, more_is_better=False)
    assert (losses.best_rate("a"), losses.at_best("b"), losses.worst()) == (0.1, (3.0, 3.0), [[9.0, 4.5], [7.0, 3.0]])
    right = Measured(("a", "b"), (0.01, 0.1), 10, figures, more_is_better=True)
    assert (right.best_rate("a"), right.worst()) == (0.01, [[1.0, 4.0], [2.0, 3.0]])
    assert right.labels() == ["rate 0.01", "rate 0.1"]
