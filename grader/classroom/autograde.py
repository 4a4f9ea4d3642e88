"""What nbgrader calls: an exporter that grades while it reads a submission, a preprocessor that stores marks."""

from __future__ import annotations

import atexit
from pathlib import Path
from typing import Any, cast

import nbformat
from nbconvert.exporters import NotebookExporter
from nbgrader.api import Gradebook
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Bool, Dict, Unicode

from grader.classroom.class_directory import Submission, submitted_folder
from grader.classroom.files import read_secret
from grader.classroom.gradebook import record, release_of
from grader.classroom.links import remove_links
from grader.classroom.rebuild import RESULT, rebuild
from grader.errors import CourseError
from grader.judge.judge import Judge
from grader.judge.limits import Limits
from grader.judge.result import SubmissionResult
from grader.judge.sandbox import SandboxUnavailable


class JudgingExporter(NotebookExporter):
    """Reads a submission, has it judged, and hands nbgrader a notebook rebuilt from the instructor's.

    `nbgrader autograde` reads every notebook twice: the submission, and what it made of it. Only the first is judged.
    """

    secret_file = Unicode("judge_secret", help="The course's secret, relative to its root").tag(config=True)
    limits = Dict(help="What a submission may use: fields of grader.judge.limits.Limits").tag(config=True)
    unsafe_no_sandbox = Bool(False, help="Grade without a sandbox where there is none. Reports say so.").tag(
        config=True
    )

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._limits = Limits(**self.limits)
        try:
            secret = read_secret(Path(self._coursedir().root), self.secret_file)
            remove_links(self._coursedir(), getattr(self.parent, "assignments", {}), self.log)
            self._judge = Judge(secret, self._limits, unsafe=self.unsafe_no_sandbox)
        except (CourseError, SandboxUnavailable) as error:
            self.log.error(str(error))  # nbgrader ends with exit code 1 and says nothing by itself
            raise NbGraderException(str(error)) from None
        atexit.register(self._judge.close)

    def _coursedir(self) -> Any:
        return cast(Any, self.parent).coursedir

    def from_filename(self, filename: str, resources: dict[str, Any] | None = None, **kw: Any) -> tuple[Any, Any]:
        """Judge a submission; read anything else as it is."""
        if not getattr(self.parent, "_sanitizing", False) or resources is None:
            return super().from_filename(filename, resources, **kw)
        about = resources["nbgrader"]
        instructor = self._instructor(about["assignment"], about["notebook"])
        folder = submitted_folder(self._coursedir(), about["student"], about["assignment"])
        submission, why = Submission(about["student"], folder, about["notebook"]).read(self._limits.notebook_bytes)
        result = self._judge.grade(submission, instructor, about["student"], unreadable=why)
        with Gradebook(about["db_url"]) as gradebook:
            release = release_of(gradebook.find_notebook(about["notebook"], about["assignment"]))
        made = rebuild(instructor, submission, result, release, self._limits)
        return self.from_notebook_node(nbformat.from_dict(made), resources, **kw)

    def _instructor(self, assignment: str, notebook: str) -> bytes:
        coursedir = self._coursedir()
        folder = coursedir.format_path(coursedir.source_directory, ".", assignment)
        return Path(folder, f"{notebook}.ipynb").read_bytes()


class RecordResult(NbGraderPreprocessor):
    """Stores the judge's marks and comments. It stands behind SaveAutoGrades, which reads marks from outputs."""

    def preprocess(self, nb: Any, resources: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        about = resources["nbgrader"]
        with Gradebook(about["db_url"]) as gradebook:
            submitted = gradebook.find_submission_notebook(about["notebook"], about["assignment"], about["student"])
            record(submitted, SubmissionResult.from_plain(nb.metadata[RESULT]), self.config)
            gradebook.db.commit()
        return nb, resources
