"""The norm explorer: statistics, outputs and the sentence, here and in the browser, and what it refuses."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
import traitlets
from torch import nn

from grader.views import NormExplorer
from grader.views.norm_explorer import NORMS, normalise
from tests.views.browser import in_browser

FILE = "norm_numbers.js"
TABLE = torch.tensor([[2.0, 1.0, 4.0, 3.0, 5.0], [6.0, 6.0, 8.0, 5.0, 5.0], [-2.0, 4.0, 0.0, 2.0, 1.0]])


@pytest.mark.parametrize(
    ("norm", "module"),
    [("LayerNorm", nn.LayerNorm(5)), ("BatchNorm", nn.BatchNorm1d(5)), ("RMSNorm", nn.RMSNorm(5, eps=1e-6))],
)
def test_outputs_are_those_of_pytorchs_modules(norm, module):
    [(numbers, _)] = in_browser(FILE, (NormExplorer(TABLE, norm), chosen(TABLE)))
    right = module(TABLE).detach()
    torch.testing.assert_close(numbers["output"].float(), right)
    torch.testing.assert_close(normalise(TABLE, norm)[1].float(), right)


def chosen(table: torch.Tensor) -> dict[str, list[float]]:
    """What is chosen before anything is edited."""
    return {"numbers": table.flatten().tolist(), "before": table.flatten().tolist()}


def test_statistics_and_sentence_are_the_same_here_and_in_the_browser():
    torch.manual_seed(0)
    tables = [
        torch.randint(-9, 10, (rows, columns)) / divisor
        for rows, columns, divisor in itertools.product((2, 3, 6), (1, 2, 7), (1, 2, 4, 10))
    ]
    views = [(NormExplorer(table, norm), table) for table in (TABLE, *tables) for norm in NORMS]
    for (view, table), told in zip(views, in_browser(FILE, *((v, chosen(t)) for v, t in views)), strict=True):
        statistics, output = normalise(table, view.norm)
        torch.testing.assert_close(told[0]["statistics"], statistics, atol=1e-8, rtol=0)
        torch.testing.assert_close(told[0]["output"], output, atol=1e-8, rtol=0)
        assert told[1] == repr(view)


def test_statistics_belong_to_the_axis_that_is_averaged():
    rows, _ = normalise(TABLE, "LayerNorm")
    assert rows.tolist() == [[3.0, 2.0], [6.0, pytest.approx(1.2)], [1.0, 4.0]]
    columns, _ = normalise(TABLE, "BatchNorm")
    torch.testing.assert_close(columns[0], TABLE.double().mean(0))
    torch.testing.assert_close(columns[1], TABLE.double().var(0, correction=0))
    squares, _ = normalise(TABLE, "RMSNorm")
    assert squares.tolist() == [[11.0], [pytest.approx(37.2)], [5.0]]


def test_its_repr_is_one_sentence():
    assert repr(NormExplorer(TABLE)) == (
        "Norm explorer, 3 by 5, LayerNorm: mean of each row 3.00, 6.00, 1.00, variance 2.00, 1.20, 4.00; "
        "0 of 15 outputs moved."
    )
    assert "RMSNorm: mean of the squares of each row 11.00, 37.20, 5.00; 0 of 15" in repr(
        NormExplorer(TABLE, "RMSNorm")
    )
    (data, _metadata), _view = NormExplorer(TABLE).outputs()
    assert data["text/plain"] == repr(NormExplorer(TABLE))


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e6])
def test_a_number_has_to_be_one_and_not_too_large(value):
    with pytest.raises(ValueError, match="expected numbers from -99999 to 99999"):
        NormExplorer(TABLE.clone().fill_diagonal_(value))


def test_other_norms_are_refused():
    with pytest.raises(traitlets.TraitError):
        NormExplorer(TABLE, "GroupNorm")


@pytest.mark.parametrize("table", [TABLE[0], TABLE[:1], torch.ones(2, 0)])
def test_a_table_has_two_rows_at_least(table):
    with pytest.raises(ValueError, match=r"expected \(B, E\) with B >= 2"):
        NormExplorer(table)
