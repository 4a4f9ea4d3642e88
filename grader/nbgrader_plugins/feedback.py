"""The exporter of `nbgrader generate_feedback`: it leaves the same files as `grader feedback`."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, cast

from nbconvert.exporters import Exporter
from nbgrader.converters.base import NbGraderException

from grader.book.shown import FeedbackMarks
from grader.course.roster import Roster
from grader.errors import CommandFailed, CourseError
from grader.feedback.fresh import PageNotes, digest_of, graded_notebooks, shown_by
from grader.feedback.page import Feedback


class FeedbackExporter(Exporter):
    """Makes pages of feedback. nbgrader makes the exporter once it knows whose feedback is wanted, and before it looks
    at what is there. It leaves a page alone once it is there, so those that are stale are removed first.
    `NbGraderException` if that can't be done."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.file_extension = ".html"
        self._shown: dict[str, dict[str, FeedbackMarks]] = {}
        self._roster = Roster([])
        if getattr(self.parent, "assignments", None):
            try:
                self._remove_stale(cast(Any, self.parent).coursedir, [*cast(Any, self.parent).assignments])
            except (CourseError, CommandFailed, OSError) as error:
                self.log.error(str(error))  # nbgrader ends with exit code 1 and says nothing by itself
                raise NbGraderException(str(error)) from None

    def _remove_stale(self, layout: Any, folders: list[str]) -> None:
        """Remove the pages in the feedback of these `folders` of `autograded/` that are stale. What the new ones are
        made from is noted at once: a page that doesn't come about is not there, and is made next time."""
        lesson = layout.assignment_id
        self._shown = shown_by(layout, lesson, self.config)
        notes, self._roster = PageNotes(Path(layout.root), lesson), Roster.of(Path(layout.root))
        for student, shown in self._shown.items():
            folder = layout.format_path(layout.autograded_directory, student, lesson)
            if folder not in folders:
                continue
            page = Path(layout.format_path(layout.feedback_directory, student, lesson))
            notebooks, language = graded_notebooks(Path(folder), shown), self._roster.language_of(student)
            digest = digest_of(Path(folder), shown, notebooks, language)
            if notes.made.get(student) != digest and page.is_dir():
                self.log.info("%s is out of date, so it is made again", page)
                shutil.rmtree(page)
            notes.made[student] = digest
        notes.save()

    def from_filename(self, filename: str, resources: dict[str, Any] | None = None, **kw: Any) -> tuple[Any, Any]:
        """The page, as bytes, of one notebook in `autograded/`, and the resources, as nbconvert wants them."""
        assert resources is not None
        about = resources["nbgrader"]
        student, name = about["student"], about["notebook"]
        language = self._roster.language_of(student)
        data, marks = Path(filename).read_bytes(), self._shown[student][name]
        page = Feedback(data, marks, name, student, self.config, language).page()
        return page.encode("utf-8", "replace"), {**resources, "output_extension": self.file_extension}
