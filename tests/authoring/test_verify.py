"""`grader build --check` finds every change, names its cell, and runs nothing."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from grader.authoring import Repository, builder, verify
from grader.authoring.notebook import dumps
from grader.errors import CommandFailed

from .conftest import TOY


@pytest.fixture(autouse=True)
def _runs_nothing(monkeypatch: pytest.MonkeyPatch, built_once: Path) -> None:
    monkeypatch.setattr(builder, "execute", None)


def _edit(path: Path, change: Callable[[nbformat.NotebookNode], object]) -> None:
    notebook = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    change(notebook)
    path.write_bytes(dumps(notebook).encode())


def _cell(notebook: nbformat.NotebookNode, cell_id: str) -> nbformat.NotebookNode:
    return next(cell for cell in notebook.cells if cell.id == cell_id)


def _found(repository: Repository) -> str:
    with pytest.raises(CommandFailed) as caught:
        verify(repository, ())
    assert caught.value.exit_code == 1
    return str(caught.value)


def test_a_fresh_build_has_nothing_to_change(built: Repository):
    verify(built, ())


def test_an_edited_lesson_is_shown_as_a_diff_of_its_cell(built: Repository):
    (built.lessons / "01_toy.py").write_text(TOY.replace("return 2 * x", "return x + x"), "utf-8")
    found = _found(built)
    assert "solutions/01_toy.ipynb cell double-solution: it would change" in found
    assert "-    return 2 * x\n" in found
    assert "+    return x + x\n" in found
    assert "notebooks/" not in found  # a student's cell is the same


def test_a_new_cell_is_shown(built: Repository):
    (built.lessons / "01_toy.py").write_text(TOY + "\n# %%\nprint('more')\n", "utf-8")
    assert "it would be added\n" in _found(built)


def test_changed_points_are_shown(built: Repository):
    exercises = dict(built.exercises)
    exercises["double"] = dataclasses.replace(exercises["double"], points=5)
    found = _found(Repository(built.root, exercises))
    assert "solutions/01_toy.ipynb cell double-check: it would change" in found
    assert '"points": 2,' in found
    assert '"points": 5,' in found


CHANGES = {
    "a source": lambda nb: _cell(nb, "double-solution").update(source="def double(x):\n    return 4"),
    "an id": lambda nb: _cell(nb, "double-solution").update(id="other"),
    "metadata": lambda nb: _cell(nb, "double-solution").metadata.update(tags=["mine"]),
    "a cell too many": lambda nb: nb.cells.append(nbformat.v4.new_markdown_cell("more", id="more")),
    "a cell too few": lambda nb: nb.cells.pop(),
    "the order": lambda nb: nb.cells.reverse(),
    "the notebook's metadata": lambda nb: nb.metadata.kernelspec.update(name="other"),
    "the format's number": lambda nb: nb.update(nbformat_minor=4),
}


@pytest.mark.parametrize("folder", ["solutions", "notebooks"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_hand_edited_notebook_is_found(built: Repository, change: str, folder: str):
    _edit(built.root / folder / "01_toy.ipynb", CHANGES[change])
    assert f"{folder}/01_toy.ipynb" in _found(built)


def test_an_output_that_went_missing_in_a_students_notebook_is_found(built: Repository):
    def clear(notebook: nbformat.NotebookNode) -> None:
        next(cell for cell in notebook.cells if cell.source.startswith("print(words")).outputs = []

    _edit(built.notebooks / "01_toy.ipynb", clear)
    assert "notebooks/01_toy.ipynb cell " in _found(built)


def test_an_output_in_a_students_exercise_is_found(built: Repository):
    output = nbformat.v4.new_output("stream", text="4")
    _edit(built.notebooks / "01_toy.ipynb", lambda nb: _cell(nb, "double-check").outputs.append(output))
    assert "notebooks/01_toy.ipynb: somebody has written in it, in the cell double-check" in _found(built)


def test_a_check_without_its_report_is_found(built: Repository):
    _edit(built.solutions / "01_toy.ipynb", lambda nb: _cell(nb, "double-check").update(outputs=[]))
    assert "solutions/01_toy.ipynb cell double-check: it has no output" in _found(built)


def test_cells_run_out_of_order_are_found(built: Repository):
    _edit(built.solutions / "01_toy.ipynb", lambda nb: _cell(nb, "double-check").update(execution_count=40))
    assert "cell double-check: its execution count is 40" in _found(built)


def test_a_file_written_by_another_tool_is_found(built: Repository):
    path = built.notebooks / "01_toy.ipynb"
    path.write_text(json.dumps(json.loads(path.read_text()), indent=4))
    assert "notebooks/01_toy.ipynb: this isn't a notebook that a build wrote" in _found(built)


def test_a_broken_file_is_found(built: Repository):
    (built.solutions / "01_toy.ipynb").write_text("{")
    assert "solutions/01_toy.ipynb: this isn't a notebook that a build wrote" in _found(built)


def test_a_lesson_that_was_never_built_is_found(built: Repository):
    (built.lessons / "02_more.py").write_text("# %%\nprint(1)\n")
    assert "solutions/02_more.ipynb: lessons/02_more.py has not been built" in _found(built)


def test_a_notebook_whose_lesson_is_gone_is_found(built: Repository):
    (built.lessons / "02_more.py").write_text("# %%\nprint(1)\n")
    (built.notebooks / "03_gone.ipynb").write_text("{}")
    assert "notebooks/03_gone.ipynb: no lesson has this name" in _found(built)
