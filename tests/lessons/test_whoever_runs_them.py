"""What a notebook shows to a program doesn't depend on who runs it. Plain nbval, with no plug-in and no variable of
ours, compares the cells that could tell, for somebody who has guessed everything and solved the earlier lessons beside,
with a torch that was built for CUDA."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from grader.authoring.model_solutions import lesson_of
from tests.learner.test_yours import write_notebook

ROOT = Path(__file__).parents[2]
ASKED = "Predict: "  # how the output of a prediction begins
EARLIER = ["03_multi_head_attention", "06_embeddings_and_positions", "07_transformer"]
# What papermill puts in front; here it also has the course's imports, and what torch says where it was built for CUDA.
PARAMETERS = """\
# Parameters
import math
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile
from grader import predict, use_yours
torch.autograd._supported_activities = lambda: {ProfilerActivity.CPU, ProfilerActivity.CUDA}"""


def solved() -> list[NotebookNode]:
    return [nbformat.read(path, nbformat.NO_CONVERT) for path in sorted((ROOT / "solutions").glob("*.ipynb"))]


def code_cell(source: str, outputs: list[NotebookNode]) -> NotebookNode:
    return nbformat.v4.new_code_cell(source, outputs=outputs, execution_count=1)


def questions(notebook: NotebookNode) -> Iterator[NotebookNode]:
    """The predictions of a notebook, each with the output that it has stored. Of the code above the call only the texts
    that it uses stay."""
    for cell in notebook.cells:
        if cell.cell_type == "code" and re.search(r"(?m)^predict\(", cell.source):
            *above, call = ast.parse(cell.source).body
            names = {node.id for node in ast.walk(call) if isinstance(node, ast.Name)}
            texts = [node for node in above if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in names]
            asked = [one for one in cell.outputs if one.get("data", {}).get("text/plain", "").startswith(ASKED)]
            assert len(asked) == 1, cell.source
            yield code_cell("\n".join(map(ast.unparse, [*texts, call])), asked)


def whose(notebook: NotebookNode) -> Iterator[NotebookNode]:
    """The cells with `use_yours` of a notebook, and what is given above them."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    at = next((at for at, cell in enumerate(code) if "use_yours(" in cell.source), 0)
    yield from (cell for cell in code[:at] if cell.metadata.course.role == "given")
    yield from code[at : at + 1] if at else ()


def operators(notebook: NotebookNode) -> Iterator[NotebookNode]:
    """The function of a notebook that lists operators, and a call of it, which has nothing else to say."""
    for cell in notebook.cells:
        if cell.cell_type == "code" and "profile(" in cell.source:
            function = next(node for node in ast.parse(cell.source).body if isinstance(node, ast.FunctionDef))
            yield code_cell(ast.unparse(function), [])
            yield code_cell("_ = operators(*[torch.ones(1, 1, 3, 4)] * 3)", [])


@pytest.fixture
def home(tmp_path) -> Path:
    """A home where guesses at everything are kept, whose outcomes were seen, and in `course` the earlier lessons,
    solved."""
    guesses: dict[str, object] = {}
    for notebook in solved():
        for cell in questions(notebook):
            name, _, *rest = ast.parse(cell.source).body[-1].value.args
            guesses[name.value] = ast.literal_eval(rest[0])[0] if rest else 1.0
    kept = tmp_path / ".attention-course" / "progress.json"
    kept.parent.mkdir()
    kept.write_text(
        json.dumps({"version": 1, "exercises": {}, "guesses": guesses, "outcomes": dict.fromkeys(guesses, True)})
    )
    (tmp_path / "course").mkdir()
    for name in EARLIER:
        write_notebook(lesson_of(name), {}, tmp_path / "course" / f"{name}.ipynb")
    return tmp_path


def test_plain_nbval_compares_the_same_on_a_learners_machine(home):
    found = [list(cells(notebook)) for cells in (questions, whose, operators) for notebook in solved()]
    cells = [nbformat.v4.new_code_cell(PARAMETERS), *(cell for some in found for cell in some)]
    text = "\n".join(cell.source for cell in cells)
    assert (text.count("predict("), text.count("\nuse_yours("), text.count("= operators(*[")) >= (60, 4, 1)
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=solved()[0].metadata)
    nbformat.write(notebook, home / "course" / "what_could_tell.ipynb")
    kept = (home / ".attention-course" / "progress.json").read_bytes()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--nbval", "what_could_tell.ipynb"],
        cwd=home / "course",
        env={"PATH": os.environ["PATH"], "HOME": str(home), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-9000:]
    assert (home / ".attention-course" / "progress.json").read_bytes() == kept
