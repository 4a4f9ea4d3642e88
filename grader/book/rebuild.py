"""The notebook that goes to `autograded/`: the instructor's graded cells with their own metadata, the student's text in
between, the judge's words as output. Nothing else of the submission comes along but its language: no metadata, no
output, no attachment.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from grader.course.release import Release
from grader.errors import Unreadable
from grader.judge.limits import Limits
from grader.judge.outline import Outline
from grader.judge.plan import as_code
from grader.judge.reader import OWN_ANSWER, OWN_TASK, OWN_TEST, NotebookCell, language_in, read
from grader.judge.result import SubmissionResult
from grader.judge.words import as_html, as_text, footer, preface, test_as_html
from grader.languages import ENGLISH, set_language

RESULT = "course_result"
GRADERS = ("solution", "check", "given", OWN_ANSWER, OWN_TEST, OWN_TASK)  # roles of the cells that nbgrader knows
MOST_TEXT = 200_000  # characters of text cells in a notebook; a lesson's own have 25,000
LEFT_OUT = f"**Note.** A text cell is left out here because the notebook has more than {MOST_TEXT} characters of text."


def rebuild(
    outline: Outline, submission: bytes, result: SubmissionResult, release: Release, limits: Limits
) -> dict[str, Any]:
    """The autograded notebook, as JSON has it. `outline` is the instructor's, `submission` the student's notebook, of
    which nothing is taken if it can't be read; `release` has the last word on points and locked text."""
    cells: tuple[NotebookCell, ...] = ()
    language = ENGLISH
    if not result.unreadable:
        with contextlib.suppress(Unreadable):
            cells = read(submission, limits.notebook_bytes, limits.cells)
            language = language_in(submission, limits.notebook_bytes, limits.cells)
    result = result.worth(release.points())
    made = _Cells(outline, result, release)
    for sentence in preface(result):
        made.markdown(f"**Note.** {_escaped(sentence)}")
    for cell in as_code(outline, cells)[0]:
        made.take(cell)
    made.put_back()
    made.markdown(f"*{footer(result)}*")
    for finished in made.cells:
        _as_released(finished, release)
    metadata = {**outline.metadata, RESULT: result.to_plain()}
    set_language(metadata, language)
    if release.kernelspec:
        metadata["kernelspec"] = dict(release.kernelspec)
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": made.cells}


@dataclass(frozen=True)
class OwnCell:
    """A teacher's own cell in the rebuilt notebook: what it earns, in points (None: a mark by hand), and whether it is
    an answer that is as it was handed out."""

    score: float | None
    unanswered: bool


@dataclass(frozen=True)
class StoredNotebook:
    """A rebuilt notebook's bytes, and by grade_id the teacher's own cells in it."""

    notebook: bytes
    own: Mapping[str, OwnCell] = field(default_factory=dict)


def stored_notebook(
    outline: Outline, submission: bytes, result: SubmissionResult, release: Release, limits: Limits
) -> StoredNotebook:
    """What is stored of a graded submission beside its result; the arguments are `rebuild`'s."""
    made = rebuild(outline, submission, result, release, limits)
    own = own_cells(made["cells"], result)
    return StoredNotebook(dump(made), own)


def own_cells(cells: Iterable[Mapping[str, Any]], result: SubmissionResult) -> dict[str, OwnCell]:
    """The teacher's own cells of a rebuilt notebook, by grade_id. A test earns what the judge says, an answer that is
    marked by hand nothing if it is as it was handed out."""
    tests = {test.grade_id: test for test in result.tests}
    found = {}
    for cell in cells:
        about = cell["metadata"].get("nbgrader")
        if about is None or cell["metadata"].get("course", {}).get("exercise"):
            continue
        unanswered = bool(about.get("solution")) and about.get("checksum") == _checksum(cell)
        score = None
        if about.get("grade") and about["grade_id"] in tests:
            score = tests[about["grade_id"]].mark(float(about["points"]))
        elif about.get("grade") and unanswered:
            score = 0.0
        found[about["grade_id"]] = OwnCell(score, unanswered)
    return found


def _checksum(cell: Mapping[str, Any]) -> str:
    """A cell's checksum as `nbgrader generate_assignment` stores it, to tell whether a student changed the cell."""
    from nbformat import from_dict  # only a course with cells of the teacher's own waits for nbgrader
    from nbgrader.utils import compute_checksum

    return str(compute_checksum(from_dict(cell)))


def _as_released(cell: dict[str, Any], release: Release) -> None:
    """Set a cell's checksum, lock and points, and a locked cell's source, to what was released, as nbgrader's
    `OverwriteCells` does."""
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
    """A notebook's bytes, as nbformat writes them but for the indentation. With a line for each cell the encoder is the
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
    def __init__(self, outline: Outline, result: SubmissionResult, release: Release) -> None:
        self.outline, self.result, self.release = outline, result, release
        self.cells: list[dict[str, Any]] = []
        self.placed: set[int] = set()
        self.text = 0

    def take(self, cell: NotebookCell) -> None:
        """Put one of the student's cells where it belongs in the rebuilt notebook."""
        source = cell.source
        if cell.kind == "markdown":
            self.text += len(source)
            source = source if self.text <= MOST_TEXT else LEFT_OUT
        found = self.outline.match(cell)  # an answer in text may have become a raw cell
        if found is not None and self._is_graders(found) and found not in self.placed and self._fits(found, cell):
            self._place(found, source)
        elif cell.kind == "markdown":
            self.markdown(source)
        elif cell.kind == "code":
            self._cell("code", source, {})

    def _is_graders(self, i: int) -> bool:
        """Whether the instructor's cell at an index is one that nbgrader knows."""
        return "nbgrader" in self.outline.cell_metadata[i] and self.outline.cells[i].role in GRADERS

    def _fits(self, i: int, cell: NotebookCell) -> bool:
        """Whether a cell may stand in the place of the instructor's: what is kept as text beside code may not."""
        return cell.kind == "code" or self.outline.cells[i].kind == "markdown"

    def put_back(self) -> None:
        """Put in every graded cell that the submission lacks, so that nothing is left without a mark."""
        for i in range(len(self.outline.cells)):
            if self._is_graders(i) and i not in self.placed:
                self._place(i, "")

    def _place(self, i: int, source: str) -> None:
        self.placed.add(i)
        cell, metadata = self.outline.cells[i], self.outline.cell_metadata[i]
        if cell.role in ("solution", OWN_ANSWER):
            self._cell(cell.kind, source, metadata)
        elif cell.role == "check":
            checked = self.result[cell.exercise]
            bundle = {"text/html": as_html(checked), "text/plain": as_text(checked)}
            shown = {"output_type": "display_data", "metadata": {}, "data": bundle}
            self._cell("code", cell.source, metadata, [shown])
        elif cell.role == OWN_TEST and cell.kind == "code":
            self._cell("code", cell.source, metadata, [self._test_output(cell.grade_id, metadata)])
        else:
            self._cell(cell.kind, cell.source, metadata)

    def _test_output(self, grade_id: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """An output with the points of a teacher's own test, for whoever looks at the notebook."""
        test = next(test for test in self.result.tests if test.grade_id == grade_id)
        released = self.release.cells.get(grade_id, {}).get("points")
        points = float(metadata["nbgrader"]["points"] if released is None else released)
        bundle = {"text/html": test_as_html(test, points), "text/plain": repr(test.mark(points))}
        return {"output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": bundle}

    def markdown(self, source: str) -> None:
        """Add a Markdown cell with this text."""
        self._cell("markdown", source, {})

    def _cell(
        self, kind: str, source: str, metadata: Mapping[str, Any], outputs: list[dict[str, Any]] | None = None
    ) -> None:
        made = {"execution_count": 1 if outputs else None, "outputs": outputs or []} if kind == "code" else {}
        self.cells.append(
            {
                "cell_type": kind,
                "id": self._id(),
                "metadata": json.loads(json.dumps(metadata)),
                "source": source.encode("utf-8", "replace").decode(),
                **made,
            }
        )

    def _id(self) -> str:
        return f"cell-{len(self.cells)}"
