"""nbgrader preprocessors of this course. They work from a notebook's own metadata (`metadata.course`) alone, so a live
course can name them in `GenerateAssignment.preprocessors`.
"""

from __future__ import annotations

from pathlib import Path

from nbformat import NotebookNode
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import ClearOutput, ClearSolutions, NbGraderPreprocessor
from traitlets import Unicode

from grader.errors import BrokenNotebook
from grader.regions import ANSWERS_STUB
from grader.source.notebook import checked_exercises, load

Resources = dict[str, object]
INDEPENDENT = ("example", "given", "draw", "train")
MAY_FAIL = ("check", "try")


def _role(cell: NotebookNode) -> str:
    return str(cell.metadata.get("course", {}).get("role", ""))


class ClearCourseSolutions(ClearSolutions):
    """Cuts solutions out. In a quiz a comment takes their place, below the blanks, since a cell that raises would keep
    them from a check."""

    answers_stub = Unicode(
        "\n".join(ANSWERS_STUB),
        help="What replaces the solution to an exercise of the kind `answers`",
    ).tag(config=True)

    def preprocess_cell(
        self, cell: NotebookNode, resources: Resources, cell_index: int
    ) -> tuple[NotebookNode, Resources]:
        """Cut one cell's solution; returns the cell and the resources, as nbgrader wants them."""
        if cell.metadata.get("course", {}).get("kind") != "answers" or _role(cell) != "solution":
            return super().preprocess_cell(cell, resources, cell_index)
        usual = self.trait_values()["code_stub"]
        self.set_trait("code_stub", dict.fromkeys(usual, self.answers_stub))
        try:
            return super().preprocess_cell(cell, resources, cell_index)
        finally:
            self.set_trait("code_stub", usual)


class ClearStudentOutput(ClearOutput):
    """Clears the outputs that depend on a student's code, and those that answer a prediction; worked examples keep
    theirs, to be read before anything is run. A cell without a role (a teacher's own) is cleared, as nbgrader would.
    """

    def preprocess_cell(
        self, cell: NotebookNode, resources: Resources, cell_index: int
    ) -> tuple[NotebookNode, Resources]:
        """Clear one cell's output, or spare it by its role; returns the cell and the resources, as nbgrader wants
        them."""
        if _role(cell) in INDEPENDENT:
            return cell, resources
        return super().preprocess_cell(cell, resources, cell_index)


class AllowErrors(NbGraderPreprocessor):
    """Lets "run all cells" and nbval go past checks and try-it cells, which fail until the exercise is done."""

    def preprocess_cell(
        self, cell: NotebookNode, resources: Resources, cell_index: int
    ) -> tuple[NotebookNode, Resources]:
        """Tag a cell that may fail as one that may raise; returns the cell and the resources, as nbgrader wants
        them."""
        if _role(cell) in MAY_FAIL:
            cell.metadata["tags"] = sorted({*cell.metadata.get("tags", []), "raises-exception"})
        return cell, resources


class TellCourse(NbGraderPreprocessor):
    """Writes into a notebook which exercises the course has, and what they are worth: a teacher may have changed both.
    In a course with a notebook that can't be read nothing is written."""

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        """Note the exercises of all lessons, and their points, in the notebook's metadata; returns it and the
        resources."""
        course = CourseDirectory(config=self.config)
        notebooks = Path(course.format_path(course.source_directory, ".", ".")).glob("[!.]*/*.ipynb")
        try:
            exercises = {name: points for path in sorted(notebooks) for name, points in checked_exercises(load(path))}
        except BrokenNotebook as error:
            self.log.warning("%s", error.message)
        else:
            nb.metadata["course"] = {"exercises": exercises}
        return nb, resources
