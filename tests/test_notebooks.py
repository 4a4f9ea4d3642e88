"""An untouched notebook earns nothing and its solution full marks, by the engine and by `nbgrader validate`."""

from __future__ import annotations

import contextlib
import sys
import types
from pathlib import Path

import nbformat
import pytest
from nbgrader.validator import Validator

from grader import Report

ROOT = Path(__file__).parents[1]
LESSONS = sorted(path.stem for path in (ROOT / "lessons").glob("[0-9][0-9]_*.py"))


def _read(folder: str, lesson: str) -> nbformat.NotebookNode:
    return nbformat.read(ROOT / folder / f"{lesson}.ipynb", as_version=nbformat.NO_CONVERT)


def _role(cell: nbformat.NotebookNode) -> str:
    return cell.metadata.get("course", {}).get("role", "")


def _checks(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if _role(cell) == "check"]


def _reports(notebook: nbformat.NotebookNode, monkeypatch: pytest.MonkeyPatch) -> dict[str, Report]:
    """Run the cells that a mark depends on, in order, in a module of their own; the reports by exercise."""
    module = types.ModuleType("submission")
    monkeypatch.setitem(sys.modules, "submission", module)  # where the checks look for a class's surroundings
    reports: dict[str, Report] = {}
    for cell in notebook.cells:
        if _role(cell) == "example":
            with contextlib.suppress(Exception):  # it may use what a training has made; nbval holds it to its output
                exec(compile(cell.source, f"<{cell.id}>", "exec"), vars(module))
        elif _role(cell) in ("given", "solution"):
            exec(compile(cell.source, f"<{cell.id}>", "exec"), vars(module))
        elif _role(cell) == "check":
            reports[cell.metadata.course.exercise] = eval(cell.source, vars(module))
    return reports


def _without_training(folder: str, lesson: str, to: Path) -> str:
    """A copy for `nbgrader validate`, which reads the check cells only: nbval runs the training already."""
    notebook = _read(folder, lesson)
    notebook.cells = [cell for cell in notebook.cells if _role(cell) != "train"]
    path = to / f"{lesson}.ipynb"
    nbformat.write(notebook, path)
    return str(path)


def test_there_are_lessons():
    assert LESSONS


@pytest.mark.parametrize("lesson", LESSONS)
def test_an_untouched_notebook_scores_nothing(lesson: str, monkeypatch: pytest.MonkeyPatch):
    notebook = _read("notebooks", lesson)
    reports = _reports(notebook, monkeypatch)
    assert {name: report.score for name, report in reports.items()} == dict.fromkeys(reports, 0)
    assert not any(report.passed or report.broken for report in reports.values())
    assert len(reports) == len(_checks(notebook)) > 0


@pytest.mark.parametrize("lesson", LESSONS)
def test_the_solution_has_full_marks(lesson: str, monkeypatch: pytest.MonkeyPatch):
    notebook = _read("solutions", lesson)
    reports = _reports(notebook, monkeypatch)
    assert {name: report.score for name, report in reports.items()} == dict.fromkeys(reports, 1)
    points = {cell.metadata.course.exercise: cell.metadata.nbgrader.points for cell in _checks(notebook)}
    assert {name: report.mark for name, report in reports.items()} == points


@pytest.mark.parametrize("lesson", LESSONS)
def test_nbgrader_validate_fails_every_check_of_an_untouched_notebook(lesson: str, tmp_path: Path):
    found = Validator().validate(_without_training("notebooks", lesson, tmp_path))
    assert list(found) == ["failed"]
    assert [cell["source"] for cell in found["failed"]] == [c.source for c in _checks(_read("notebooks", lesson))]
    assert all(cell["raw_error"].startswith("CheckFailed: ") for cell in found["failed"])


@pytest.mark.parametrize("lesson", LESSONS)
def test_nbgrader_validate_passes_the_solution(lesson: str, tmp_path: Path):
    assert Validator().validate(_without_training("solutions", lesson, tmp_path)) == {}
