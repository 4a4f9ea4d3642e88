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
from traitlets import Bool, Dict, Enum, Unicode

from grader.book.gradebook import UNKNOWN, LessonGradebook, record, release_of
from grader.book.rebuild import RESULT, own_cells, rebuild
from grader.course.class_directory import (
    ClassDirectory,
    Submission,
    outline_of,
    submissions_of,
    submitted_folder,
)
from grader.course.files import read_secret
from grader.course.folder import SECRET
from grader.course.groups import drawn_for
from grader.course.lateness import timestamp
from grader.course.settings import BEST, settings_of
from grader.course.sharing import share
from grader.errors import CommandFailed, CourseError, SandboxUnavailable
from grader.exercises.registry import exercises
from grader.handed_in.earlier import attempts, put_best
from grader.handed_in.hand_in import HandIn, hand_in, handed_out, of_another_lesson
from grader.handed_in.links import remove_links
from grader.judge.judge import Judge
from grader.judge.outline import Outline
from grader.judge.result import CARRY_FORWARD, SubmissionResult
from grader.judge.words import cost


class JudgingExporter(NotebookExporter):
    """Reads a submission, has it judged, and hands nbgrader a notebook rebuilt from the instructor's.
    `NbGraderException`, which ends the command, if nothing can be judged.

    `nbgrader autograde` reads every notebook twice: the submission, and what it made of it. Only the first is judged.
    """

    secret_file = Unicode(SECRET, help="The file of the course's secret, relative to the course's root").tag(
        config=True
    )
    limits = Dict(help="What a submission may use: fields of grader.judge.limits.Limits").tag(config=True)
    unsafe_no_sandbox = Bool(False, help="Grade even where there is no sandbox, and mention it in the feedback.").tag(
        config=True
    )

    carry_forward = Enum(
        list(CARRY_FORWARD),
        "none",
        help="How much to give of the points that an exercise would earn if the earlier exercise it calls were right",
    ).tag(config=True)
    add_students = Bool(False, help="Grade submissions of students who aren't on the roster, and add them").tag(
        config=True
    )

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._outlines: dict[Path, Outline] = {}
        try:
            self._limits = settings_of(self.config).limits
            share(self._coursedir(), self.secret_file)
            secret = read_secret(Path(self._coursedir().root), self.secret_file)
            if getattr(self.parent, "assignments", None):
                self._prepare(self._coursedir(), cast(Any, self.parent).assignments)
            self._judge = Judge(secret, self._limits, self.unsafe_no_sandbox, self.carry_forward)
            if getattr(self.parent, "assignments", None):
                self._put_best_in_place(self._coursedir(), cast(Any, self.parent).assignments)
        except (CourseError, CommandFailed, SandboxUnavailable) as error:
            self.log.error(str(error))  # nbgrader ends with exit code 1 and says nothing by itself
            raise NbGraderException(str(error)) from None
        atexit.register(self._judge.close)

    def _prepare(self, layout: Any, assignments: dict[str, list[str]]) -> None:
        """Prepare what nbgrader is about to grade: `assignments` has by folder the notebooks. Afterwards the lesson's
        notebook is in every list, whatever name it was handed in under, and nobody's folder is there who isn't in the
        roster. `CourseError` if the lesson has no notebook."""
        lesson = layout.assignment_id
        if not (self._source(lesson) / f"{lesson}.ipynb").is_file():
            raise CourseError(f"{self._source(lesson)} has no {lesson}.ipynb.")
        exercises(self._outline(lesson, lesson).own)  # says what is wrong with a file
        submissions = {s.folder.root / s.folder.path: s for s in submissions_of(layout, lesson)[0]}
        for folder in submissions:
            others = [path for path in assignments.get(str(folder), ()) if self._is_known(lesson, path)]
            assignments[str(folder)] = [str(folder / f"{lesson}.ipynb"), *others]
        remove_links(layout, assignments, self.log)
        handed_in = {submission.student: timestamp(submission.folder) for submission in submissions.values()}
        with LessonGradebook(layout.db_url, layout.course_id, lesson, self.config) as book:
            book.refresh_lateness(handed_in)
            unknown = book.unknown(handed_in, self.add_students)
        for folder, submission in submissions.items():
            if submission.student in unknown:
                self.log.error(
                    "%s is not graded: %s", submission.student, UNKNOWN.format("--JudgingExporter.add_students=True")
                )
                assignments.pop(str(folder), None)

    def _put_best_in_place(self, layout: Any, assignments: dict[str, list[str]]) -> None:
        """Where a student's best hand-in counts, put it in place, for those who are about to be graded."""
        course = ClassDirectory(Path(layout.root), layout.assignment_id)
        if course.configured.counts != BEST:
            return
        with LessonGradebook(layout.db_url, layout.course_id, course.lesson, self.config) as book:
            for submission in submissions_of(layout, course.lesson)[0]:
                tries = attempts(course, submission)
                if len(tries) > 1 and str(submission.folder.root / submission.folder.path) in assignments:
                    graded = [(attempt, self._judged(attempt.submission, course.lesson)[0]) for attempt in tries]
                    self.log.info("%s: %s", submission.student, put_best(course, book, graded))

    def _judged(self, submission: Submission, lesson: str) -> tuple[SubmissionResult, HandIn]:
        """What the judge says of a submission, and the notebook in it that counts."""
        outline = self._outline(lesson, submission.name)
        chosen = hand_in(submission, handed_out(outline), self._limits)
        if not chosen.of_lesson:
            chosen = of_another_lesson(ClassDirectory(Path(self._coursedir().root), lesson), chosen)
        whom = drawn_for(Path(self._coursedir().root), lesson)(submission.student)
        result = self._judge.grade(chosen.data, outline, whom, chosen.unreadable)
        return result.with_remarks(chosen.remarks), chosen

    def _source(self, lesson: str) -> Path:
        layout = self._coursedir()
        return Path(layout.format_path(layout.source_directory, ".", lesson))

    def _is_known(self, lesson: str, path: str) -> bool:
        """Whether the notebook at a path is another one of the lesson's, which a teacher has added."""
        name = Path(path).name
        return name != f"{lesson}.ipynb" and (self._source(lesson) / name).is_file()

    def _coursedir(self) -> Any:
        return cast(Any, self.parent).coursedir

    def from_filename(self, filename: str, resources: dict[str, Any] | None = None, **kw: Any) -> tuple[Any, Any]:
        """Judge a submission and return the notebook rebuilt of it, and the resources, as nbconvert wants them; read
        any other notebook as it is."""
        if not getattr(self.parent, "_sanitizing", False) or resources is None:
            return super().from_filename(filename, resources, **kw)
        about = resources["nbgrader"]
        folder = submitted_folder(self._coursedir(), about["student"], about["assignment"])
        submission = Submission(about["student"], folder, about["notebook"])
        result, chosen = self._judged(submission, about["assignment"])
        for said in (*chosen.remarks, *(cost(*stop) for stop in result.stops.items())):
            self.log.warning("%s: %s", about["student"], said)
        with Gradebook(about["db_url"]) as gradebook:
            release = release_of(gradebook.find_notebook(about["notebook"], about["assignment"]))
        outline = self._outline(about["assignment"], about["notebook"])
        made = rebuild(outline, chosen.data, result, release, self._limits)
        return self.from_notebook_node(nbformat.from_dict(made), resources, **kw)

    def _outline(self, assignment: str, notebook: str) -> Outline:
        """The outline of an assignment's instructor's notebook, called `notebook`: the order and the text of its
        cells."""
        path = self._source(assignment) / f"{notebook}.ipynb"
        if path not in self._outlines:
            self._outlines[path] = outline_of(path.read_bytes(), Path(self._coursedir().root), notebook)
        return self._outlines[path]


class RecordResult(NbGraderPreprocessor):
    """Stores the marks, the comments and the late penalty of a judged notebook in the gradebook."""

    def preprocess(self, nb: Any, resources: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Store what the judge's result, in the notebook's metadata, gives; returns both arguments as they are."""
        about = resources["nbgrader"]
        with Gradebook(about["db_url"]) as gradebook:
            submitted = gradebook.find_submission_notebook(about["notebook"], about["assignment"], about["student"])
            result = SubmissionResult.from_plain(nb.metadata[RESULT])
            record(submitted, result, own_cells(nb.cells, result), self.config)
            gradebook.db.commit()
        return nb, resources
