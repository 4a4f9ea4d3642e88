"""What the judge takes from the instructor's notebook: which cells there are, what each is for, in which order."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from grader.exercises.own import OwnFiles
from grader.judge.reader import OWN_ANSWER, OWN_TEST, NotebookCell, cell_of

# Nothing that a check needs comes from these: they draw, they train, they install the course, they answer a prediction
# (often by training something), or they call what the check calls anyway.
SKIPPED = ("draw", "train", "install", "answer", "try")
# Cells that the course wrote: unchanged, they run only if something needs them.
EXAMPLES = ("example", "", *SKIPPED)


@dataclass(frozen=True)
class Outline:
    """What grading needs of the instructor's notebook."""

    cells: tuple[NotebookCell, ...]  # those of code, and the text cells that nbgrader knows
    own: OwnFiles = ()  # the files of the course's own exercises among them
    metadata: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)  # the notebook's
    cell_metadata: tuple[Mapping[str, Any], ...] = field(default=(), compare=False, repr=False)  # that of each cell
    # The SHA-256, in hex, of what a mark depends on: the cells' texts, ids and marks of nbgrader's and the course's,
    # and the own files. What an editor writes besides when it saves a notebook makes no other digest.
    digest: str = ""

    @classmethod
    def of(cls, notebook: bytes, own: OwnFiles = ()) -> Outline:
        """Make an outline from the bytes of `solutions/NN_name.ipynb` (or of the students' own
        `notebooks/NN_name.ipynb`); `own` are the files of the course's own exercises."""
        document = json.loads(notebook)
        found = [(cell, raw) for raw in document["cells"] if (cell := cell_of(raw)) is not None]
        found = [(cell, raw) for cell, raw in found if cell.kind == "code" or cell.grade_id]
        cells = [[cell.kind, cell.source, cell.id, _marks_of(raw)] for cell, raw in found]
        decides = {"cells": cells, "own_exercises": dict(own)}
        return cls(
            tuple(cell for cell, _raw in found),
            tuple(sorted(own)),
            document.get("metadata", {}),
            tuple(raw.get("metadata", {}) for _cell, raw in found),
            hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest(),
        )

    def notebook(self) -> dict[str, Any]:
        """A notebook of these cells, as a dict ready for JSON, without outputs."""
        cells: list[dict[str, Any]] = [
            {"cell_type": cell.kind, "id": cell.id, "metadata": dict(metadata), "source": cell.source}
            for cell, metadata in zip(self.cells, self.cell_metadata, strict=True)
        ]
        for cell in cells:
            if cell["cell_type"] == "code":
                cell |= {"outputs": [], "execution_count": None}
        return {"nbformat": 4, "nbformat_minor": 5, "metadata": dict(self.metadata), "cells": cells}

    @property
    def exercises(self) -> tuple[str, ...]:
        """The names of the exercises, in the order of their check cells."""
        return tuple(cell.exercise for cell in self.cells if cell.role == "check")

    @property
    def tests(self) -> tuple[str, ...]:
        """The grade_ids of the teacher's own test cells, in order."""
        return tuple(cell.grade_id for cell in self.cells if cell.role == OWN_TEST)

    @cached_property
    def _index(self) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
        numbered = list(enumerate(self.cells))[::-1]  # the first of equals is to win
        return (
            {cell.grade_id: i for i, cell in numbered if cell.grade_id},
            {cell.id: i for i, cell in numbered if cell.id},
            {self.texts[i]: i for i, cell in numbered if cell.role not in ("solution", OWN_ANSWER) and self.texts[i]},
        )

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The normal text of each cell, as students have it."""
        return tuple(normal(visible(cell.source) if cell.role == OWN_TEST else cell.source) for cell in self.cells)

    def match(self, cell: NotebookCell, text: str = "") -> int | None:
        """The place of the outline's cell that a student's cell is, by its grade_id, its id, or its source; None if it
        is none of them. `text` is the cell's normal text, "" where that hasn't been worked out yet."""
        by_grade_id, by_id, by_source = self._index
        for index, key in ((by_grade_id, cell.grade_id), (by_id, cell.id), (by_source, text or normal(cell.source))):
            if key and key in index:
                return index[key]
        return None


def _marks_of(raw: Mapping[str, Any]) -> dict[str, Any]:
    """What a cell's metadata say of its part in grading."""
    return {key: value for key, value in raw.get("metadata", {}).items() if key in ("course", "nbgrader")}


def normal(source: str) -> str:
    """The text of a cell without what an editor may change: white space at the ends of lines."""
    return "\n".join(line.rstrip() for line in source.strip().splitlines())


def visible(source: str) -> str:
    """A test cell without its hidden tests, as nbgrader cuts them.

    >>> visible("a\\n### BEGIN HIDDEN TESTS\\nb\\n### END HIDDEN TESTS\\nc")
    'a\\nc'
    """
    kept, hidden = [], False
    for line in source.split("\n"):
        if "BEGIN HIDDEN TESTS" in line or "END HIDDEN TESTS" in line:
            hidden = "BEGIN HIDDEN TESTS" in line
        elif not hidden:
            kept.append(line)
    return "\n".join(kept)
