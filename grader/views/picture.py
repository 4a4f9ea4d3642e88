"""Static pictures of views, for those who read a notebook on paper, on the web or without a kernel."""

from __future__ import annotations

import base64
import io
import math
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from grader.report.heat import cividis, ink

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CELL = 0.42  # inches
MOST_NUMBERS = 12  # in a row or a column: more have no room for numbers
MOST_NAMES = 32
EMPTY = "#dddddd"  # of NaN and of infinities, which are not on the scale


def written(value: float) -> str:
    """A number in few characters, for a cell.

    >>> written(0.12345), written(-2.0), written(-float("inf")), written(-1e20)
    ('0.123', '-2', '-inf', '-1e20')
    """
    return f"{value:.3g}".replace("e+", "e")


def sheet(width: float, height: float) -> Figure:
    """An empty figure on white paper, with its size in inches. It is none of pyplot's figures, and takes no theme."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=100, facecolor="white", layout="constrained")


def lines_of(matrices: Sequence[Tensor], across: int = 3, room: float = 0.5) -> tuple[Figure, list[Axes]]:
    """A figure with axes for the heatmaps of these matrices, `across` in a line, each large enough for its numbers.
    `room`, in inches, widens it for long titles."""
    lines = [matrices[at : at + across] for at in range(0, len(matrices), across)]
    widths = [max(extent(matrix.shape[1]) for matrix in matrices[at::across]) + 0.9 for at in range(len(lines[0]))]
    heights = [max(extent(len(matrix)) for matrix in line) + 0.7 for line in lines]
    figure = sheet(sum(widths) + room, sum(heights) + 0.2)
    axes = figure.subplots(len(lines), len(widths), width_ratios=widths, height_ratios=heights, squeeze=False)
    return figure, list(axes.flat)


def extent(count: int) -> float:
    """The width of so many cells, in inches; many cells have no numbers, and are smaller."""
    return CELL * min(count, MOST_NUMBERS)


def heatmap(
    axes: Axes,
    matrix: Tensor,
    title: str,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    *,
    ends: tuple[float, float] | None = None,
    text: Callable[[float], str] | None = written,
    colours: bool = True,
) -> None:
    """Draw a matrix (R, C) as coloured cells with their numbers. The `ends` of the colour scale are the smallest and
    the largest number, unless given; `text` writes a number, None writes nothing. Without `colours` the cells are
    white."""
    from matplotlib.colors import ListedColormap

    numbers = matrix.detach().to("cpu", torch.float64)
    finite = numbers[numbers.isfinite()]
    low, high = ends or ((float(finite.min()), float(finite.max())) if finite.numel() else (0.0, 1.0))
    steps = [[part / 255 for part in cividis(at / 255)] for at in range(256)]
    scale = ListedColormap(steps if colours else ["white"]).with_extremes(bad=EMPTY)
    shown = numbers.masked_fill(~numbers.isfinite(), math.nan).numpy()
    axes.imshow(shown, cmap=scale, vmin=low, vmax=high if high > low else low + 1, aspect="equal")
    axes.set_title(title, fontsize=9)
    _ticks(axes, rows, columns)
    if text is not None and max(numbers.shape) <= MOST_NUMBERS:
        for (row, column), value in ((place, float(numbers[place])) for place in _places(numbers)):
            share = (value - low) / (high - low) if high > low else 0.0
            colour = ink(cividis(share)) if colours and math.isfinite(value) else "#000"
            number = axes.text(column, row, text(value), ha="center", va="center", fontsize=8, color=colour)
            number.set_in_layout(False)  # it lies inside: to measure each takes most of the time


def _places(numbers: Tensor) -> list[tuple[int, int]]:
    return [(row, column) for row in range(numbers.shape[0]) for column in range(numbers.shape[1])]


def _ticks(axes: Axes, rows: Sequence[str], columns: Sequence[str]) -> None:
    """Write the names of rows and columns at the edges, except empty ones, or all of them where there are too many."""
    for names, set_ticks in ((rows, axes.set_yticks), (columns, axes.set_xticks)):
        named = [at for at, name in enumerate(names) if name and len(names) <= MOST_NAMES]
        set_ticks(named, [names[at] for at in named], fontsize=8)
    axes.tick_params(length=0, labelbottom=False, labeltop=True)
    axes.spines[:].set_visible(False)


def drawing(picture: Callable[[], Figure | None]) -> str | None:
    """The figure of `picture` as a PNG in base64, the same bytes every time, whatever style a notebook has set; None if
    there is no figure.

    A token may hold a $ or a character that the font lacks.
    """
    from matplotlib import style

    with style.context(["default", {"text.parse_math": False}]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")
        figure = picture()
        if figure is None:
            return None
        stored = io.BytesIO()
        figure.savefig(stored, format="png", metadata={"Software": None})
    return base64.b64encode(stored.getvalue()).decode()


def names(count: int) -> list[str]:
    """Numbers from 0 as texts, for rows or columns without names."""
    return [str(at) for at in range(count)]


def lines_of_text(lines: Sequence[tuple[str, str, str]], widths: tuple[float, float]) -> Figure:
    """A figure of texts in three columns, without frames; `widths` are those of the first two, in inches."""
    figure = sheet(sum(widths) + 5.0, 0.24 * len(lines) + 0.2)
    axes: Any = figure.add_subplot()
    axes.axis("off")
    axes.set(xlim=(0, sum(widths) + 5.0), ylim=(len(lines), 0))
    for at, texts in enumerate(lines):
        for left, text in zip((0.0, widths[0], sum(widths)), texts, strict=True):
            axes.text(left, at + 0.5, text, va="center", fontsize=9)
    return figure
