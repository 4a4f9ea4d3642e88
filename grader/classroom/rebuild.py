"""The notebook that goes to `autograded/`: the instructor's graded cells with their own metadata, the student's text in
between, the judge's words as output. Nothing else of the submission comes along: no metadata, no output, no attachment.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from grader.judge.feedback import as_html, as_text, preface
from grader.judge.outline import Outline
from grader.judge.reader import NotebookCell, Unreadable, read
from grader.judge.result import SubmissionResult

RESULT = "course_result"
_outline = lru_cache(maxsize=4)(Outline.of)  # of one class all are given back against the same


def rebuild(
    instructor: bytes, submission: bytes, result: SubmissionResult, max_bytes: int, max_cells: int
) -> dict[str, Any]:
    """The autograded notebook, as JSON has it."""
    source = json.loads(instructor)
    own = [cell for cell in source["cells"] if cell["cell_type"] == "code"]
    try:
        cells = read(submission, max_bytes, max_cells) if not result.unreadable else ()
    except Unreadable:
        cells = ()
    made = _Cells(own, _outline(instructor), result)
    for sentence in preface(result):
        made.markdown(f"**Note.** {_escaped(sentence)}")
    for cell in cells:
        made.take(cell)
    made.put_back()
    metadata = {**source.get("metadata", {}), RESULT: result.to_plain()}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": made.cells}


def _escaped(text: str) -> str:
    return "".join(f"&#{ord(c)};" if c in "<>&*_`[]()#!\\|~$" else c for c in text)


class _Cells:
    def __init__(self, own: list[dict[str, Any]], outline: Outline, result: SubmissionResult) -> None:
        self.own, self.outline, self.result = own, outline, result
        self.cells: list[dict[str, Any]] = []
        self.placed: set[int] = set()

    def take(self, cell: NotebookCell) -> None:
        """One of the student's cells."""
        if cell.kind == "markdown":
            self.markdown(cell.source)
        if cell.kind != "code":
            return
        found = self.outline.match(cell)
        marked = found is not None and "nbgrader" in self.own[found]["metadata"]
        if found is None or not marked or found in self.placed:
            self._code(cell.source, {})
            return
        self._place(found, cell.source)

    def put_back(self) -> None:
        """Every graded cell that the submission lacks, so that nothing is left without a mark."""
        for i, cell in enumerate(self.own):
            if "nbgrader" in cell["metadata"] and i not in self.placed:
                self._place(i, "")

    def _place(self, i: int, source: str) -> None:
        self.placed.add(i)
        cell = self.outline.cells[i]
        if cell.role == "solution":
            self._code(source, self.own[i]["metadata"])
            return
        if cell.role != "check":
            self._code(cell.source, self.own[i]["metadata"])
            return
        one = self.result[cell.exercise]
        bundle = {"text/html": as_html(one), "text/plain": as_text(one)}
        shown = {"output_type": "display_data", "metadata": {}, "data": bundle}
        self._code(cell.source, self.own[i]["metadata"], [shown])

    def markdown(self, source: str) -> None:
        """A Markdown cell: its text alone."""
        self.cells.append({"cell_type": "markdown", "id": self._id(), "metadata": {}, "source": source})

    def _code(self, source: str, metadata: dict[str, Any], outputs: list[dict[str, Any]] | None = None) -> None:
        self.cells.append(
            {
                "cell_type": "code",
                "id": self._id(),
                "metadata": json.loads(json.dumps(metadata)),
                "execution_count": 1 if outputs else None,
                "outputs": outputs or [],
                "source": source.encode("utf-8", "replace").decode(),
            }
        )

    def _id(self) -> str:
        return f"cell-{len(self.cells)}"
