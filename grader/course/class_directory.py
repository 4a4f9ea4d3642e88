"""A course directory as its `nbgrader_config.py` describes it: where things lie, on which terms it is graded."""

from __future__ import annotations

import glob
import json
import os
import re
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config

from grader.course.files import UntrustedFolder, read_secret
from grader.course.folder import HALF_MADE, is_half_made
from grader.course.settings import CourseSettings, settings_of
from grader.course.sharing import share
from grader.errors import CourseError, FileTooLarge, Unreadable
from grader.exercises.own import own_files
from grader.judge.fingerprint import GradingSettings
from grader.judge.limits import Limits
from grader.judge.outline import Outline
from grader.judge.reader import too_large
from grader.lesson_names import choose
from grader.nbgrader_settings import CONFIG, settings

MAX_NAME = 128  # of a student, in nbgrader's tables


@dataclass(frozen=True)
class Submission:
    """A student's notebook, still where it lies: in `folder`, with `name` and the ending `.ipynb`."""

    student: str
    folder: UntrustedFolder
    name: str

    def read(self, max_bytes: int) -> tuple[bytes, str]:
        """Its bytes, and "" or why it can't be read: then the bytes are empty. The size is looked at before anything is
        read."""
        try:
            return self.folder.read(f"{self.name}.ipynb", max_bytes), ""
        except FileTooLarge as error:
            return b"", str(too_large(error.size, max_bytes))
        except Unreadable as error:
            return b"", str(error)


def can_be_a_student(name: str) -> bool:
    """Whether a folder's name can be a student's in the gradebook: one line of text that isn't too long."""
    return 0 < len(name) <= MAX_NAME and name.isprintable()


def students_root(layout: Any, lesson: str) -> Path:
    """The innermost folder around all submissions that students can't write to: their own names begin below it.
    `layout` is nbgrader's own `CourseDirectory`."""
    parts = Path(layout.directory_structure).parts
    above = [*takewhile(lambda part: "{student_id" not in part, parts)]
    return Path(
        layout.root, *(part.format(nbgrader_step=layout.submitted_directory, assignment_id=lesson) for part in above)
    )


def submitted_folder(layout: Any, student: str, lesson: str) -> UntrustedFolder:
    """Where a student's submission of a lesson lies. `layout` is nbgrader's own `CourseDirectory`."""
    root = students_root(layout, lesson)
    return UntrustedFolder(
        root, Path(layout.format_path(layout.submitted_directory, student, lesson)).relative_to(root)
    )


def course_layout(root: Path) -> Any:
    """nbgrader's own `CourseDirectory` of the course in `root`, with all of nbgrader's settings as its `config`.
    `CourseError` if there is no whole course, its settings can't be loaded, or one of ours is wrong."""
    if root.is_dir() and not os.access(root, os.X_OK):
        raise CourseError(
            f"{root} is closed to you. Its owner can share it; see 'Several teachers' in docs/operations.md."
        )
    if is_half_made(root):
        raise CourseError(HALF_MADE.format(root))
    if not (root / f"{CONFIG}.py").is_file():
        raise CourseError(f"{root} has no {CONFIG}.py. `grader course create {root}` makes a course there.")
    config = _config(root.resolve())
    settings_of(config)
    layout = CourseDirectory(config=config)
    if "root" not in config.CourseDirectory:
        layout.root = config.CourseDirectory.root = str(root.resolve())
    return layout


def secret_of(root: Path, config: Config) -> bytes:
    """The secret that the inputs of checks are drawn with, from the file that the configuration names. `CourseError` if
    there is none, or it is too short."""
    return read_secret(root, settings_of(config).secret_file)


class ClassDirectory:
    """The course in `root` as nbgrader's `layout` and `config` describe it; `lesson` is the full name of one of its
    assignments. `CourseError` if there is no course, or no such lesson by its name or number."""

    def __init__(self, root: Path, lesson: str) -> None:
        self.root = root.resolve()
        self.layout = course_layout(root)
        self.config: Config = self.layout.config
        self.configured: CourseSettings = settings_of(self.config)
        self.lesson = self._lesson(lesson)
        self._outlines: dict[str, Outline] = {}

    def share(self) -> None:
        """Where teachers share the course, let them read and replace what is there and what this process makes.
        `CourseError` says what somebody else has to do first."""
        if self.layout.groupshared:
            os.umask(0o007)
            share(self.layout, self.configured.secret_file)

    def _lesson(self, wanted: str) -> str:
        names = self.lessons()
        name = choose(wanted, names)
        if name is None:
            listed = ", ".join(names) or "there are none"
            raise CourseError(f"{wanted!r} isn't one of the lessons in {self._source()} ({listed}).")
        return name

    def _source(self) -> Path:
        return Path(self.layout.format_path(self.layout.source_directory, ".", "."))

    def lessons(self) -> list[str]:
        """The full names of the course's lessons, in order."""
        return sorted(path.name for path in self._source().glob("*") if (path / f"{path.name}.ipynb").is_file())

    def folder(self, step: str, student: str = ".") -> Path:
        """The folder of the lesson's files in a step of nbgrader's, for example "autograded", of one student or, with
        ".", of all."""
        return Path(os.path.normpath(self.layout.format_path(step, student, self.lesson)))

    def settings(self) -> GradingSettings:
        """On which terms the lesson is graded; `CourseError` if there is no secret, or a file is missing."""
        secret = secret_of(self.root, self.config)
        outline = outline_of(self.instructor(), self.root, self.lesson)
        mine = self.configured
        return GradingSettings(outline, secret, mine.limits, mine.unsafe_no_sandbox, mine.carry_forward)

    def limits(self) -> Limits:
        """The limits on a submission's seconds, memory, files and output."""
        return self.configured.limits

    def instructor(self, lesson: str = "") -> bytes:
        """The bytes of the instructor's notebook of this lesson, or of another one of the course; `CourseError` if it
        isn't whole."""
        lesson = lesson or self.lesson
        path = Path(self.layout.format_path(self.layout.source_directory, ".", lesson)) / f"{lesson}.ipynb"
        data = path.read_bytes()
        try:
            json.loads(data)["cells"]
        except (ValueError, KeyError, TypeError):
            raise CourseError(f"{path} is not a complete notebook. Put the instructor's notebook back.") from None
        return data

    def submission(self, student: str) -> Submission:
        """One student's submission of the lesson, whether it is there or not."""
        return Submission(student, submitted_folder(self.layout, student, self.lesson), self.lesson)

    def outline(self, lesson: str = "") -> Outline:
        """The outline of the instructor's notebook of this lesson, or of another one of the course: without the files
        of the course's own exercises, which only grading needs. `CourseError` if the notebook isn't whole."""
        name = lesson or self.lesson
        if name not in self._outlines:  # whoever collects asks again for every student
            self._outlines[name] = Outline.of(self.instructor(name))
        return self._outlines[name]

    def submissions(self) -> tuple[list[Submission], dict[str, str]]:
        """The submissions of the lesson in the order of the students' ids, and the folders that can't be anybody's,
        with the reason."""
        return submissions_of(self.layout, self.lesson)


def submissions_of(layout: Any, lesson: str) -> tuple[list[Submission], dict[str, str]]:
    """The submissions of a lesson, and the folders that can't be anybody's, with the reason. `layout` is nbgrader's own
    `CourseDirectory`, whose `student_id` may be one student's."""
    step = layout.submitted_directory
    pattern = re.compile(layout.format_path(step, "(?P<student>.*)", lesson, escape=True), re.DOTALL)
    excluded = layout.student_id_exclude.split(",")
    found, misnamed = [], {}
    for folder in sorted(glob.glob(layout.format_path(step, layout.student_id, lesson))):
        match = pattern.fullmatch(folder)
        if match is None or match["student"] in excluded:
            continue
        student = match["student"]
        if not can_be_a_student(student):
            misnamed[ascii(student)] = "This folder's name can't be a student's name in the gradebook."
        else:
            found.append(Submission(student, submitted_folder(layout, student, lesson), lesson))
    return found, misnamed


def outline_of(notebook: bytes, root: Path, name: str) -> Outline:
    """The outline of an instructor's notebook, called `name`, with the files of the exercises that are the course's
    own, which lie in `root`; `CourseError` where one is missing."""
    return Outline.of(notebook, own_files(notebook, root, f"{name}.ipynb"))


def _config(root: Path) -> Config:
    """nbgrader's settings: the machine's, the user's, and above them the course's. `CourseError` if they can't be
    loaded."""
    try:
        return settings([str(root)])
    except Exception as error:
        raise CourseError(f"{CONFIG}.py can't be loaded: {type(error).__name__}: {error}") from error
