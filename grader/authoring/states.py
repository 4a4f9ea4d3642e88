"""What the views of a lesson show, for pages without a kernel: website/states/NN_name.json, by the cell's id.

The build takes it out of what the cells display; the site gives it to the views' own JavaScript.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from grader import views
from grader.atomic import write_atomically
from grader.views.base import STATE, View, opening

States = dict[str, list[dict[str, Any]]]
KINDS: dict[str, type[View]] = {name: getattr(views, name) for name in views.__all__}
HOW = "run `grader build --states`"


def taken(notebook: NotebookNode) -> States:
    """Take the states of its views out of a notebook's outputs; returns them by the cell's id, those of each cell in
    their order."""
    states: States = {}
    for cell in notebook.cells:
        found = [output.get("data", {}).pop(STATE, None) for output in cell.get("outputs", [])]
        if any(found):
            states[cell.id] = [state for state in found if state]
    return states


def dumps(states: States) -> str:
    """States as they are written to a file. Names keep their order, in which matrices lie in their bytes."""
    return json.dumps(states, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def load(path: Path) -> States:
    """The states in a lesson's file; none where there is no file, or one that a merge has left unreadable."""
    try:
        return dict(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError):
        return {}


def write(path: Path, text: str) -> None:
    """Write a lesson's file with a text that `dumps` made; that of a lesson without views is removed."""
    if text == dumps({}):
        path.unlink(missing_ok=True)
    elif not path.exists() or path.read_text("utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text)


def is_view(text: str) -> bool:
    """Whether a text is the summary of a view, told by how it begins."""
    return any(text.startswith(opening(kind)) for kind in KINDS.values())


def views_of(cell: NotebookNode) -> list[tuple[str, str]]:
    """The views that a cell has displayed: the class and the summary of each, told by how the summary begins."""
    texts = [output.get("data", {}).get("text/plain", "") for output in cell.get("outputs", [])]
    return [(name, text) for text in texts for name, kind in KINDS.items() if text.startswith(opening(kind))]


def differences(notebook: NotebookNode, states: States) -> Iterator[str]:
    """A sentence for each cell whose stored states aren't those of the views that an executed notebook shows there."""
    shown = {cell.id: views_of(cell) for cell in notebook.cells if cell.cell_type == "code"}
    for cell_id, found in shown.items():
        stored = states.get(cell_id, [])
        if len(stored) != len(found):
            yield f"cell {cell_id}: it shows {_listed(found)}, but the number of stored states is {len(stored)}: {HOW}"
            continue
        for (kind, text), state in zip(found, stored, strict=True):
            if state["view"] != kind:
                yield f"cell {cell_id}: the stored state is for {state['view']}, but the cell shows {kind}: {HOW}"
            elif state["traits"]["summary"] != text and not _is_untold(notebook, cell_id):
                yield f"cell {cell_id}: the stored state of {kind} isn't the one that the cell shows: {HOW}"
    yield from (f"cell {cell_id}: the lesson has no such cell: {HOW}" for cell_id in states if cell_id not in shown)


def _is_untold(notebook: NotebookNode, cell_id: str) -> bool:
    """Whether the cell's output may differ from run to run."""
    cell = next(cell for cell in notebook.cells if cell.id == cell_id)
    return "nbval-ignore-output" in cell.metadata.get("tags", [])


def _listed(found: list[tuple[str, str]]) -> str:
    return ", ".join(kind for kind, _ in found) or "no view"
