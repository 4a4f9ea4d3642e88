"""What `nbgrader generate_assignment` hands out beside a notebook: the files of the course's own exercises in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from nbconvert.exporters import NotebookExporter
from nbgrader.converters.base import NbGraderException

from grader.errors import CourseError
from grader.exercises.own import OwnFiles, file_of, for_students, own_files
from grader.exercises.registry import exercises
from grader.source.notebook import load
from grader.source.rules import CourseLesson, placeholders


class WithOwnExercises(NotebookExporter):
    """Writes the students' notebook, and beside it the specifications of the course's own exercises that its `check`
    needs. `NbGraderException` if one of them, or the notebook, isn't ready to be handed out."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        try:
            for notebook in self._notebooks():
                exercises(self._own(notebook))  # says what is wrong with a file
                self._refuse_placeholders(notebook)
        except CourseError as error:
            self.log.error(error.message)  # nbgrader ends with exit code 1 and says nothing by itself
            raise NbGraderException(error.message) from None

    def _notebooks(self) -> list[Path]:
        found = getattr(self.parent, "assignments", None) or {}
        return [Path(path) for paths in found.values() for path in paths]

    def _own(self, notebook: Path) -> OwnFiles:
        return own_files(notebook.read_bytes(), self._root, f"{notebook.parent.name}/{notebook.name}")

    def _refuse_placeholders(self, notebook: Path) -> None:
        """Raise `CourseError` if a notebook, or an exercise in it, has something that a teacher has still to write."""
        lesson = CourseLesson(notebook, load(notebook))
        placeholders(lesson, self._root)
        if lesson.found:
            listed = "\n".join(map(str, lesson.found))
            raise CourseError(f"Not generated, because something still has to be filled in:\n{listed}")

    @property
    def _root(self) -> Path:
        return Path(cast(Any, self.parent).coursedir.root)

    def from_filename(self, filename: str, resources: dict[str, Any] | None = None, **kw: Any) -> tuple[Any, Any]:
        """The notebook's text, and the resources with the files to write beside it."""
        output, resources = super().from_filename(filename, resources, **kw)
        files = {file_of(name): for_students(text).encode() for name, text in self._own(Path(filename))}
        resources["outputs"] = {**(resources.get("outputs") or {}), **files}
        return output, resources
