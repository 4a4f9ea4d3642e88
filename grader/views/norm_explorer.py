"""Which numbers share a mean: LayerNorm (Ba et al. 2016), BatchNorm (Ioffe and Szegedy 2015), RMSNorm (Zhang and
Sennrich 2019) on one small table that can be edited."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
import traitlets
from torch import Tensor

from grader.sentences import Several, say
from grader.views.base import View, module, pack, style
from grader.views.picture import heatmap, lines_of, names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NORMS = ("LayerNorm", "BatchNorm", "RMSNorm")
LARGEST = 99_999
MOST_IN_WORDS = 5


class NormExplorer(View):
    """A table of numbers to edit, normalised in one of three ways, with mean and variance of each row or column.

    table: (B, E), B >= 2, to start with; `norm`: "LayerNorm", "BatchNorm" or "RMSNorm". Every norm has γ = 1 and β = 0;
    ε is 1e-5, for RMSNorm 1e-6; BatchNorm is in train mode. Outputs are marked if the last change of a number moved
    them by more than 0.0001 (after a preset: compared with the start).

    >>> NormExplorer(torch.tensor([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]]))
    Norm explorer, 2 by 3, LayerNorm: mean of each row 2.00, 1.00, variance 0.67, 0.00; 0 of 6 outputs moved.
    """

    _esm = module("norm_explorer.js")
    _css = style("norm_explorer.css")

    norm = traitlets.Enum(NORMS).tag(sync=True)
    matrices_layout: traitlets.List[list[str | int]] = traitlets.List().tag(sync=True)
    matrices = traitlets.Bytes().tag(sync=True)  # "table"

    def __init__(self, table: Tensor, norm: str = "LayerNorm") -> None:
        if table.dim() != 2 or len(table) < 2 or table.shape[1] < 1:
            raise ValueError(f"table: got shape {tuple(table.shape)}, expected (B, E) with B >= 2 and E >= 1")
        if not bool((table.abs() <= LARGEST).all()):
            raise ValueError(f"table: expected numbers from -{LARGEST} to {LARGEST}")
        self._table = table.detach().to("cpu", torch.float32).clone()
        layout, buffer = pack({"table": self._table})
        super().__init__(norm=norm, matrices_layout=layout, matrices=buffer)

    def picture(self) -> Figure:
        """A picture of the table, the statistics of its rows or columns, and the normalised table."""
        statistics, output = normalise(self._table, self.norm)
        by_column = self.norm == "BatchNorm"
        if self.norm == "RMSNorm":
            title, kinds = say("mean square of each row"), [say("mean square")]
        else:
            title = say("mean and variance of each column") if by_column else say("mean and variance of each row")
            kinds = [say("mean"), say("variance")]
        figure, places = lines_of([self._table, statistics, output], room=1.5)
        rows, columns = [say("token {at}", at=row) for row in range(len(output))], names(output.shape[1])
        heatmap(places[0], self._table, say("table"), rows, columns)
        heatmap(
            places[1], statistics, title, kinds if by_column else (), columns if by_column else kinds, colours=False
        )
        heatmap(places[2], output, self.norm, (), columns, text="{:.2f}".format)
        return figure

    def sentence(self) -> str:
        by_column = self.norm == "BatchNorm"
        statistics, output = normalise(self._table, self.norm)
        first, *others = statistics if by_column else statistics.T
        if self.norm == "RMSNorm":
            found = [say("mean of the squares of each row {numbers}", numbers=_listed(first))]
        elif by_column:
            found = [say("mean of each column {numbers}", numbers=_listed(first))]
        else:
            found = [say("mean of each row {numbers}", numbers=_listed(first))]
        found += [say("variance {numbers}", numbers=_listed(numbers)) for numbers in others]
        return say(
            "Norm explorer, {rows} by {columns}, {norm}: {statistics}; {moved} of {total} outputs moved.",
            rows=len(output),
            columns=output.shape[1],
            norm=self.norm,
            statistics=Several(found, ", "),
            moved=0,
            total=output.numel(),
        )


def normalise(table: Tensor, norm: str) -> tuple[Tensor, Tensor]:
    """Statistics and outputs of a table (B, E), in float64.

    Statistics are (B, 2), mean and variance of each row; for RMSNorm (B, 1), the mean of the squares; for BatchNorm
    (2, E), mean and variance of each column.
    """
    x = table.to(torch.float64)
    if norm == "BatchNorm":
        statistics = torch.stack([x.mean(0), x.var(0, correction=0)])
        output = F.batch_norm(x, None, None, training=True)
    elif norm == "RMSNorm":
        statistics = x.square().mean(-1, keepdim=True)
        output = F.rms_norm(x, x.shape[1:], eps=1e-6)
    else:
        statistics = torch.stack([x.mean(-1), x.var(-1, correction=0)], dim=-1)
        output = F.layer_norm(x, x.shape[1:])
    return statistics.round(decimals=9), output.round(decimals=9)  # 0 is shown as 0, not as 5.6e-17


def _listed(numbers: Tensor) -> str:
    shown = [f"{number + 0.0:.2f}" for number in numbers.tolist()[:MOST_IN_WORDS]]
    return ", ".join([*shown, "…"] if len(numbers) > MOST_IN_WORDS else shown)
