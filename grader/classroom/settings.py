"""The settings of a course directory: what its `nbgrader_config.py` calls.

nbgrader's parts are named, not imported: nbgrader imports what a command needs, and others that read the settings
(`grader autograde`) don't wait for it.
"""

from __future__ import annotations

import contextlib
import os
import sysconfig
from pathlib import Path
from typing import Any

from grader.classroom.sharing import is_shared

NBGRADER, HERE = "nbgrader.preprocessors", "grader.classroom"

# nbgrader's own list and order, with this course's ways of clearing in place of nbgrader's.
GENERATE = [
    f"{NBGRADER}.IncludeHeaderFooter",
    f"{NBGRADER}.LockCells",
    f"{HERE}.preprocessors.ClearCourseSolutions",  # knows the stub of a quiz
    f"{HERE}.preprocessors.ClearStudentOutput",  # worked examples keep their outputs
    f"{HERE}.preprocessors.AllowErrors",
    f"{HERE}.preprocessors.TellCourse",  # check() and the table of progress go by it
    f"{NBGRADER}.CheckCellMetadata",
    f"{NBGRADER}.ComputeChecksums",
    f"{NBGRADER}.SaveCells",
    f"{NBGRADER}.ClearHiddenTests",
    f"{NBGRADER}.ClearMarkScheme",
    f"{NBGRADER}.ComputeChecksums",
    f"{NBGRADER}.CheckCellMetadata",
]
# The exporter has rebuilt the notebook already, with the gradebook's last word on points and locked text.
SANITIZE = [f"{NBGRADER}.CheckCellMetadata"]
# nbgrader's Execute is not there: nothing of a student runs outside the judge's sandbox.
AUTOGRADE = [
    f"{HERE}.autograde.RecordResult",  # marks, comments and the late penalty, of a teacher's own cells too
    f"{NBGRADER}.CheckCellMetadata",
]


FEEDBACK = [
    f"{NBGRADER}.GetGrades",
    f"{HERE}.preprocessors.HideFromStudents",
    "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor",
]


def configure(c: Any, root: str, course_id: str) -> None:
    """Plug the judge into nbgrader. Anything set afterwards in nbgrader_config.py wins."""
    programs_on_path()
    c.CourseDirectory.root = root
    c.CourseDirectory.course_id = course_id
    if is_shared(Path(root)):  # by `chgrp` and `chmod 2770`, docs/grading.md: A second marker
        c.CourseDirectory.groupshared = True
        _open_gradebook(Path(root) / "gradebook.db")
    c.GenerateAssignment.preprocessors = GENERATE
    c.Autograde.exporter_class = f"{HERE}.autograde.JudgingExporter"
    c.Autograde.sanitize_preprocessors = SANITIZE
    c.Autograde.autograde_preprocessors = AUTOGRADE
    c.GenerateFeedback.exporter_class = f"{HERE}.fresh_feedback.FreshFeedback"
    c.GenerateFeedback.preprocessors = FEEDBACK
    c.ExportApp.plugin_class = f"{HERE}.export.ExportMarks"
    c.ExchangeFactory.collect = f"{HERE}.exchange.CollectRegularFiles"
    c.ExchangeFactory.release_feedback = f"{HERE}.exchange.ReleaseAllFeedback"
    # Commands print the names that students gave to files, in which a terminal's own sequences may stand.
    c.Application.logging_config = {"formatters": {"console": {"class": f"{HERE}.log.PrintableFormatter"}}}
    c.HTMLExporter.filters = {name: f"{HERE}.safe_html.{name}" for name in ("markdown2html", "highlight_code")}


def _open_gradebook(path: Path) -> None:
    """SQLite makes a file that the group can't write to, but takes one that is there."""
    with contextlib.suppress(PermissionError, FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o660))
        path.chmod(0o660)


def programs_on_path() -> None:
    """Put this environment's programs first on the PATH of this process: nbgrader calls `alembic` by its name when it
    makes a gradebook, and the environment may not be activated."""
    programs, path = sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)
    if path.split(os.pathsep)[0] != programs:
        os.environ["PATH"] = f"{programs}{os.pathsep}{path}"
