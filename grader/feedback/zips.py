"""Feedback as platforms take it back: a zip whose names are those under which they handed out the work."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass

from grader.atomic import write_atomically
from grader.course.called import BY_ID, Called
from grader.course.class_directory import ClassDirectory
from grader.course.folder import mode_in
from grader.course.roster import Roster
from grader.feedback.fresh import FeedbackReport, shown_by
from grader.feedback.page import Feedback
from grader.handed_in.came_from import names_of
from grader.platforms.platform import Platform
from grader.platforms.registry import platforms
from grader.printable import joined


@dataclass(frozen=True)
class Packed:
    """A zip of feedback for a platform."""

    path: str
    count: int  # of the students who are in it
    left_out: tuple[str, ...]  # the ids of those whose work came from no platform
    elsewhere: tuple[str, ...] = ()  # the ids of those whose work came from another platform

    def as_text(self, called: Called = BY_ID) -> str:
        """Which zip was written and who isn't in it, as text for a terminal, in which people are `called` so."""
        lines = [f"{self.path}: {self.count} packed"]
        if self.elsewhere:
            names = joined(map(called, self.elsewhere))
            lines.append(f"Not packed, since their work came from another platform: {names}")
        if self.left_out:
            lines.append(
                "Not packed, since `grader collect` took no work from this platform for these students: "
                f"{joined(map(called, self.left_out))}"
            )
        return "\n".join(lines)


def pack(course: ClassDirectory, platform: Platform, made: FeedbackReport) -> Packed:
    """Pack the feedback of all students that a run of `write_feedback` went through into a zip for a platform.
    `CommandFailed` if the gradebook, which a notebook of feedback needs, can't be written now."""
    path = course.root / f"feedback-{course.lesson}-{platform.key}.zip"
    as_notebook = platform.takes_feedback == "notebook"
    shown = shown_by(course.layout, course.lesson, course.config) if as_notebook else {}
    roster, left_out = Roster.of(course.root), list[str]()
    elsewhere: list[str] = []
    data, count = io.BytesIO(), 0
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for student in sorted([*made.made, *made.unchanged]):
            name = name_in(platform, course, student)
            if not name:
                others = [name_in(other, course, student) for other in platforms()]
                (elsewhere if any(others) else left_out).append(student)
            elif as_notebook:
                notebook = course.folder(course.layout.autograded_directory, student) / f"{course.lesson}.ipynb"
                marks = shown[student][course.lesson]
                language = roster.language_of(student)
                feedback = Feedback(notebook.read_bytes(), marks, course.lesson, student, course.config, language)
                archive.writestr(name, feedback.notebook())
            else:
                page = course.folder(course.layout.feedback_directory, student) / f"{course.lesson}.html"
                archive.writestr(name, page.read_bytes())
            count += bool(name)
    write_atomically(path, data.getvalue(), mode_in(course.root))
    return Packed(str(path), count, tuple(left_out), tuple(elsewhere))


def name_in(platform: Platform, course: ClassDirectory, student: str) -> str:
    """The name that a student's feedback has in the zip, by the one that their last work had on a platform; "" if that
    was another platform."""
    for given in names_of(course.root, course.lesson, student):
        part = given.rpartition("/")[0] or given  # earlier versions kept a file's name behind it
        names = {other.key: other.feedback_name(part, course.lesson) for other in platforms()}
        if any(names.values()):
            return names[platform.key]
    return ""
