"""Reads a notebook that nobody vouches for: the text of its cells and the marks by which they are known again.

Nothing else is taken. Whatever is broken in a cell costs that cell only; what can't be read at all is an `Unreadable`
with a sentence for the student. A large file, which is large by its outputs, is read without building them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from grader.judge.large_notebook import NoCells, raw_cells
from grader.judge.skim import TooManyValues

MIB = 2**20
# In characters: of one cell (a longer one is left out), and of all cells.
MAX_SOURCE, MAX_SOURCES = 1_000_000, 20_000_000
# Up to here `json.loads` is the faster way, and what it builds is small enough.
SMALL = 2 * MIB
CLEAR = "Clear its outputs (in JupyterLab: Edit, Clear Outputs of All Cells) and save it."


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


def read(data: bytes, max_bytes: int, max_cells: int) -> tuple[NotebookCell, ...]:
    """The cells of a notebook, Markdown included, in order."""
    # It is read to grade it, and once more to give it back. A large one is not kept in memory for that.
    return (_read_once if len(data) <= SMALL else _read)(data, max_bytes, max_cells)


def small_form(data: bytes, max_bytes: int, max_cells: int) -> bytes:
    """A notebook with nothing in it but what `read` takes of `data`: `read` gives the same for both. Made once, where
    the file lies: its outputs needn't travel."""
    cells = [_as_json(cell) for cell in read(data, max_bytes, max_cells)]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}).encode()


def too_large(size: int, max_bytes: int) -> Unreadable:
    """Why a file of `size` bytes isn't read, and what to do."""
    limit = f"{max_bytes} are read ({size / MIB:.0f} MB and {max_bytes / MIB:.0f} MB)"
    return Unreadable(f"The file has {size} bytes; at most {limit}. {CLEAR}")


def _as_json(cell: NotebookCell) -> dict[str, Any]:
    metadata = {
        "nbgrader": {"grade_id": cell.grade_id} if cell.grade_id else {},
        "course": {"role": cell.role, "exercise": cell.exercise},
    }
    return {"cell_type": cell.kind, "id": cell.id, "metadata": metadata, "source": cell.source}


def _read(data: bytes, max_bytes: int, max_cells: int) -> tuple[NotebookCell, ...]:
    if len(data) > max_bytes:
        raise too_large(len(data), max_bytes)
    if not data.strip():
        raise Unreadable("The file is empty.")
    try:
        return _known(_whole(data) if len(data) <= SMALL else raw_cells(data), max_cells)
    except Unreadable:
        raise
    except NoCells:
        raise Unreadable("The file is not a notebook: it has no cells.") from None
    except TooManyValues:
        raise Unreadable(f"The file can't be read: it holds too many values. {CLEAR}") from None
    except UnicodeDecodeError:
        raise Unreadable("The file is not a notebook: it is not UTF-8 text.") from None
    except (ValueError, RecursionError):
        raise Unreadable("The file is not a notebook: it is not valid JSON (was it cut off?).") from None


_read_once = lru_cache(maxsize=4)(_read)


def _known(raw_cells: Iterable[Any], max_cells: int) -> tuple[NotebookCell, ...]:
    """What is taken of the cells."""
    cells: list[NotebookCell] = []
    count = characters = 0
    for raw in raw_cells:
        count += 1
        cell = _cell(raw) if count <= max_cells else None
        if cell is not None:
            cells.append(cell)
            characters += len(cell.source)
        if characters > MAX_SOURCES:
            raise Unreadable(f"The text of the notebook's cells has more than {MAX_SOURCES} characters.")
    if count > max_cells:
        raise Unreadable(f"The notebook has {count} cells; at most {max_cells} are read.")
    return tuple(cells)


def _whole(data: bytes) -> list[Any]:
    """The cells of a notebook as JSON has them."""
    document = json.loads(data.decode("utf-8-sig"))
    if isinstance(document, dict):
        if isinstance(document.get("cells"), list):
            return document["cells"]
        sheets = document.get("worksheets")  # format 3, from before 2015
        if isinstance(sheets, list) and sheets:
            return [cell for sheet in sheets for cell in _list(_dict(sheet).get("cells"))]
    raise NoCells


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
