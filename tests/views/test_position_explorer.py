"""The position explorer: what it computes and says, here and in the browser."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
import traitlets

from grader.views import PositionExplorer
from grader.views.position_explorer import BASES, KINDS, WIDTHS, encoded, spread
from tests.views.browser import in_browser

ALL = [{"kind": kind, "d_model": width, "base": base} for kind, width, base in itertools.product(KINDS, WIDTHS, BASES)]


def test_rows_products_and_sentence_are_the_same_here_and_in_the_browser():
    views = [PositionExplorer(**chosen) for chosen in ALL]
    told = in_browser("position_numbers.js", *((view, {}) for view in views))
    for view, (numbers, sentence) in zip(views, told, strict=True):
        assert sentence == repr(view)
        rows, products = encoded(view.kind, view.d_model, view.base)
        torch.testing.assert_close(numbers["rows"], rows)
        torch.testing.assert_close(numbers["products"], products)


def test_a_choice_in_the_browser_is_one_of_the_constructor():
    told = in_browser("position_numbers.js", *((PositionExplorer(), chosen) for chosen in ALL))
    assert [sentence for _, sentence in told] == [repr(PositionExplorer(**chosen)) for chosen in ALL]


def test_sinusoidal_rows_are_the_formula():
    rows, _ = encoded("sinusoidal", 8, 10000)
    assert rows.shape == (32, 8)
    for position, column in ((0, 0), (0, 1), (3, 2), (31, 7)):
        angle = position / 10000 ** ((column - column % 2) / 8)
        right = math.sin(angle) if column % 2 == 0 else math.cos(angle)
        assert float(rows[position, column]) == pytest.approx(right, abs=1e-6)


@pytest.mark.parametrize("base", [10, 10000])
def test_products_depend_on_the_offset_only_but_for_a_random_table(base):
    assert spread(encoded("sinusoidal", 16, base)[1]) < 1e-9
    assert spread(encoded("rotary", 16, base)[1]) < 1e-9
    assert spread(encoded("random table", 16, base)[1]) > 5


def test_a_turned_key_keeps_the_length_of_every_pair():
    rows, products = encoded("rotary", 8, 100)
    lengths = rows.unflatten(-1, (-1, 2)).norm(dim=-1)
    torch.testing.assert_close(lengths, lengths[:1].expand_as(lengths))
    assert not torch.allclose(products, products.T)


def test_its_repr_is_one_sentence_and_follows_the_choice():
    view = PositionExplorer()
    assert repr(view) == (
        "Position explorer, sinusoidal, 32 positions, width 24, base 10000: from position 0 the products are 12.00 "
        "at offset 0, 11.41 at offset 1 and 6.94 at offset 10; at equal offsets, products differ by at most "
        "0.00."
    )
    view.d_model, view.base = 8, 100
    assert "width 8, base 100: from position 0 the products are 4.00 at offset 0" in repr(view)
    view.kind = "random table"
    assert "random table, 32 positions, width 8: from" in repr(view)
    assert not repr(view).endswith("at most 0.00.")


def test_the_text_alternative_stands_before_the_view():
    view = PositionExplorer(kind="rotary", d_model=16)
    (data, _metadata), (widget, _) = view.outputs()
    assert data["text/plain"] == repr(view)
    assert "application/vnd.jupyter.widget-view+json" in widget


@pytest.mark.parametrize("wrong", [{"kind": "learnt"}, {"d_model": 7}, {"base": 0}])
def test_other_choices_are_refused(wrong):
    with pytest.raises(traitlets.TraitError):
        PositionExplorer(**wrong)
