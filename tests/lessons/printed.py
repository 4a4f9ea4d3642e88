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


def printed_text(lesson: str) -> str:
    """All that the cells of `solutions/LESSON.ipynb` printed, in order; an output may come in several pieces."""
    cells = json.loads((SOLUTIONS / f"{lesson}.ipynb").read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    streams = [[o for o in cell["outputs"] if o["output_type"] == "stream"] for cell in code]
    return "\n".join("".join("".join(output["text"]) for output in pieces) for pieces in streams)


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
