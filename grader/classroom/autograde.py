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
from grader.classroom.comments import comment_on
from grader.classroom.files import read_regular
from grader.classroom.links import remove_links
from grader.classroom.rebuild import RESULT, rebuild
from grader.judge.grading import Place, grade
from grader.judge.limits import Limits
from grader.judge.outline import Outline
from grader.judge.reader import Unreadable
from grader.judge.result import SubmissionResult
from grader.judge.sandbox import OpenZygote, Sandbox, SandboxUnavailable
from grader.subject.zygote import ZygoteGone


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
        self._place: Place | None = None
        self._settings = Limits(**self.limits)
        try:
            self._secret = read_regular(self._root() / self.secret_file, 4096).strip()
        except Unreadable as error:
            raise self._refusal(f"{self.secret_file}: {error} `grader course create` makes one.") from None
        if len(self._secret) < 32:
            raise self._refusal(f"{self.secret_file} is too short to be a secret.")
        remove_links(self._coursedir(), getattr(self.parent, "assignments", {}), self.log)
        self._open()
        atexit.register(self._close)

    def _root(self) -> Path:
        return Path(self._coursedir().root)

    def _coursedir(self) -> Any:
        return cast(Any, self.parent).coursedir

    def _open(self) -> Place:
        try:
            self._place = OpenZygote(self._settings) if self.unsafe_no_sandbox else Sandbox(self._settings)
        except SandboxUnavailable as error:
            raise self._refusal(str(error)) from None
        return self._place

    def _refusal(self, why: str) -> NbGraderException:
        self.log.error(why)  # nbgrader ends with exit code 1 and says nothing by itself
        return NbGraderException(why)

    def _close(self) -> None:
        if self._place is not None:
            self._place.close()
            self._place = None

    def from_filename(self, filename: str, resources: dict[str, Any] | None = None, **kw: Any) -> tuple[Any, Any]:
        """Judge a submission; read anything else as it is."""
        if not getattr(self.parent, "_sanitizing", False) or resources is None:
            return super().from_filename(filename, resources, **kw)
        about = resources["nbgrader"]
        instructor = self._instructor(about["assignment"], about["notebook"])
        folder = submitted_folder(self._coursedir(), about["student"], about["assignment"])
        handed_in = Submission(about["student"], folder, about["notebook"])
        submission, why = handed_in.read(self._settings.notebook_bytes)
        result = self._judge(submission, instructor, about["student"])
        if why:
            result = SubmissionResult(result.exercises, unreadable=why, sandboxed=result.sandboxed)
        made = rebuild(instructor, submission, result, self._settings.notebook_bytes, self._settings.cells)
        return self.from_notebook_node(nbformat.from_dict(made), resources, **kw)

    def _instructor(self, assignment: str, notebook: str) -> bytes:
        coursedir = self._coursedir()
        folder = coursedir.format_path(coursedir.source_directory, ".", assignment)
        return Path(folder, f"{notebook}.ipynb").read_bytes()

    def _judge(self, submission: bytes, instructor: bytes, student: str) -> SubmissionResult:
        outline = Outline.of(instructor)
        for attempt in (1, 2):
            try:
                place = self._place or self._open()
                return grade(submission, outline, secret=self._secret, student=student, place=place)
            except ZygoteGone:
                self._close()
                if attempt == 2:
                    raise
        raise AssertionError("unreachable")


class RecordResult(NbGraderPreprocessor):
    """Stores the judge's marks and comments. It stands behind SaveAutoGrades, which reads marks from outputs."""

    def preprocess(self, nb: Any, resources: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        about = resources["nbgrader"]
        result = SubmissionResult.from_plain(nb.metadata[RESULT])
        checks = {
            cell.metadata["course"]["exercise"]: cell.metadata["nbgrader"]["grade_id"]
            for cell in nb.cells
            if cell.metadata.get("course", {}).get("role") == "check"
        }
        where = (about["notebook"], about["assignment"], about["student"])
        with Gradebook(about["db_url"]) as gradebook:
            for exercise in result.exercises:
                grade_row = gradebook.find_grade(checks[exercise.name], *where)
                grade_row.auto_score = round(grade_row.max_score * exercise.score, 2)
                grade_row.needs_manual_grade = exercise.broken or grade_row.manual_score is not None
                comment = gradebook.find_comment(exercise.name, *where)
                comment.auto_comment = comment_on(exercise, result)
            gradebook.db.commit()
        return nb, resources
