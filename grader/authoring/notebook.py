"""From a lesson's cells to the instructor's notebook, not yet executed: ids, metadata, tags (nbformat 4.5)."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import nbformat
from nbformat import NotebookNode

from grader.authoring.lesson import Lesson, LessonCell
from grader.authoring.prose import filled
from grader.spec.exercise import Exercise

# Without versions: a patch release of Python must not change every notebook. The lexer and the mode colour the cells
# before a kernel runs.
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {
        "codemirror_mode": {"name": "ipython", "version": 3},
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "nbconvert_exporter": "python",
        "pygments_lexer": "ipython3",
    },
}
EXAMPLE = "example"
ANSWER_HINT = "# Run this cell, too. What it shows appears once you have guessed."
# The first cell of every notebook, for wherever one is opened without the course: Google Colab, VS Code. What it
# installs is an address, or the wheel beside the notebook.
INSTALL_ID = "install-the-course"
INSTALL_CELL = """\
# Installs the course where it is missing, as on Google Colab. Elsewhere this cell does nothing.
try:
    import grader
except ModuleNotFoundError:
    {install}"""
FROM_ADDRESS = '%pip install --quiet "{address}"'
FROM_FILE = """\
from glob import glob

    if wheels := sorted(glob("attention_course-*.whl")):
        %pip install --quiet "./{wheels[-1]}"
    else:
        print("This kernel does not have the course. Choose one that has it, or put the course's wheel,")
        print("attention_course-….whl from its zip, beside this notebook. Then run this cell again.")"""


def instructors_notebook(lesson: Lesson, exercises: Mapping[str, Exercise]) -> NotebookNode:
    """The notebook of a lesson without problems, with its code not yet executed; a valid source for nbgrader."""
    notebook = nbformat.v4.new_notebook(metadata=nbformat.from_dict(METADATA))
    notebook.nbformat_minor = 5
    givens = iter(f"given-{number}" for number in range(1, len(lesson.cells) + 1))
    parts = zip(lesson.cells, filled(lesson), ids(lesson), lesson.collapsed, strict=True)
    for cell, source, cell_id, collapsed in parts:
        if cell.explains:  # the text of the answer is in no cell (`answers.py`)
            notebook.cells[-1].source = f"{ANSWER_HINT}\n{notebook.cells[-1].source}"
        elif cell.is_code:
            metadata = _metadata(cell, exercises, givens)
            if collapsed:  # JupyterLab shows the first line
                metadata["jupyter"] = {"source_hidden": True}
            notebook.cells.append(nbformat.v4.new_code_cell(source, id=cell_id, metadata=metadata))
        else:
            notebook.cells.append(nbformat.v4.new_markdown_cell(source, id=cell_id))
    nbformat.validate(notebook)
    return notebook


def ids(lesson: Lesson) -> Iterator[str]:
    """The ids of a lesson's cells. jupytext draws them at random; these stay what they are while a cell's exercise, or
    else its source, does."""
    seen: Counter[str] = Counter()
    for cell in lesson.cells:
        if cell.exercise:
            yield f"{cell.exercise}-{cell.role}"
            continue
        digest = id_of(cell.kind, cell.source)
        seen[digest] += 1
        yield digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"


def id_of(kind: str, source: str) -> str:
    """The id of the first cell of a kind, "code" or "markdown", with this source."""
    return hashlib.sha256(f"{kind}\n{source}".encode()).hexdigest()[:12]


def _metadata(cell: LessonCell, exercises: Mapping[str, Exercise], givens: Iterator[str]) -> dict[str, Any]:
    """A cell's metadata: `course` is for this course's own tools, `nbgrader` for nbgrader, `tags` for nbval, `jupyter`
    for JupyterLab. `givens` are the grade_ids of given cells that are still free."""
    course = {"role": cell.role or EXAMPLE}
    metadata: dict[str, Any] = {"course": course}
    if cell.exercise:
        course |= {"exercise": cell.exercise, "kind": exercises[cell.exercise].kind}
    if cell.timed:
        metadata["tags"] = ["nbval-ignore-output"]
    if cell.role == "solution":
        metadata["nbgrader"] = nbgrader_metadata(cell.exercise, solution=True)
    elif cell.role == "check":
        points = exercises[cell.exercise].points
        graded = {"grade": True, "locked": True, "points": int(points) if points == int(points) else points}
        metadata["nbgrader"] = nbgrader_metadata(f"{cell.exercise}-check", **graded)
    elif cell.role == "given":
        metadata["nbgrader"] = nbgrader_metadata(next(givens), locked=True)
    return metadata


def nbgrader_metadata(grade_id: str, **fields: Any) -> dict[str, Any]:
    """nbgrader's own metadata of a cell: all its flags False and no points, but for those in `fields`."""
    plain = {"schema_version": 3, "grade": False, "solution": False, "locked": False, "task": False}
    return plain | {"grade_id": grade_id} | fields


def install_source(address: str) -> str:
    """The source of the first cell, which installs the course. `address` is where the wheel lies; with "" the cell
    looks for a file beside the notebook."""
    return INSTALL_CELL.format(install=FROM_ADDRESS.format(address=address) if address else FROM_FILE)


def with_install_cell(notebook: NotebookNode, address: str) -> NotebookNode:
    """A copy with the cell in front that installs the course, from the wheel at `address` or, with "", from a file. It
    is no cell of the lesson, and the build doesn't run it. JupyterLab shows its first line only."""
    metadata = {"course": {"role": "install"}, "jupyter": {"source_hidden": True}}
    cell = nbformat.v4.new_code_cell(install_source(address), id=INSTALL_ID, metadata=metadata)
    return nbformat.from_dict({**notebook, "cells": [cell, *notebook.cells]})


def without_install_cell(notebook: NotebookNode) -> NotebookNode:
    """A copy with the lesson's own cells only."""
    return nbformat.from_dict({**notebook, "cells": [cell for cell in notebook.cells if cell.get("id") != INSTALL_ID]})


def dumps(notebook: NotebookNode) -> str:
    """A notebook as it is written to a file: sorted keys, one space of indent, a newline at the end."""
    return str(nbformat.writes(notebook)).rstrip("\n") + "\n"


def loads(text: str) -> NotebookNode:
    """A notebook from a file's text; nothing is upgraded or repaired."""
    return nbformat.reads(text, as_version=nbformat.NO_CONVERT)


def without_outputs(notebook: NotebookNode) -> NotebookNode:
    """A copy as the notebook was before it was executed: without outputs and execution counts."""
    bare = nbformat.from_dict(notebook)
    for cell in bare.cells:
        if cell.cell_type == "code":
            cell.outputs = []
            cell.execution_count = None
    return bare
