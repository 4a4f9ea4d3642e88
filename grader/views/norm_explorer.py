"""Which numbers share a mean: LayerNorm (Ba et al. 2016), BatchNorm (Ioffe and Szegedy 2015), RMSNorm (Zhang and
Sennrich 2019) on one small table that can be edited."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
import traitlets
from torch import Tensor

from grader.views.base import KernelView, module, pack, style
from grader.views.picture import heatmap, lines_of, names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NORMS = ("LayerNorm", "BatchNorm", "RMSNorm")
EDITED = "edited"
PRESETS = ("start", "one large value", "common offset 1000", "constant row", EDITED)
LARGEST = 99_999
MOVED = 1e-4
MOST_IN_WORDS = 5


class NormExplorer(KernelView):
    """A table of numbers, normalised in one of three ways, with the mean and the variance of each row or column.

    table: (B, E), B >= 2. Every norm has γ = 1 and β = 0; ε is 1e-5, for RMSNorm 1e-6; BatchNorm is in train mode.
    Outputs are marked if the last change of a number moved them by more than 0.0001 (after a preset: compared with the
    start).

    >>> explorer = NormExplorer(torch.tensor([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]]))
    >>> explorer.change(0, 2, 9.0)
    >>> explorer
    Norm explorer, 2 by 3, LayerNorm: mean of each row 4.00, 1.00, variance 12.67, 0.00; 3 of 6 outputs moved.
    """

    _esm = module("norm_explorer.js")
    _css = style("norm_explorer.css")

    norm = traitlets.Enum(NORMS, "LayerNorm").tag(sync=True, echo_update=False)
    preset = traitlets.Enum(PRESETS, "start").tag(sync=True, echo_update=False)
    shape: traitlets.List[int] = traitlets.List(traitlets.Int()).tag(sync=True)
    # float32, row by row; the browser's buffers arrive as memoryviews.
    table = traitlets.Bytes().tag(sync=True, echo_update=False, from_json=lambda value, _: bytes(value))
    # The browser puts a preset's table in place itself, with its name in one message: sent back from here, the table
    # could arrive after the learner's next key and undo it.
    presets = traitlets.Bytes().tag(sync=True)
    presets_layout = traitlets.Dict().tag(sync=True)
    # The norm of the statistics and outputs below: they arrive after `norm` has changed in the browser.
    shown = traitlets.Unicode().tag(sync=True)
    moving = traitlets.Bytes().tag(sync=True)
    moving_layout = traitlets.Dict().tag(sync=True)

    def __init__(self, table: Tensor, **options: Any) -> None:
        if table.dim() != 2 or len(table) < 2 or table.shape[1] < 1:
            raise ValueError(f"table: got shape {tuple(table.shape)}, expected (B, E) with B >= 2 and E >= 1")
        self._start = self._before = table.detach().to("cpu", torch.float32).clone()
        layout, presets = pack(preset_tables(self._start))
        sent = {"shape": list(table.shape), "presets_layout": layout, "presets": presets}
        super().__init__(table=_bytes(self._start), **sent, **options)

    @property
    def numbers(self) -> Tensor:
        """The table as it stands now: float32 (B, E)."""
        return self._tensor(self.table)

    def change(self, row: int, column: int, value: float) -> None:
        """Sets one number, as typing it does."""
        changed = self.numbers
        changed[row, column] = value
        with self.hold_trait_notifications():
            self.table, self.preset = _bytes(changed), EDITED

    def _tensor(self, buffer: bytes) -> Tensor:
        return torch.frombuffer(bytearray(buffer), dtype=torch.float32).reshape(self._start.shape).clone()

    @traitlets.validate("table")
    def _fits(self, proposal: traitlets.Bunch) -> bytes:
        if len(proposal["value"]) != 4 * self._start.numel():
            raise traitlets.TraitError(f"table: got {len(proposal['value'])} bytes, expected 4 for each number")
        if not bool((self._tensor(proposal["value"]).abs() <= LARGEST).all()):
            raise traitlets.TraitError(f"table: expected numbers from -{LARGEST} to {LARGEST}")
        return bytes(proposal["value"])

    @traitlets.observe("preset")
    def _on_preset(self, _change: traitlets.Bunch) -> None:
        presets = preset_tables(self._start)
        if self.preset in presets:
            with self.hold_sync():
                self.table = _bytes(presets[self.preset])
                self._before = self._start
                self._normalise()

    @traitlets.observe("table")
    def _on_table(self, change: traitlets.Bunch) -> None:
        """Typing a number digit by digit is one change: outputs are compared with those before the first digit."""
        if self.preset != EDITED:
            self._before = self._start
        elif change["old"] and int((self.numbers != self._before).sum()) > 1:
            self._before = self._tensor(change["old"])
        self._normalise()

    @traitlets.observe("norm")
    def _on_norm(self, _change: traitlets.Bunch) -> None:
        self._normalise()

    def _normalise(self) -> None:
        if not self.table:
            return  # the constructor has set another trait first
        self._statistics, output = normalise(self.numbers, self.norm)
        moved = (output - normalise(self._before, self.norm)[1]).abs() > MOVED
        layout, buffer = pack({"statistics": self._statistics, "output": output, "moved": moved})
        with self.hold_sync():
            self.shown, self.moving_layout, self.moving = self.norm, layout, buffer
            self.summary = self._in_words(int(moved.sum()))

    def kept(self) -> dict[str, Any]:
        return {"before": _bytes(self._before), "table": self.table}

    def picture(self) -> Figure:
        """The table, the statistics of its rows or columns, and the normalised table."""
        statistics, output = normalise(self.numbers, self.norm)
        by_column = self.norm == "BatchNorm"
        kinds = ["mean square"] if self.norm == "RMSNorm" else ["mean", "variance"]
        figure, places = lines_of([self.numbers, statistics, output], room=1.5)
        rows, columns = [f"token {row}" for row in range(self.shape[0])], names(self.shape[1])
        title = f"{' and '.join(kinds)} of each {'column' if by_column else 'row'}"
        heatmap(places[0], self.numbers, "table", rows, columns)
        heatmap(
            places[1], statistics, title, kinds if by_column else (), columns if by_column else kinds, colours=False
        )
        heatmap(places[2], output, self.norm, (), columns, text="{:.2f}".format)
        return figure

    def _in_words(self, moved: int) -> str:
        axis = "column" if self.norm == "BatchNorm" else "row"
        rows = self._statistics if axis == "column" else self._statistics.T
        names = ("mean of the squares",) if self.norm == "RMSNorm" else ("mean", "variance")
        statistics = [f"{name} {_listed(row)}" for name, row in zip(names, rows, strict=True)]
        statistics[0] = statistics[0].replace(names[0], f"{names[0]} of each {axis}", 1)
        size = f"{self.shape[0]} by {self.shape[1]}"
        count = math.prod(self.shape)
        return f"Norm explorer, {size}, {self.norm}: {', '.join(statistics)}; {moved} of {count} outputs moved."


def preset_tables(start: Tensor) -> dict[str, Tensor]:
    """The preset tables, made from `start`."""
    large, constant = start.clone(), start.clone()
    large[0, 0] = 100.0
    constant[1] = start[1, 0]
    return dict(zip(PRESETS, (start, large, start + 1000.0, constant), strict=False))


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


def _bytes(table: Tensor) -> bytes:
    return pack({"table": table})[1]


def _listed(numbers: Tensor) -> str:
    shown = [f"{number + 0.0:.2f}" for number in numbers.tolist()[:MOST_IN_WORDS]]
    return ", ".join([*shown, "…"] if len(numbers) > MOST_IN_WORDS else shown)
