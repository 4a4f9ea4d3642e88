"""What the cells of an executed lesson printed, to be compared with the figures of its source documents.

A printed tensor is known by the line above it, so that a right figure under a wrong name fails too.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

SOLUTIONS = Path(__file__).parents[2] / "solutions"
# A label on a line of its own, then a tensor; the dtype may follow.
LABELLED = re.compile(r"^([^\n]+)\ntensor\(([\[\]\w\s.,+-]+?)(?:,\s+dtype=torch\.\w+)?\)$", re.MULTILINE)

# In units of the last digit printed: 0.5 for its rounding, 0.05 for that of the source's one digit more.
TOLERANCE = 0.56


def printed_text(lesson: str) -> str:
    """All that the cells of `solutions/LESSON.ipynb` printed or showed as tables, in order."""
    cells = json.loads((SOLUTIONS / f"{lesson}.ipynb").read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    return "\n".join("".join(map(_text, cell["outputs"])) for cell in code)


def _text(output: dict[str, Any]) -> str:
    if output["output_type"] == "stream":
        return "".join(output["text"])
    data = output.get("data", {})
    return "".join(data["text/plain"]) + "\n" if "<table>" in "".join(data.get("text/html", "")) else ""


def labelled(text: str) -> dict[str, list[str]]:
    """The tensors printed under each label, as they were printed."""
    found: dict[str, list[str]] = {}
    for label, numbers in LABELLED.findall(text):
        found.setdefault(label, []).append(numbers)
    return found


def printed_tensors(text: str) -> dict[str, list[Any]]:
    """The same as nested lists; those that hold NaN are left out.

    >>> printed_tensors("scores\\ntensor([[2., -inf]])\\nhide\\ntensor([False,  True])\\n")
    {'scores': [[[2.0, -inf]]], 'hide': [[False, True]]}
    """
    return {
        label: [ast.literal_eval(numbers.replace("inf", "1e999")) for numbers in shown if "nan" not in numbers]
        for label, shown in labelled(text).items()
    }


def named_tables(text: str, title: str, rows: int = 1) -> list[list[list[str]]]:
    """The numbers, as they were printed, of every table with that title that `show` shows.

    >>> named_tables("scores  a    b\\na       1    2\\nb       3  4e0\\n", "scores", rows=2)
    [[['1', '2'], ['3', '4e0']]]
    """
    return [[row[1:] for row in table] for table in named_rows(text, title, rows)]


def named_rows(text: str, title: str, rows: int = 1) -> list[list[list[str]]]:
    """The same with the word of each row in front."""
    lines = [*map(cells_of, text.splitlines())]
    heads = [at for at, cells in enumerate(lines) if cells[0] == title and len(cells) > 1]
    return [[row for row in lines[at + 1 : at + 1 + rows] if len(row) == len(lines[at])] for at in heads]


def cells_of(line: str) -> list[str]:
    """What stands in a line of a table."""
    return re.split(r"\s{2,}", line.rstrip())


def unit(number: str) -> float:
    """The worth of a printed number's last digit: 1e-07 for "-7.129e-04". Torch drops the decimals of whole numbers."""
    mantissa, _, exponent = number.partition("e")
    decimals = len(mantissa.partition(".")[2]) or 4
    return float(f"1e{int(exponent or 0) - decimals}")


def rounds_to(printed: str, source: Any) -> bool:
    """Whether each of the source's numbers rounds to the one printed in its place."""
    numbers = re.findall(r"-?\d+\.?\d*(?:e[+-]\d+)?", printed)
    flat = source if isinstance(source, list) else [source]
    return len(numbers) == len(flat) and all(
        abs(float(number) - right) <= TOLERANCE * unit(number) for number, right in zip(numbers, flat, strict=True)
    )
