"""From the instructor's notebook to the students', through nbgrader's own preprocessors."""

from __future__ import annotations

from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.preprocessors import (
    CheckCellMetadata,
    ClearHiddenTests,
    ClearMarkScheme,
    ComputeChecksums,
    LockCells,
    NbGraderPreprocessor,
)

from grader.source.preprocessors import AllowErrors, ClearCourseSolutions, ClearStudentOutput

# nbgrader's GenerateAssignment.preprocessors in its order. Left out: IncludeHeaderFooter and InstantiateTests, which
# want files of a course directory and change nothing here, and SaveCells, which wants a database.
PIPELINE: tuple[type[NbGraderPreprocessor], ...] = (
    LockCells,  # works from nbgrader's metadata alone
    ClearCourseSolutions,  # before any checksum: students' cells are what is summed
    ClearStudentOutput,  # after the solutions are cut: what is left of an output would be the solution's
    AllowErrors,  # beside the outputs: it tags the cells that have lost theirs because they may fail
    CheckCellMetadata,  # before the checksums, which read the metadata
    ComputeChecksums,  # as nbgrader does here, for SaveCells; made anew below
    ClearHiddenTests,  # after nbgrader has saved the cells with their hidden tests
    ClearMarkScheme,  # likewise
    ComputeChecksums,  # of the cells as students get them
    CheckCellMetadata,  # last: of what is written
)


def students_notebook(solution: NotebookNode) -> NotebookNode:
    """A copy of an executed instructor's notebook for students: solutions cut, examples with their outputs."""
    notebook = nbformat.from_dict(solution)
    resources: dict[str, Any] = {}
    for preprocessor in PIPELINE:
        notebook, resources = preprocessor().preprocess(notebook, resources)
    nbformat.validate(notebook)
    return notebook
