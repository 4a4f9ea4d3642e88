"""What `nbgrader generate_assignment` hands out: a notebook in the course's languages, and the files of the course's
own exercises in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import nbformat
from nbconvert.exporters import NotebookExporter
from nbgrader.converters.base import NbGraderException

from grader.course.settings import settings_of
from grader.errors import CourseError
from grader.exercises.own import OwnFiles, file_of, for_students, own_files
from grader.exercises.registry import exercises
from grader.learner.switch import switched, texts
from grader.source.notebook import load
from grader.source.rules import CourseLesson, placeholders


class HandOut(NotebookExporter):
    """Writes the students' notebook in the first of the course's languages, and beside it the specifications of the
    course's own exercises that its `check` needs. In each other language that has its text, all of this is once more in
    a folder of the language's code. `NbGraderException` if one of them isn't ready to be handed out."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        try:
            self._languages = settings_of(self.config).languages
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
        written, resources = super().from_filename(filename, resources, **kw)
        output = str(written)
        files = {file_of(name): for_students(text).encode() for name, text in self._own(Path(filename))}
        first, *others = self._languages
        for language in others:
            if other := _in_language(output, language):
                again = {f"{Path(filename).name}": other.encode(), **files}
                files |= {f"{language}/{name}": data for name, data in again.items()}
        resources["outputs"] = {**(resources.get("outputs") or {}), **files}
        return _in_language(output, first) or output, resources


def _in_language(text: str, language: str) -> str:
    """A notebook's text in a language; empty where it has none of the course's in another one."""
    notebook = json.loads(text)
    if not switched(notebook, language, texts())[0]:
        return ""
    return str(nbformat.writes(nbformat.from_dict(notebook)))
