"""The exporter of `nbgrader generate_feedback`: whoever's mark, comment or notebook has changed gets a new page, and
only they. nbgrader itself leaves a page alone once it is there.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any, cast

from nbconvert.exporters import HTMLExporter
from nbgrader.converters.base import NbGraderException

from grader.atomic import write_atomically
from grader.classroom.gradebook import LessonGradebook, Unavailable
from grader.classroom.results_log import folder_of, mode_in
from grader.errors import CommandFailed, CourseError


class FreshFeedback(HTMLExporter):
    """nbgrader makes it once it knows whose feedback is wanted, and before it looks at what is there."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if getattr(self.parent, "assignments", None):
            try:
                self._remove_stale(cast(Any, self.parent).coursedir, [*cast(Any, self.parent).assignments])
            except (CourseError, CommandFailed, Unavailable, OSError) as error:
                self.log.error(str(error))  # nbgrader ends with exit code 1 and says nothing by itself
                raise NbGraderException(str(error)) from None

    def _remove_stale(self, layout: Any, folders: list[str]) -> None:
        """Remove the pages that say something else than the gradebook and `autograded/` do now. What the new ones are
        made from is noted at once: a page that doesn't come about is not there, and is made next time."""
        lesson = layout.assignment_id
        with LessonGradebook(layout.db_url, layout.course_id, lesson, self.config) as book:
            book.refresh_lateness({})
            shown = book.shown()
        path = folder_of(Path(layout.root), "feedback") / f"{lesson}.json"
        made_from = _read(path)
        for student in shown:
            folder = layout.format_path(layout.autograded_directory, student, lesson)
            if folder not in folders:
                continue
            digest = hashlib.sha256(shown[student].encode("utf-8", "surrogatepass"))
            for notebook in sorted(Path(folder).glob("*.ipynb")):
                digest.update(notebook.read_bytes())
            page = Path(layout.format_path(layout.feedback_directory, student, lesson))
            if made_from.get(student) != digest.hexdigest() and page.is_dir():
                self.log.info("What is in %s has changed since: it is made anew", page)
                shutil.rmtree(page)
            made_from[student] = digest.hexdigest()
        write_atomically(path, json.dumps(made_from), mode_in(Path(layout.root)))


def _read(path: Path) -> dict[str, str]:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
