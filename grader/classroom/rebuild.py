"""The notebook that goes to `autograded/`: the instructor's graded cells with their own metadata, the student's text in
between, the judge's words as output. Nothing else of the submission comes along: no metadata, no output, no attachment.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from grader.classroom.feedback import as_html, as_text, footer, preface
from grader.judge.limits import Limits
from grader.judge.outline import Outline, outline_of
from grader.judge.reader import NotebookCell, Unreadable, read
from grader.judge.result import SubmissionResult

RESULT = "course_result"
MOST_TEXT = 200_000  # characters of text cells in a notebook; a lesson's own have 25,000
LEFT_OUT = f"**Note.** A text is left out here: the notebook has more than {MOST_TEXT} characters of text."


@dataclass(frozen=True)
class Release:
    """What the gradebook says of the released notebook: it has the last word on points and locked text. `cells` has by
    grade_id `checksum`, `locked`, `source`, and `points` where there are any."""

    kernelspec: Mapping[str, Any] = field(default_factory=dict)
    cells: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def rebuild(
    instructor: bytes, submission: bytes, result: SubmissionResult, release: Release, limits: Limits
) -> dict[str, Any]:
    """The autograded notebook, as JSON has it. `release` has the last word on points and locked text."""
    source = json.loads(instructor)
    own = [cell for cell in source["cells"] if cell["cell_type"] == "code"]
    try:
        cells = read(submission, limits.notebook_bytes, limits.cells) if not result.unreadable else ()
    except Unreadable:
        cells = ()
    made = _Cells(own, outline_of(instructor), result)
    for sentence in preface(result):
        made.markdown(f"**Note.** {_escaped(sentence)}")
    for cell in cells:
        made.take(cell)
    made.put_back()
    made.markdown(f"*{footer(result)}*")
    for finished in made.cells:
        _as_released(finished, release)
    metadata = {**source.get("metadata", {}), RESULT: result.to_plain()}
    if release.kernelspec:
        metadata["kernelspec"] = dict(release.kernelspec)
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": made.cells}


def _as_released(cell: dict[str, Any], release: Release) -> None:
    """What nbgrader's `OverwriteCells` does."""
    own = cell["metadata"].get("nbgrader")
    if own is None or own["grade_id"] not in release.cells:
        return
    released = release.cells[own["grade_id"]]
    own.update(checksum=released["checksum"], locked=released["locked"])
    if own["grade"] and float(own["points"]) != released["points"]:
        own["points"] = released["points"]
    if released["locked"]:
        cell["source"] = released["source"]


def _escaped(text: str) -> str:
    return "".join(f"&#{ord(c)};" if c in "<>&*_`[]()#!\\|~$" else c for c in text)


def dump(notebook: dict[str, Any]) -> bytes:
    """A notebook's bytes, as nbformat writes them but for the indentation: with a line for each cell the encoder is the
    one in C, which takes a sixth of the time."""
    for cell in notebook["cells"]:
        cell["source"] = cell["source"].splitlines(keepends=True)
        for output in cell.get("outputs", ()):
            output["data"] = {kind: text.splitlines(keepends=True) for kind, text in output["data"].items()}
    encode = json.JSONEncoder(sort_keys=True, ensure_ascii=False).encode
    rest = {name: value for name, value in notebook.items() if name != "cells"}
    cells = ",\n".join(map(encode, notebook["cells"]))
    return f'{{"cells": [\n{cells}\n],\n{encode(rest)[1:]}\n'.encode("utf-8", "replace")


class _Cells:
    def __init__(self, own: list[dict[str, Any]], outline: Outline, result: SubmissionResult) -> None:
        self.own, self.outline, self.result = own, outline, result
        self.cells: list[dict[str, Any]] = []
        self.placed: set[int] = set()
        self.text = 0

    def take(self, cell: NotebookCell) -> None:
        """One of the student's cells."""
        if cell.kind == "markdown":
            self.text += len(cell.source)
            self.markdown(cell.source if self.text <= MOST_TEXT else LEFT_OUT)
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
