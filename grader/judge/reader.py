"""Reads a notebook that nobody vouches for: the text of its code cells and the marks by which they are known again.

Nothing else is taken. Whatever is broken in a cell costs that cell only; what can't be read at all is an `Unreadable`
with a sentence for the student.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

MAX_SOURCE = 1_000_000


class Unreadable(ValueError):
    """The file is not a notebook. The message is for the student."""


@dataclass(frozen=True)
class NotebookCell:
    """One cell of a notebook. `grade_id`, `role` and `exercise` are empty where its metadata doesn't give them."""

    kind: str
    source: str
    id: str = ""
    grade_id: str = ""
    role: str = ""
    exercise: str = ""


@lru_cache(maxsize=4)  # it is read to grade it, and once more to give it back
def read(data: bytes, max_bytes: int, max_cells: int) -> tuple[NotebookCell, ...]:
    """The cells of a notebook, Markdown included, in order."""
    if len(data) > max_bytes:
        raise Unreadable(
            f"The file has {len(data)} bytes; at most {max_bytes} are read. Clear its outputs and save it."
        )
    if not data.strip():
        raise Unreadable("The file is empty.")
    try:
        document = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise Unreadable("The file is not a notebook: it is not UTF-8 text.") from None
    except (ValueError, RecursionError):
        raise Unreadable("The file is not a notebook: it is not valid JSON (was it cut off?).") from None
    cells = _cells(document)
    if len(cells) > max_cells:
        raise Unreadable(f"The notebook has {len(cells)} cells; at most {max_cells} are read.")
    return tuple(cell for cell in map(_cell, cells) if cell is not None)


def _cells(document: Any) -> list[Any]:
    if isinstance(document, dict):
        if isinstance(document.get("cells"), list):
            return document["cells"]
        sheets = document.get("worksheets")  # format 3, from before 2015
        if isinstance(sheets, list) and sheets and all(isinstance(sheet, dict) for sheet in sheets):
            return [cell for sheet in sheets for cell in _list(sheet.get("cells"))]
    raise Unreadable("The file is not a notebook: it has no cells.")


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _word(value: Any) -> str:
    return value if isinstance(value, str) and len(value) <= 200 else ""


def _cell(raw: Any) -> NotebookCell | None:
    if not isinstance(raw, dict) or not isinstance(raw.get("cell_type"), str):
        return None
    source = raw.get("source", raw.get("input", ""))
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    if not isinstance(source, str) or len(source) > MAX_SOURCE:
        return None
    metadata = _dict(raw.get("metadata"))
    course = _dict(metadata.get("course"))
    return NotebookCell(
        kind=raw["cell_type"],
        source=source,
        id=_word(raw.get("id")),
        grade_id=_word(_dict(metadata.get("nbgrader")).get("grade_id")),
        role=_word(course.get("role")),
        exercise=_word(course.get("exercise")),
    )
