"""The settings of a course directory: what its `nbgrader_config.py` calls.

nbgrader's parts are named, not imported: nbgrader imports what a command needs, and others that read the settings
(`grader autograde`) don't wait for it.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import Any

from grader.course.sharing import is_shared
from grader.nbgrader_settings import machine_has_its_own_exchange, programs_on_path

NBGRADER, COURSE = "nbgrader.preprocessors", "grader.source.preprocessors"
HERE = "grader.nbgrader_plugins"

# nbgrader's own list and order, with this course's ways of clearing in place of nbgrader's.
GENERATE = [
    f"{NBGRADER}.IncludeHeaderFooter",
    f"{NBGRADER}.LockCells",
    f"{COURSE}.ClearCourseSolutions",  # knows the stub of a quiz
    f"{COURSE}.ClearStudentOutput",  # worked examples keep their outputs
    f"{COURSE}.AllowErrors",
    f"{COURSE}.TellCourse",  # check() and the table of progress go by it
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


def configure(c: Any, root: str, course_id: str) -> None:
    """Plug the judge into nbgrader: `c` is the configuration, `root` the course's folder. Anything set afterwards in
    nbgrader_config.py wins."""
    programs_on_path()
    c.CourseDirectory.root = root
    c.CourseDirectory.course_id = course_id
    shared = is_shared(Path(root))  # docs/operations.md: Several teachers
    if shared:
        c.CourseDirectory.groupshared = True
        os.umask(0o007)  # nbgrader opens to the group what it makes, but not the folder of a student around it
    _make_gradebook(Path(root) / "gradebook.db", shared)
    c.GenerateAssignment.preprocessors = GENERATE
    c.GenerateAssignment.exporter_class = f"{HERE}.hand_out.HandOut"
    c.Autograde.exporter_class = f"{HERE}.autograde.JudgingExporter"
    c.Autograde.sanitize_preprocessors = SANITIZE
    c.Autograde.autograde_preprocessors = AUTOGRADE
    c.GenerateFeedback.exporter_class = f"{HERE}.feedback.FeedbackExporter"
    c.GenerateFeedback.preprocessors = []  # the exporter reads the gradebook, and hides what is hidden
    c.ExportApp.plugin_class = "grader.book.export.ExportMarks"
    if not machine_has_its_own_exchange():  # as ngshare's, which works as a whole only
        c.ExchangeFactory.collect = "grader.handed_in.exchange.CollectRegularFiles"
        c.ExchangeFactory.release_assignment = "grader.handed_in.exchange.ReleaseToGroup"
        c.ExchangeFactory.release_feedback = "grader.handed_in.exchange.ReleaseAllFeedback"
    # Commands print the names that students gave to files, in which a terminal's own sequences may stand.
    c.Application.logging_config = {"formatters": {"console": {"class": f"{HERE}.log.PrintableFormatter"}}}
    c.HTMLExporter.filters = {name: f"grader.feedback.safe_html.{name}" for name in ("markdown2html", "highlight_code")}


def _make_gradebook(path: Path, shared: bool) -> None:
    """Make the gradebook's file, for its owner or for the group that shares the course: SQLite would make one that
    everybody can read and the group can't write to, but takes one that is there. That one isn't opened here: closing it
    would drop SQLite's locks."""
    mode = 0o660 if shared else 0o600
    with contextlib.suppress(OSError):  # another's course, or no room: whoever writes to the gradebook says so
        if path.exists():
            path.chmod(stat.S_IMODE(path.stat().st_mode) & ~0o007)
        else:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
            path.chmod(mode)
