"""Tables and pictures with the words of a sentence in them, for the lessons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torch import Tensor

from grader.views.picture import heatmap

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDEST = 10  # the width of the line for a weight of 1, in points
BEND = 0.4  # how far a line is bent, as a share of its length


def print_table(
    title: str, table: Tensor, rows: Sequence[str], columns: Sequence[str] | None = None, form: str = ".2f"
) -> None:
    """Print a matrix (R, C) with a word before each row and one above each column.

    `title` stands in the corner, `form` is how a number is written; without `columns`, they are called as the rows.
    ValueError where the names don't fit the shape.

    >>> import torch
    >>> print_table("scores", torch.tensor([[2.0, 1.0], [1.0, 2.0]]), ["robot", "crate"], form=".1f")
    scores  robot  crate
    robot     2.0    1.0
    crate     1.0    2.0
    """
    columns = _named(table, rows, columns)
    numbers = [[format(number, form) for number in row] for row in table.tolist()]
    first = max(len(name) for name in (title, *rows))
    widths = [max(map(len, column)) for column in zip(columns, *numbers, strict=True)]
    for name, cells in [(title, columns), *zip(rows, numbers, strict=True)]:
        print("  ".join([name.ljust(first), *(c.rjust(width) for c, width in zip(cells, widths, strict=True))]))


def draw_table(
    axes: Axes, title: str, table: Tensor, rows: Sequence[str], columns: Sequence[str] | None = None, form: str = ".2f"
) -> None:
    """Draw a matrix (R, C) as coloured cells, each with its number, between the words of its rows and columns. The
    colours go from 0 to 1 for weights, otherwise from the smallest to the largest number.
    """
    columns = _named(table, rows, columns)
    weights = float(table.min()) >= 0 and float(table.max()) <= 1
    ends = (0.0, 1.0) if weights else None
    heatmap(axes, table, title, rows, columns, ends=ends, text=lambda number: format(number, form))


def draw_attention(axes: Axes, title: str, words: Sequence[str], row: Tensor, query: int) -> None:
    """Draw one row of attention weights (T,) into its sentence: lines from the word at place `query` to the others,
    the thicker the larger the weight; a word's weight on itself is a dot above it. The weights stand below the words.
    """
    if row.shape != (len(words),):
        raise ValueError(f"row: got shape {tuple(row.shape)}, expected ({len(words)},), a weight for each word")
    for place, (word, weight) in enumerate(zip(words, row.tolist(), strict=True)):
        axes.text(place, 0, word, ha="center", va="top", weight="bold" if place == query else "normal")
        axes.text(place, -0.16, f"{weight:.2f}", ha="center", va="top", color="dimgrey", fontsize=9)
        if place == query:
            axes.plot(place, 0.08, "o", color="tab:blue", alpha=0.6, markersize=1.5 * WIDEST * weight)
            continue
        bend = f"arc3,rad={BEND if place < query else -BEND}"
        line = {"arrowstyle": "-", "connectionstyle": bend, "color": "tab:blue", "alpha": 0.6, "lw": WIDEST * weight}
        axes.annotate("", (place, 0.06), (query, 0.06), arrowprops=line)
    axes.set_title(title, loc="left", fontsize=9)
    axes.set(xlim=(-0.6, len(words) - 0.4), ylim=(-0.35, 1))
    axes.axis("off")


def _named(table: Tensor, rows: Sequence[str], columns: Sequence[str] | None) -> Sequence[str]:
    columns = rows if columns is None else columns
    if table.shape != (len(rows), len(columns)):
        raise ValueError(f"table: got shape {tuple(table.shape)}, expected ({len(rows)}, {len(columns)}), by its names")
    return columns
