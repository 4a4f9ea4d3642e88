"""An untouched notebook earns nothing and its solution full marks, by the engine and by `nbgrader validate`."""

from __future__ import annotations

import json
import symtable
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbgrader.validator import Validator

from grader import Report
from grader.authoring.notebook import without_install_cell
from tests.kernels import forked_kernels
from tools import notebooks as nb

ROOT = Path(__file__).parents[1]
LESSONS = sorted(path.stem for path in (ROOT / "lessons").glob("[0-9][0-9]_*.py"))


def _read(folder: str, lesson: str) -> nbformat.NotebookNode:
    return nbformat.read(ROOT / folder / f"{lesson}.ipynb", as_version=nbformat.NO_CONVERT)


def _role(cell: nbformat.NotebookNode) -> str:
    return cell.metadata.get("course", {}).get("role", "")


def _checks(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if _role(cell) == "check"]


def _names(source: str) -> tuple[set[str], set[str]]:
    """The global names that a cell's code looks up, and those that it binds."""
    tables = [symtable.symtable(source, "cell", "exec")]
    top = tables[0]
    for table in tables:
        tables += table.get_children()
    used = {s.get_name() for t in tables for s in t.get_symbols() if s.is_referenced() and (t is top or s.is_global())}
    return used, {s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported()}


def _for_marks(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook with the cells that a mark depends on. Left out are those that train, draw and try, and every worked
    example that binds no name of a cell that stays; nbval runs them all, and compares what the checks say after them.
    """
    kept = {cell.id for cell in notebook.cells if _role(cell) in ("given", "solution", "check")}
    names = {
        cell.id: _names(cell.source)
        for cell in notebook.cells
        if cell.id in kept or _role(cell) in ("example", "answer")
    }
    before = 0
    while len(kept) > before:
        before, used = len(kept), set().union(*(names[one][0] for one in kept))
        kept |= {one for one, (_, bound) in names.items() if bound & used}
    notebook.cells = [cell for cell in notebook.cells if cell.id in kept]
    return notebook


def _reports(notebook: nbformat.NotebookNode, monkeypatch: pytest.MonkeyPatch) -> dict[str, Report]:
    """Run the cells that a mark depends on, in order, in a module of their own; the reports by exercise."""
    module = types.ModuleType("submission")
    monkeypatch.setitem(sys.modules, "submission", module)  # where the checks look for a class's surroundings
    reports: dict[str, Report] = {}
    for cell in _for_marks(notebook).cells:
        if _role(cell) == "check":
            reports[cell.metadata.course.exercise] = eval(cell.source, vars(module))
        else:
            exec(compile(cell.source, f"<{cell.id}>", "exec"), vars(module))
    return reports


@pytest.fixture(scope="module")
def validator() -> Iterator[Validator]:
    """What `nbgrader validate` uses. That a kernel starts is seen where nbval starts one for every notebook."""
    with forked_kernels():
        yield Validator()


def _copy(folder: str, lesson: str, to: Path) -> str:
    """A copy for `nbgrader validate`, which reads the check cells only."""
    path = to / f"{lesson}.ipynb"
    nbformat.write(_for_marks(_read(folder, lesson)), path)
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
def test_nbgrader_validate_fails_every_check_of_an_untouched_notebook(
    lesson: str, validator: Validator, tmp_path: Path
):
    found = validator.validate(_copy("notebooks", lesson, tmp_path))
    assert list(found) == ["failed"]
    assert [cell["source"] for cell in found["failed"]] == [c.source for c in _checks(_read("notebooks", lesson))]
    assert all(cell["raw_error"].startswith("CheckFailed: ") for cell in found["failed"])


@pytest.mark.parametrize("lesson", LESSONS[:1])  # in the others nbval sees that no check cell raises
def test_nbgrader_validate_passes_the_solution(lesson: str, validator: Validator, tmp_path: Path):
    assert validator.validate(_copy("solutions", lesson, tmp_path)) == {}


@pytest.mark.parametrize("lesson", LESSONS)
def test_what_tests_hand_in_has_the_sources_of_the_notebook_that_is_handed_out(lesson):
    handed_out = without_install_cell(_read("solutions", lesson))
    sources = [cell.source for cell in handed_out.cells if cell.cell_type == "code"]
    assert [cell["source"] for cell in json.loads(nb.instructor(lesson))["cells"]] == sources
