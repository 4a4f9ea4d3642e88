"""The norm explorer's Python side: statistics and outputs, which outputs moved, the summary, what is sent."""

from __future__ import annotations

import math

import pytest
import torch
import traitlets
from torch import nn

from grader.views import NormExplorer
from grader.views.norm_explorer import normalise, preset_tables

TABLE = torch.tensor([[2.0, 1.0, 4.0, 3.0, 5.0], [6.0, 6.0, 8.0, 5.0, 5.0], [-2.0, 4.0, 0.0, 2.0, 1.0]])


@pytest.fixture
def explorer() -> NormExplorer:
    return NormExplorer(TABLE)


def unpacked(layout: dict[str, list[int]], buffer: bytes) -> dict[str, torch.Tensor]:
    numbers = torch.frombuffer(bytearray(buffer), dtype=torch.float32)
    pieces = numbers.split([math.prod(shape) for shape in layout.values()])
    return {name: piece.reshape(shape) for (name, shape), piece in zip(layout.items(), pieces, strict=True)}


def sent(explorer: NormExplorer, name: str) -> torch.Tensor:
    return unpacked(explorer.moving_layout, explorer.moving)[name]


def type_number(explorer: NormExplorer, row: int, column: int, value: float) -> None:
    """As the browser does it: the whole table and its new name in one message."""
    numbers = explorer.numbers
    numbers[row, column] = value
    explorer.set_state({"table": memoryview(numbers.numpy().tobytes()), "preset": "edited"})


@pytest.mark.parametrize(
    ("norm", "module"),
    [("LayerNorm", nn.LayerNorm(5)), ("BatchNorm", nn.BatchNorm1d(5)), ("RMSNorm", nn.RMSNorm(5, eps=1e-6))],
)
def test_outputs_are_those_of_pytorchs_modules(explorer, norm, module):
    explorer.norm = norm
    torch.testing.assert_close(sent(explorer, "output"), module(TABLE).detach())


def test_statistics_belong_to_the_axis_that_is_averaged():
    rows, _ = normalise(TABLE, "LayerNorm")
    assert rows.tolist() == [[3.0, 2.0], [6.0, pytest.approx(1.2)], [1.0, 4.0]]
    columns, _ = normalise(TABLE, "BatchNorm")
    torch.testing.assert_close(columns[0], TABLE.double().mean(0))
    torch.testing.assert_close(columns[1], TABLE.double().var(0, correction=0))
    squares, _ = normalise(TABLE, "RMSNorm")
    assert squares.tolist() == [[11.0], [pytest.approx(37.2)], [5.0]]


def test_a_changed_number_moves_its_row_or_its_column(explorer):
    type_number(explorer, 0, 2, 20.0)
    row, column = torch.zeros(3, 5), torch.zeros(3, 5)
    row[0], column[:, 2] = 1, 1
    assert sent(explorer, "moved").tolist() == row.tolist()
    explorer.norm = "BatchNorm"
    assert sent(explorer, "moved").tolist() == column.tolist()
    explorer.norm = "RMSNorm"
    assert sent(explorer, "moved").tolist() == row.tolist()


def test_digits_of_one_number_are_one_change(explorer):
    for value in (1.0, 12.0, 120.0):
        type_number(explorer, 0, 2, value)
    type_number(explorer, 0, 2, 4.0)  # what it was
    assert not sent(explorer, "moved").any()
    type_number(explorer, 0, 2, 5.0)
    type_number(explorer, 2, 0, 7.0)  # another number: earlier changes don't count
    assert sent(explorer, "moved").any(-1).tolist() == [False, False, True]


def test_presets_are_made_of_the_first_table(explorer):
    tables = preset_tables(TABLE)
    assert tables["one large value"][0].tolist() == [100.0, 1.0, 4.0, 3.0, 5.0]
    assert tables["constant row"][1].tolist() == [6.0] * 5
    assert (tables["common offset 1000"] - TABLE).tolist() == torch.full((3, 5), 1000.0).tolist()
    type_number(explorer, 0, 0, -7.0)
    explorer.preset = "start"
    assert torch.equal(explorer.numbers, TABLE)
    assert not sent(explorer, "moved").any()


def test_a_preset_chosen_in_the_browser_arrives_with_its_table(explorer):
    tables = unpacked(explorer.presets_layout, explorer.presets)
    type_number(explorer, 0, 2, 20.0)
    names = []
    explorer.observe(lambda change: names.append(change["name"]), names=["table"])
    for preset in ("one large value", "start"):
        table = memoryview(tables[preset].numpy().tobytes())
        explorer.set_state({"table": table, "preset": preset})
        assert torch.equal(explorer.numbers, tables[preset])
    assert names == ["table"] * 2
    assert not sent(explorer, "moved").any()


def test_an_offset_moves_only_the_norm_without_a_mean(explorer):
    moved = {}
    explorer.preset = "common offset 1000"
    for norm in ("LayerNorm", "BatchNorm", "RMSNorm"):
        explorer.norm = norm
        moved[norm] = int(sent(explorer, "moved").sum())
    assert moved == {"LayerNorm": 0, "BatchNorm": 0, "RMSNorm": 15}
    assert sent(explorer, "output").sub(1).abs().max() < 0.01


def test_nothing_is_left_of_a_constant_row_but_by_rms_norm(explorer):
    explorer.preset = "constant row"
    assert sent(explorer, "output")[1].tolist() == [0.0] * 5
    explorer.norm = "RMSNorm"
    assert sent(explorer, "output")[1].tolist() == pytest.approx([1.0] * 5)


def test_its_repr_is_one_sentence_and_follows_norm_and_table(explorer):
    assert repr(explorer) == (
        "Norm explorer, 3 by 5, LayerNorm: mean of each row 3.00, 6.00, 1.00, variance 2.00, 1.20, 4.00; "
        "0 of 15 outputs moved."
    )
    explorer.norm = "BatchNorm"
    explorer.change(0, 2, 13.0)
    assert "BatchNorm: mean of each column 2.00, 3.67, 7.00, 3.33, 3.67, variance" in repr(explorer)
    assert repr(explorer).endswith("; 3 of 15 outputs moved.")
    explorer.norm = "RMSNorm"
    assert "RMSNorm: mean of the squares of each row 41.60, 37.20, 5.00; 5 of 15" in repr(explorer)
    data, _metadata = explorer._repr_mimebundle_()
    assert data["text/plain"] == explorer.summary


def test_a_new_norm_sends_only_what_it_changes(explorer):
    names = []
    explorer.observe(lambda change: names.append(change["name"]), names=list(explorer.keys))
    explorer.norm = "RMSNorm"
    assert set(names) == {"norm", "shown", "moving", "moving_layout", "summary"}
    assert len(explorer.moving) == 4 * (3 + 15 + 15)


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e6])
def test_a_number_has_to_be_one_and_not_too_large(explorer, value):
    with pytest.raises(traitlets.TraitError, match="expected numbers from -99999 to 99999"):
        explorer.change(0, 0, value)
    assert torch.equal(explorer.numbers, TABLE)


@pytest.mark.parametrize("table", [TABLE[0], TABLE[:1], torch.ones(2, 0)])
def test_a_table_has_two_rows_at_least(table):
    with pytest.raises(ValueError, match=r"expected \(B, E\) with B >= 2"):
        NormExplorer(table)


def test_the_given_table_is_never_written_to(explorer):
    before = TABLE.clone()
    type_number(explorer, 1, 1, 50.0)
    explorer.preset = "one large value"
    assert torch.equal(TABLE, before)
