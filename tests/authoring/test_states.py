"""The states of a lesson's views: taken out of what the cells display, and compared with what solutions/ shows."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import nbformat
import pytest
import torch
from nbformat import NotebookNode

from grader import views
from grader.authoring import Repository, builder, states, verify
from grader.errors import CommandFailed
from grader.views.base import STATE, STATES_WANTED, View, opening

ROOT = Path(__file__).parents[2]


def _notebook(*shown: View) -> NotebookNode:
    """A notebook of one cell that has displayed these views, as the build runs it."""
    cell = nbformat.v4.new_code_cell("", id="cell")
    for view in shown:
        data = {"text/plain": repr(view), STATE: view.state()}
        cell.outputs.append(nbformat.v4.new_output("display_data", data=data))
    return nbformat.v4.new_notebook(cells=[cell])


@pytest.fixture
def shown() -> tuple[NotebookNode, states.States]:
    notebook = _notebook(views.Prediction("Which?", ["this", "that"]), views.ShapeTracer())
    return notebook, states.taken(notebook)


def test_a_view_displays_its_state_only_where_it_is_wanted(monkeypatch: pytest.MonkeyPatch):
    view = views.NormExplorer(torch.tensor([[1.0, 2.0], [3.0, 5.0]]))
    (data, _), _view = view.outputs()
    assert STATE not in data
    monkeypatch.setenv(STATES_WANTED, "on")
    (data, _), _view = view.outputs()
    state = json.loads(json.dumps(data[STATE]))
    assert (state["view"], state["module"]) == ("NormExplorer", "norm_explorer")
    assert state["traits"]["summary"] == repr(view)
    assert base64.b64decode(state["traits"]["matrices"]["base64"]) == view.matrices
    assert not any(name.startswith("_") or name in ("layout", "tabbable", "tooltip") for name in state["traits"])


def test_states_are_taken_out_of_the_outputs_in_their_order(shown):
    notebook, taken = shown
    assert [state["view"] for state in taken["cell"]] == ["Prediction", "ShapeTracer"]
    assert [list(output.data) for output in notebook.cells[0].outputs] == [["text/plain"]] * 2
    assert list(states.differences(notebook, taken)) == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            lambda taken: taken.clear(),
            "cell cell: it shows Prediction, ShapeTracer, but the number of stored states is 0",
        ),
        (lambda taken: taken["cell"].pop(), "but the number of stored states is 1"),
        (lambda taken: taken["cell"].reverse(), "the stored state is for ShapeTracer, but the cell shows Prediction"),
        (lambda taken: taken["cell"][0]["traits"].update(summary="Predict: What?"), "isn't the one that the cell"),
        (lambda taken: taken.update(gone=[]), "cell gone: the lesson has no such cell"),
    ],
    ids=["none", "one too few", "another class", "another view", "another cell"],
)
def test_states_that_are_not_those_of_the_notebook_are_told(shown, change, told: str):
    notebook, taken = shown
    change(taken)
    found = list(states.differences(notebook, taken))
    assert told in found[0]
    assert all("`grader build --states`" in line for line in found)


def test_no_view_is_taken_for_another_by_its_sentence():
    beginnings = [opening(kind) for kind in states.KINDS.values()]
    assert not any(one != other and one.startswith(other) for one in beginnings for other in beginnings)
    assert repr(views.ProgressTable(list)).startswith(opening(views.ProgressTable))
    assert repr(views.TrainingMonitor(3)).startswith(opening(views.TrainingMonitor))


def test_a_lesson_without_views_has_no_file(tmp_path: Path):
    path = tmp_path / "states" / "01_toy.json"
    states.write(path, states.dumps({"cell": []}))
    assert states.load(path) == {"cell": []}
    states.write(path, states.dumps({}))
    assert not path.exists()
    assert states.load(path) == {}


def test_a_check_tells_of_states_without_a_cell_and_without_a_lesson(built: Repository):
    states.write(built.states / "01_toy.json", states.dumps({"cell": []}))
    states.write(built.states / "02_gone.json", states.dumps({"cell": []}))
    with pytest.raises(CommandFailed) as caught:
        verify(built, ())
    assert "website/states/01_toy.json cell cell: the lesson has no such cell" in str(caught.value)
    assert "website/states/02_gone.json: no lesson has this name" in str(caught.value)


def test_states_can_be_built_without_the_notebooks(built: Repository):
    (built.solutions / "01_toy.ipynb").write_text("as it was")
    states.write(built.states / "01_toy.json", states.dumps({"cell": []}))
    builder.build(built, (), jobs=1, use_cache=True, tell=lambda _line: None, only_states=True)
    assert (built.solutions / "01_toy.ipynb").read_text() == "as it was"
    assert states.load(built.states / "01_toy.json") == {}
