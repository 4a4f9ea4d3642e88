"""The matrices that `validate_attention` is tried on: sound ones, and ones that break a rule."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from grader.spec.draw import Draw
from grader.spec.exercise import Case

SOUND = ("halves and quarters", "weights of a softmax", "weights with batch and heads", "float64 weights")
ROUNDED = ("a row whose sum is off by the last digit", "entries of -0.0000002 and 1.0000002")
NEARLY = ("a row that sums to one but for 0.00005", "an entry of -0.00002", "an entry of 1.00003")
# What breaks a rule, by the word that the message must hold, in the order in which the rules are to be tested.
BROKEN = {
    "finite": ("one NaN", "one inf", "one -inf", "a NaN beside a negative weight", "a NaN in one matrix of a batch"),
    "within": (
        "a negative weight in a row that sums to one",
        "a weight of 1.5",
        "a weight of -0.002 in a row that sums to one",
        "a negative weight beside a row of zeros",
    ),
    "sum": (
        "a row that sums to 0.9",
        "a row that sums to 1.001",
        "rows that sum to 0.9 and to 1.1",
        "a row of zeros",
        "a short row in one matrix of a batch",
    ),
}
COLUMNS = "columns that sum to one"


def matrices(draw: Draw) -> list[Case]:
    """A case for every name above; in a broken matrix any row but the first may be the broken one."""
    first = draw.integer(2, 4)
    sizes = draw.sizes("Tq", "Tk", B=first, H=5 - first)
    batch, heads, queries, keys = sizes["B"], sizes["H"], sizes["Tq"], sizes["Tk"]
    soft = torch.softmax(draw.normal((batch, heads, queries, keys)), -1)
    row = draw.integer(1, queries)

    def with_rows(*rows: list[float]) -> Tensor:
        """A sound matrix in which `row` and those before it are replaced, padded with zeros."""
        weights = soft[0, 0].clone()
        for i, values in enumerate(rows):
            weights[row - i] = torch.tensor(values + [0.0] * (keys - len(values)))
        return weights

    def in_a_batch(matrix: Tensor) -> Tensor:
        weights = soft.clone()
        weights[-1, -1] = matrix
        return weights

    made = {
        "halves and quarters": torch.tensor([[0.5, 0.25, 0.25] + [0.0] * (keys - 3)]).repeat(queries, 1),
        "weights of a softmax": soft[0, 0],
        "weights with batch and heads": soft,
        "float64 weights": torch.softmax(draw.normal((queries, keys)).double(), -1),
        "a row whose sum is off by the last digit": with_rows([0.5, 0.5000002]),
        "entries of -0.0000002 and 1.0000002": with_rows([1.0000002, -0.0000002]),
        "a row that sums to one but for 0.00005": with_rows([0.5, 0.50005]),
        "an entry of -0.00002": with_rows([0.5, 0.50002, -0.00002]),
        "an entry of 1.00003": with_rows([1.00003]),
        "one NaN": with_rows([0.5, math.nan, 0.5]),
        "one inf": with_rows([0.5, math.inf]),
        "one -inf": with_rows([1.0, -math.inf]),
        "a NaN beside a negative weight": with_rows([-0.5, math.nan]),
        "a NaN in one matrix of a batch": in_a_batch(with_rows([0.5, math.nan, 0.5])),
        "a negative weight in a row that sums to one": with_rows([0.75, 0.5, -0.25]),
        "a weight of 1.5": with_rows([1.5]),
        "a weight of -0.002 in a row that sums to one": with_rows([0.502, 0.5, -0.002]),
        "a negative weight beside a row of zeros": with_rows([0.75, 0.5, -0.25], [0.0]),
        "a row that sums to 0.9": with_rows([0.5, 0.4]),
        "a row that sums to 1.001": with_rows([0.5, 0.501]),
        "rows that sum to 0.9 and to 1.1": with_rows([0.5, 0.4], [0.5, 0.6]),
        "a row of zeros": with_rows([0.0]),
        "a short row in one matrix of a batch": in_a_batch(with_rows([0.5, 0.4])),
        COLUMNS: torch.softmax(draw.normal((queries, keys)), -2),
    }
    return [Case(name, {"weights": weights}) for name, weights in made.items()]
