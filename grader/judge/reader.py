"""Reads a notebook that nobody vouches for: the text of its cells and the marks by which they are known again.

Of its metadata only the language is taken. Whatever is broken in a cell costs that cell only; what can't be read at all
is an `Unreadable` with a sentence for the student. Outputs and attachments are dropped while it is parsed.
"""

from __future__ import annotations

import codecs
import json
import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

from grader.errors import Unreadable
from grader.languages import ENGLISH, known, language_of, set_language
from grader.plain import dict_in, list_in
from grader.sentences import say, together

MIB = 2**20
# Characters of all cells together. One cell that is too long for its process is left out when it is its turn.
MAX_SOURCES = 20_000_000
# A larger file is looked at before it is parsed: 100 MB of small values would become gigabytes of Python objects.
SMALL = 4 * MIB
MAX_VALUES = 10_000_000
# A string, whatever is in it, or the beginning of another value. A string that is never closed ends with the file.
TOKEN = re.compile(rb'[\[{,]|"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
# What Git writes at the beginning of a line where two versions contradict each other.
CONFLICT = re.compile(rb"^(<<<<<<<|>>>>>>>) ", re.MULTILINE)
DROPPED = ("outputs", "attachments")
# The roles of cells of nbgrader's own kinds, which a teacher adds: an answer (code or text), a test, a task.
OWN_ANSWER, OWN_TEST, OWN_TASK = "own-answer", "own-test", "own-task"
CLEAR = say("Clear its outputs (in JupyterLab: Edit, Clear Outputs of All Cells) and save it.")


@dataclass(frozen=True)
class NotebookCell:
    """One cell of a notebook. One of a teacher's own has the role that nbgrader's metadata give it."""

    kind: str  # "code" or "markdown", as notebooks have it
    source: str
    id: str = ""
    grade_id: str = ""  # "" where its metadata have none, as with the next two
    role: str = ""
    exercise: str = ""


def read(data: bytes, max_bytes: int, max_cells: int) -> tuple[NotebookCell, ...]:
    """The cells of a notebook, Markdown included, in order. Raises `Unreadable`, with a sentence for the student, for
    more than `max_bytes` or `max_cells`, and for whatever isn't a notebook."""
    return _read(data, max_bytes, max_cells)[0]


def language_in(data: bytes, max_bytes: int, max_cells: int) -> str:
    """The code of the language in which a notebook says its text is; English where it names none that there is. Raises
    `Unreadable` as `read` does."""
    return _read(data, max_bytes, max_cells)[1]


@lru_cache(maxsize=4)  # it is read to grade it, and once more to give it back
def _read(data: bytes, max_bytes: int, max_cells: int) -> tuple[tuple[NotebookCell, ...], str]:
    if len(data) > max_bytes:
        raise too_large(len(data), max_bytes)
    if not data.strip():
        raise Unreadable(say("The file is empty."))
    if len(data) > SMALL and _has_too_many_values(data):
        raise Unreadable(together(say("The file can't be read because it has too many values."), CLEAR))
    try:
        document = json.loads(data.decode("utf-8-sig"), object_pairs_hook=_without_outputs)
    except UnicodeDecodeError:
        raise Unreadable(_not_utf8(data)) from None
    except (ValueError, RecursionError):
        raise Unreadable(_not_json(data)) from None
    return _known(_raw_cells(document), max_cells), known(language_of(dict_in(document))) or ENGLISH


def _not_utf8(data: bytes) -> str:
    """Why bytes that aren't UTF-8 are no notebook, as a sentence."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return say("The file was saved as UTF-16 text, but a notebook is UTF-8 text. Save it again from Jupyter.")
    return say("The file is not a notebook, since it isn't UTF-8 text.")


def _not_json(data: bytes) -> str:
    """Why bytes that aren't JSON are no notebook, as a sentence."""
    if CONFLICT.search(data):
        return say(
            "The file is not a notebook, since Git has left the marks of a merge conflict in it (`<<<<<<<`). Keep one "
            "of the two versions, and open the file in Jupyter to see that it is whole."
        )
    return say("The file is not a notebook, since it isn't valid JSON (was it cut off?).")


def _has_too_many_values(data: bytes) -> bool:
    return next(islice(TOKEN.finditer(data), MAX_VALUES, None), None) is not None


def _without_outputs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {key: value for key, value in pairs if key not in DROPPED}


def small_form(data: bytes, max_bytes: int, max_cells: int) -> bytes:
    """A notebook, as bytes, with nothing in it but what `read` takes of `data`: `read` gives the same for both. It is
    made where the file lies, so that its outputs needn't travel."""
    found, language = _read(data, max_bytes, max_cells)
    metadata: dict[str, Any] = {}
    set_language(metadata, language)
    cells = list(map(_as_json, found))
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells}).encode()


def too_large(size: int, max_bytes: int) -> Unreadable:
    """The error for a file of `size` bytes, which is more than `max_bytes`: it says what to do."""
    said = say(
        "The file has {size} bytes; at most {most} are read ({size_in_mb} MB and {most_in_mb} MB).",
        size=size,
        most=max_bytes,
        size_in_mb=f"{size / MIB:.0f}",
        most_in_mb=f"{max_bytes / MIB:.0f}",
    )
    return Unreadable(together(said, CLEAR))


def _as_json(cell: NotebookCell) -> dict[str, Any]:
    metadata = {
        "nbgrader": {"grade_id": cell.grade_id} if cell.grade_id else {},
        "course": {"role": cell.role, "exercise": cell.exercise},
    }
    return {"cell_type": cell.kind, "id": cell.id, "metadata": metadata, "source": cell.source}


def _known(raw_cells: list[Any], max_cells: int) -> tuple[NotebookCell, ...]:
    """What is taken of the cells; those that aren't cells are left out. `Unreadable` if there are too many, or too much
    text."""
    if len(raw_cells) > max_cells:
        raise Unreadable(
            say("The notebook has {count} cells; at most {most} are read.", count=len(raw_cells), most=max_cells)
        )
    cells = tuple(cell for cell in map(cell_of, raw_cells) if cell is not None)
    if sum(len(cell.source) for cell in cells) > MAX_SOURCES:
        raise Unreadable(say("The text of the notebook's cells has more than {most} characters.", most=MAX_SOURCES))
    return cells


def _raw_cells(document: Any) -> list[Any]:
    """The cells of a notebook as JSON has them, also of format 3; `Unreadable` if there are none."""
    if isinstance(document, dict):
        if isinstance(document.get("cells"), list):
            return document["cells"]
        sheets = document.get("worksheets")  # format 3, from before 2015
        if isinstance(sheets, list) and sheets:
            return [cell for sheet in sheets for cell in list_in(dict_in(sheet).get("cells"))]
    raise Unreadable(say("The file is not a notebook, since it has no cells."))


def _word(value: Any) -> str:
    return value if isinstance(value, str) and len(value) <= 200 else ""


def cell_of(raw: Any) -> NotebookCell | None:
    """What is taken of a cell as JSON has it; None if it isn't one."""
    if not isinstance(raw, dict) or not isinstance(raw.get("cell_type"), str):
        return None
    source = raw.get("source", raw.get("input", ""))
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    if not isinstance(source, str):
        return None
    metadata = dict_in(raw.get("metadata"))
    course, nbgrader = dict_in(metadata.get("course")), dict_in(metadata.get("nbgrader"))
    return NotebookCell(
        kind=raw["cell_type"],
        source=source,
        id=_word(raw.get("id")),
        grade_id=_word(nbgrader.get("grade_id")),
        role=_word(course.get("role")) or _own_role(nbgrader),
        exercise=_word(course.get("exercise")),
    )


def _own_role(nbgrader: dict[str, Any]) -> str:
    """The role of a cell by nbgrader's metadata alone; empty if it has none."""
    for key, role in (("solution", OWN_ANSWER), ("grade", OWN_TEST), ("task", OWN_TASK), ("locked", "given")):
        if nbgrader.get(key) is True:
            return role
    return ""
