"""The settings of a course directory: what its `nbgrader_config.py` calls."""

from __future__ import annotations

from typing import Any

from nbgrader.preprocessors import (
    AssignLatePenalties,
    CheckCellMetadata,
    ClearHiddenTests,
    ClearMarkScheme,
    ComputeChecksums,
    IncludeHeaderFooter,
    LockCells,
    OverwriteCells,
    OverwriteKernelspec,
    SaveAutoGrades,
    SaveCells,
)

from grader.build.preprocessors import AllowErrors, ClearCourseSolutions, ClearStudentOutput
from grader.classroom.autograde import JudgingExporter, RecordResult, remove_irregular
from grader.classroom.exchange import CollectRegularFiles

# nbgrader's own list and order, with this course's ways of clearing in place of nbgrader's.
GENERATE = [
    IncludeHeaderFooter,
    LockCells,
    ClearCourseSolutions,  # knows the stub of a quiz
    ClearStudentOutput,  # worked examples keep their outputs
    AllowErrors,
    CheckCellMetadata,
    ComputeChecksums,
    SaveCells,
    ClearHiddenTests,
    ClearMarkScheme,
    ComputeChecksums,
    CheckCellMetadata,
]
# Of what the exporter has rebuilt: the gradebook has the last word on points and locked text.
SANITIZE = [OverwriteKernelspec, OverwriteCells, CheckCellMetadata]
# nbgrader's Execute is not there: nothing of a student runs outside the judge's sandbox.
AUTOGRADE = [
    SaveAutoGrades,  # makes the rows of the gradebook; what it reads from outputs is replaced at once
    RecordResult,
    AssignLatePenalties,  # from the marks just stored
    CheckCellMetadata,
]


def configure(c: Any, root: str, course_id: str) -> None:
    """Plug the judge into nbgrader. Anything set afterwards in nbgrader_config.py wins."""
    c.CourseDirectory.root = root
    c.CourseDirectory.course_id = course_id
    c.GenerateAssignment.preprocessors = GENERATE
    c.Autograde.exporter_class = JudgingExporter
    c.Autograde.sanitize_preprocessors = SANITIZE
    c.Autograde.autograde_preprocessors = AUTOGRADE
    c.Autograde.pre_convert_hook = remove_irregular
    c.ExchangeFactory.collect = CollectRegularFiles
    c.HTMLExporter.filters = {"markdown2html": "grader.classroom.safe_html.markdown2html"}
