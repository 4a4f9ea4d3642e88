"""`nbgrader generate_assignment` itself, given our preprocessors, makes the same students' notebook."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nbformat

from tests.nbgrader_commands import nbgrader

CONFIG = """
c = get_config()
c.CourseDirectory.course_id = "toy"
c.GenerateAssignment.preprocessors = [
    "nbgrader.preprocessors.IncludeHeaderFooter",
    "nbgrader.preprocessors.InstantiateTests",
    "nbgrader.preprocessors.LockCells",
    "grader.source.preprocessors.ClearCourseSolutions",
    "grader.source.preprocessors.ClearStudentOutput",
    "grader.source.preprocessors.AllowErrors",
    "nbgrader.preprocessors.CheckCellMetadata",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.SaveCells",
    "nbgrader.preprocessors.ClearHiddenTests",
    "nbgrader.preprocessors.ClearMarkScheme",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.CheckCellMetadata",
]
"""


def test_a_live_course_releases_the_same_notebook(built_once: Path, tmp_path: Path):
    source = tmp_path / "source" / "01_toy"
    source.mkdir(parents=True)
    (source / "01_toy.ipynb").write_bytes((built_once / "solutions" / "01_toy.ipynb").read_bytes())
    (tmp_path / "nbgrader_config.py").write_text(CONFIG)
    commands = Path(sys.executable).parent  # nbgrader calls alembic by its name
    environment = {
        **os.environ,
        "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
        "JUPYTER_CONFIG_DIR": str(tmp_path),
    }
    code, said = nbgrader([[str(tmp_path), "generate_assignment", "01_toy"]], environment)
    assert code == 0, said
    released = nbformat.read(tmp_path / "release" / "01_toy" / "01_toy.ipynb", as_version=nbformat.NO_CONVERT)
    ours = nbformat.read(built_once / "notebooks" / "01_toy.ipynb", as_version=nbformat.NO_CONVERT)
    assert released == ours
