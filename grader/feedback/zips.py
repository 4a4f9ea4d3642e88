"""Feedback as Moodle and Canvas take it back: a zip whose names are those under which they handed out the work.

Moodle ("Upload multiple feedback files in a zip") reads a folder's name at its underscores: the second part is the
number of the participant. Canvas ("Re-upload submissions") takes the first two numbers between underscores in a file's
name: the student and the file that they handed in. It then shows our file under the name of theirs, whatever we call
it (canvas-lms issue 2406), so what goes there is a notebook.
"""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from pathlib import PurePosixPath

from grader.atomic import write_atomically
from grader.course.class_directory import ClassDirectory
from grader.course.folder import mode_in
from grader.feedback.fresh import FeedbackReport, shown_by
from grader.feedback.page import Feedback
from grader.handed_in.settled import came_from
from grader.handed_in.whose import CANVAS, MOODLE
from grader.printable import joined


@dataclass(frozen=True)
class Packed:
    """A zip file by its path, how many students are in it, and the ids of those who aren't: nothing of theirs came from
    that platform."""

    path: str
    count: int
    left_out: tuple[str, ...]

    def as_text(self) -> str:
        """Which zip was written and who isn't in it, as text for a terminal."""
        lines = [f"{self.path}: {self.count} packed"]
        if self.left_out:
            lines.append(
                "Not packed, since `grader collect` took no work from this platform for these students: "
                f"{joined(self.left_out)}"
            )
        return "\n".join(lines)


def pack(course: ClassDirectory, platform: str, made: FeedbackReport) -> Packed:
    """Pack the feedback of all students that a run of `write_feedback` went through into a zip for a platform, "moodle"
    or "canvas". `CommandFailed` if the gradebook, which Canvas's needs, can't be written now."""
    path = course.root / f"feedback-{course.lesson}-{platform}.zip"
    shown = shown_by(course.layout, course.lesson, course.config) if platform == "canvas" else {}
    data, left_out, count = io.BytesIO(), [], 0
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for student in sorted([*made.made, *made.unchanged]):
            name = name_in(platform, came_from(course, student), course.lesson)
            if not name:
                left_out.append(student)
                continue
            if platform == "moodle":
                page = course.folder(course.layout.feedback_directory, student) / f"{course.lesson}.html"
                archive.writestr(name, page.read_bytes())
            else:
                notebook = course.folder(course.layout.autograded_directory, student) / f"{course.lesson}.ipynb"
                marks = shown[student][course.lesson]
                feedback = Feedback(notebook.read_bytes(), marks, course.lesson, student, course.config)
                archive.writestr(name, feedback.notebook())
            count += 1
    write_atomically(path, data.getvalue(), mode_in(course.root))
    return Packed(str(path), count, tuple(left_out))


def name_in(platform: str, came_from: str, lesson: str) -> str:
    """The name that a file of feedback has in the zip, by the one that the work had; "" if that is no name of the
    platform's.

    >>> name_in("moodle", "Ann Lee_12_assignsubmission_file_/work.ipynb", "01")
    'Ann Lee_12_assignsubmission_file_/01.html'
    >>> name_in("canvas", "all/leeann_LATE_501_9001_work-1.ipynb", "01"), name_in("canvas", "ann/work.ipynb", "01")
    ('leeann_LATE_501_9001_work-1.ipynb', '')
    """
    path = PurePosixPath(came_from)
    if platform == "canvas":
        return path.name if CANVAS.fullmatch(path.name) else ""
    for part in path.parts:
        if match := MOODLE.fullmatch(part):
            return f"{match['folder']}/{lesson}.html"
    return ""
