"""Tables and pictures with the words of a sentence in them, for the lessons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch import Tensor

from grader.markup import inline
from grader.printable import columns_of, padded
from grader.views.picture import heatmap

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDEST = 10  # the width of the line for a weight of 1, in points
BEND = 0.4  # how far a line is bent, as a share of its length


Table = Tensor | Sequence[Sequence[Any]] | Sequence[Any]
Names = Sequence[str | int] | str


def show(
    table: Table | Mapping[str, Table],
    rows: Names = "",
    columns: Names = "",
    *,
    title: str = "",
    form: str = ".2f",
    under: bool = False,
) -> None:
    """Show a table (R, C), or one row (C,), with a word before each row and one above each column.

    `table`: a tensor or lists, of numbers, texts or truth values. `rows` and `columns`: their words or numbers, or a
    text for a single one; without `columns` they are called as the rows where that fits, and counted from 0 elsewhere.
    `title` stands in the corner. Several tables, by title, stand side by side, or `under` each other. `form` is how a
    number with a point is written. ValueError where the words don't fit the shape.

    >>> show([[2.0, 1.0], [1.0, 2.0]], ["robot", "crate"], title="scores", form=".1f")
    scores  robot  crate
    robot     2.0    1.0
    crate     1.0    2.0
    >>> show([0.25, True, "yes"], "robot", ["weight", "thing", "heavy"])
           weight  thing  heavy
    robot    0.25   True    yes
    """
    from IPython.display import display

    named = dict(table) if isinstance(table, Mapping) else {title: table}
    display(Tables(tuple(_lined(name, numbers, rows, columns, form) for name, numbers in named.items()), under))


@dataclass(frozen=True)
class Tables:
    """Tables as their lines, each a row of texts; the first line is the head, with the title in its corner. `under`:
    one below the other, not side by side."""

    tables: tuple[list[list[str]], ...]
    under: bool

    def __repr__(self) -> str:
        return "\n\n".join(map(_as_text, self.tables))

    def _repr_html_(self) -> str:
        direction = "column" if self.under else "row"
        style = f"display:flex;flex-flow:{direction} wrap;gap:0 2rem;align-items:flex-start;overflow-x:auto"
        return f'<div class="att-tables-shown" style="{style}">{"".join(map(_as_html, self.tables))}</div>'


def _as_text(lines: list[list[str]]) -> str:
    widths = [max(map(columns_of, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(padded(cell, width, right=at > 0) for at, (cell, width) in enumerate(zip(cells, widths, strict=True)))
        for cells in lines
    )


def _as_html(lines: list[list[str]]) -> str:
    (corner, *heads), *rows = lines
    title = f"<th>{inline(corner)}</th>" if corner else "<td></td>"
    head = title + "".join(f'<th scope="col">{inline(text)}</th>' for text in heads)
    body = "".join(
        f'<tr><th scope="row">{inline(first)}</th>{"".join(f"<td>{inline(text)}</td>" for text in cells)}</tr>'
        for first, *cells in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _lined(title: str, table: Table, rows: Names, columns: Names, form: str) -> list[list[str]]:
    """A table as lines of texts, the head first. ValueError where the words don't fit the shape."""
    listed: list[Any] = table.tolist() if isinstance(table, Tensor) else [*table]
    if not listed or not isinstance(listed[0], list | tuple):
        listed = [listed]
    height, width = len(listed), len(listed[0])
    before = _words(rows, height, [str(at) for at in range(height)])
    above = _words(columns, width, before if width == height else [str(at) for at in range(width)])
    if (height, width) != (len(before), len(above)) or any(len(row) != width for row in listed):
        shape = tuple(table.shape) if isinstance(table, Tensor) else (height, width)
        raise ValueError(f"table: got shape {shape}, expected ({len(before)}, {len(above)}), to fit its names")
    cells = [[_cell(value, form) for value in row] for row in listed]
    return [[title, *above], *([name, *row] for name, row in zip(before, cells, strict=True))]


def _words(names: Names, count: int, otherwise: list[str]) -> list[str]:
    if isinstance(names, str):
        return [names] if names and count == 1 else list(names) if names else otherwise
    return [str(name) for name in names]


def _cell(value: Any, form: str) -> str:
    return format(value, form) if isinstance(value, float) else str(value)


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
    """Draw one row of attention weights (T,) into its sentence: lines from the word at position `query` to the others,
    the thicker the larger the weight; a word's weight on itself is a dot above it. The weights stand below the words.
    """
    if row.shape != (len(words),):
        raise ValueError(f"row: got shape {tuple(row.shape)}, expected ({len(words)},), a weight for each word")
    for position, (word, weight) in enumerate(zip(words, row.tolist(), strict=True)):
        axes.text(position, 0, word, ha="center", va="top", weight="bold" if position == query else "normal")
        axes.text(position, -0.16, f"{weight:.2f}", ha="center", va="top", color="dimgrey", fontsize=9)
        if position == query:
            axes.plot(position, 0.08, "o", color="tab:blue", alpha=0.6, markersize=1.5 * WIDEST * weight)
            continue
        bend = f"arc3,rad={BEND if position < query else -BEND}"
        line = {"arrowstyle": "-", "connectionstyle": bend, "color": "tab:blue", "alpha": 0.6, "lw": WIDEST * weight}
        axes.annotate("", (position, 0.06), (query, 0.06), arrowprops=line)
    axes.set_title(title, loc="left", fontsize=9)
    axes.set(xlim=(-0.6, len(words) - 0.4), ylim=(-0.35, 1))
    axes.axis("off")


def _named(table: Tensor, rows: Sequence[str], columns: Sequence[str] | None) -> Sequence[str]:
    columns = rows if columns is None else columns
    if table.shape != (len(rows), len(columns)):
        raise ValueError(
            f"table: got shape {tuple(table.shape)}, expected ({len(rows)}, {len(columns)}), to fit its names"
        )
    return columns
