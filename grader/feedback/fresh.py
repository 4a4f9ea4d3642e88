"""Who gets a new page of feedback: whoever's mark, comment or notebook has changed, and only they. `write_feedback` is
`grader feedback`; `nbgrader generate_feedback` leaves the same files (`grader.nbgrader_plugins.feedback`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from glob import glob
from pathlib import Path
from typing import Any

from grader.atomic import write_atomically
from grader.book.gradebook import LessonGradebook
from grader.book.shown import FeedbackMarks
from grader.course.called import BY_ID, Called
from grader.course.class_directory import ClassDirectory, course_layout
from grader.course.files import SECRET_FILE, TIMESTAMP, UntrustedFolder
from grader.course.folder import folder_of, mode_in
from grader.course.roster import Roster, did_you_mean, full_names
from grader.errors import CourseError, Unreadable
from grader.feedback.page import VERSION, Feedback
from grader.printable import joined, printable


@dataclass
class FeedbackReport:
    """What became of whose feedback."""

    lesson: str
    made: list[str] = field(default_factory=list)  # the ids of students whose pages were made
    unchanged: list[str] = field(default_factory=list)  # of those whose pages stayed as they were
    not_graded: list[str] = field(default_factory=list)  # of those who have none, since nothing is graded
    problems: list[str] = field(default_factory=list)  # in sentences

    def as_text(self, called: Called = BY_ID) -> str:
        """What was written and what wasn't, as text for a terminal, in which people are `called` so."""
        lines = [f"{self.lesson}: {len(self.made)} made, {len(self.unchanged)} as before"]
        lines += [f"Not graded yet: {joined(map(called, self.not_graded))}"] if self.not_graded else []
        return "\n".join([*lines, *map(printable, self.problems)])


def write_feedback(course: ClassDirectory, students: Collection[str] = (), force: bool = False) -> FeedbackReport:
    """Write the feedback of these students, or of all who have handed in if none is named, laid out as
    `nbgrader generate_feedback` does it; with `force` also pages that are up to date. `CourseError` for a student who
    isn't there or has nothing in the gradebook, `CommandFailed` if that can't be written."""
    shown = shown_by(course.layout, course.lesson, course.config)
    unknown = sorted(set(students) - shown.keys())
    if unknown:
        people = full_names(Roster.of(course.root).people)
        if nobody := [who for who in unknown if who not in people]:
            meant = did_you_mean(nobody[0], dict.fromkeys(shown, "") | people)
            raise CourseError(f"{course.lesson}: there is no student {nobody[0]!r}.{meant}")
        raise CourseError(f"{course.lesson}: {joined(unknown)}: the gradebook has nothing from them yet.")
    outcome, notes = FeedbackReport(course.lesson), PageNotes(course.root, course.lesson)
    excluded, roster = course.layout.student_id_exclude.split(","), Roster.of(course.root)
    for student in sorted(set(students) or shown.keys() - set(excluded)):
        source = course.folder(course.layout.autograded_directory, student)
        target = course.folder(course.layout.feedback_directory, student)
        notebooks = graded_notebooks(source, shown[student])
        if not notebooks and any(mark.by_hand for own in shown[student].values() for mark in own.marks.values()):
            continue  # a mark by hand of somebody who handed in nothing, as after an oral exam: there is no page
        if not notebooks:
            outcome.not_graded.append(student)
            continue
        language = roster.language_of(student)
        digest = digest_of(source, shown[student], notebooks, language)
        if not force and notes.made.get(student) == digest and all((target / f"{n}.html").is_file() for n in notebooks):
            outcome.unchanged.append(student)
            continue
        try:
            pages = [
                Feedback(data, shown[student][name], name, student, course.config, language)
                for name, data in notebooks.items()
            ]
            outcome.problems += _write(course, student, {notebook.title: notebook.page() for notebook in pages})
        except CourseError as error:
            outcome.problems.append(str(error))
            continue
        except OSError as error:  # a folder of the student's that has the page's name, for example
            outcome.problems.append(f"{student}: no page could be written: {error.strerror}: {error.filename or ''}")
            continue
        notes.made[student] = digest
        outcome.made.append(student)
    notes.save()
    return outcome


def graded_lessons(course: Path) -> list[str]:
    """The lessons of a course with a graded notebook; `CourseError` if there is none."""
    layout = course_layout(course)
    pattern = re.compile(layout.format_path(layout.autograded_directory, "[^/]+", "(?P<lesson>[^/]+)", escape=True))
    found = map(pattern.fullmatch, glob(layout.format_path(layout.autograded_directory, "*", "*")))
    lessons = sorted({match["lesson"] for match in found if match})
    if not lessons:
        raise CourseError(f"{course}: no hand-in has been graded yet. First: grader autograde {course} LESSON")
    return lessons


def _write(course: ClassDirectory, student: str, pages: Mapping[str, str]) -> list[str]:
    """Write a student's folder: the other files of `autograded/`, which nbgrader needs to release it, and the pages by
    name. Returns what could not be copied, in sentences."""
    problems: list[str] = []
    layout: Any = course.layout
    target = course.folder(layout.feedback_directory, student)
    mode = int(str(course.config.GenerateFeedback.get("permissions", 664 if layout.groupshared else 644)), 8)
    target.mkdir(parents=True, exist_ok=True)
    others = UntrustedFolder(course.folder(layout.autograded_directory, student))
    for path, data in others.contents(1000 * int(layout.max_dir_size), lambda name: name.endswith(".ipynb")):
        if isinstance(data, Unreadable):
            problems.append(f"{student}/{path} was not copied: {data}")
            continue
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target / path, data, mode, durable=False)
    for name, page in pages.items():
        write_atomically(target / f"{name}.html", page.encode("utf-8", "replace"), mode, durable=False)
    return problems


def shown_by(layout: Any, lesson: str, config: Any) -> dict[str, dict[str, FeedbackMarks]]:
    """What the gradebook says to each student, by student and notebook, with the late penalties of today.
    `GradebookUnavailable` if it can't be written now."""
    with LessonGradebook(layout.db_url, layout.course_id, lesson, config) as book:
        book.refresh_lateness({})
        return book.shown()


def graded_notebooks(folder: Path, shown: Mapping[str, FeedbackMarks]) -> dict[str, bytes]:
    """The bytes of the notebooks in a student's folder of `autograded/` that the gradebook knows, by name."""
    return {path.stem: path.read_bytes() for path in sorted(folder.glob("*.ipynb")) if path.stem in shown}


def digest_of(
    folder: Path, shown: Mapping[str, FeedbackMarks], notebooks: Mapping[str, bytes], language: str = ""
) -> str:
    """A digest of all that a student's pages are made from, the `language` that the roster names among it, and of the
    time and the secret by which they are released."""
    digest = hashlib.sha256(f"{VERSION}{language}".encode())
    for name, data in notebooks.items():
        digest.update(f"{name} {shown[name]}".encode("utf-8", "surrogatepass") + data)
    for path in (folder / TIMESTAMP, folder / SECRET_FILE):
        digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.hexdigest()


class PageNotes:
    """A file that notes by student the digest of what the pages of a lesson were `made` from; empty if it can't be
    read."""

    def __init__(self, course: Path, lesson: str) -> None:
        self._path, self._mode = folder_of(course, "feedback") / f"{lesson}.json", mode_in(course)
        try:
            found = json.loads(self._path.read_text())
        except (OSError, ValueError):
            found = {}
        self.made: dict[str, str] = found if isinstance(found, dict) else {}

    def save(self) -> None:
        """Write the notes to their file."""
        write_atomically(self._path, json.dumps(self.made), self._mode)
