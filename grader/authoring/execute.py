"""Runs an instructor's notebook in a kernel of this interpreter, in surroundings that are the same everywhere."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import nbformat
from ipykernel.kernelspec import RESOURCES, get_kernel_dict
from jupyter_client.asynchronous import AsyncKernelClient
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from grader.authoring.lesson import Lesson, Problem
from grader.authoring.notebook import ANSWER_HINT
from grader.authoring.states import States, is_view, taken
from grader.errors import LessonError
from grader.views.base import STATES_WANTED

CELL_SECONDS = 900
START_SECONDS = 300  # for a kernel to start, on a machine that is busy with others
PNG = "image/png"
WIDGET = "application/vnd.jupyter.widget-view+json"
# Prefixes of variables by which a user's set-up would get into the outputs.
PERSONAL = (
    "PYTHON",
    "IPYTHON",
    "JUPYTER",
    "JPY_",
    "MPL",
    "MATPLOTLIB",
    "NBGRADER",
    "OMP_",
    "MKL_",
    "TORCH",
    "LC_",
    "GRADER",
)
FRAME = re.compile(r"Cell In\[(\d+)\], line (\d+)")
ANSI = re.compile(r"\x1b\[[0-9;]*m")
ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b")


class _ThisInterpreter(KernelSpecManager):
    """Offers one kernel, whatever kernels a user has installed under the name python3: the interpreter that builds."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        return KernelSpec(resource_dir=RESOURCES, **get_kernel_dict())


class _NoHeartbeat(AsyncKernelClient):
    """A client without a heartbeat. Nobody asks for it here, and a Ctrl+C while its thread starts ends that thread in a
    traceback."""

    def start_channels(self, *args: bool, **kwargs: bool) -> None:
        super().start_channels(*args, **{**kwargs, "hb": False})


def environment(folder: str) -> dict[str, str]:
    """The variables of the kernel. `folder` is an empty one, where IPython finds no configuration of the user's."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(PERSONAL)}
    matplotlib = importlib.util.find_spec("matplotlib")
    defaults = Path(matplotlib.origin).parent / "mpl-data" / "matplotlibrc" if matplotlib and matplotlib.origin else ""
    return kept | {
        "ATEN_CPU_CAPABILITY": "default",  # the last digits that every machine has; nbval then compares with this one's
        "CUDA_VISIBLE_DEVICES": "",
        "GRADER_PROGRESS": "off",  # neither read what the author has passed nor add to it
        STATES_WANTED: "on",
        "IPYTHONDIR": folder,
        "LANG": "C.UTF-8",
        "MATPLOTLIBRC": str(defaults),
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "NBGRADER_EXECUTION": "build",  # a check that fails raises: a wrong model solution ends the build
        "OMP_NUM_THREADS": "1",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        "PYTHONHASHSEED": "0",
        "TZ": "UTC",
    }


async def execute(notebook: NotebookNode, lesson: Lesson) -> States:
    """Run all cells of a lesson's notebook and store their outputs in place; returns the states of the views among
    them. `LessonError` for a cell that fails, runs too long, or has an output that would differ in the next run."""
    manager = AsyncKernelManager(
        kernel_name="python3", kernel_spec_manager=_ThisInterpreter(), client_factory=_NoHeartbeat
    )
    client = NotebookClient(
        notebook,
        km=manager,
        startup_timeout=START_SECONDS,
        timeout=CELL_SECONDS,
        record_timing=False,
        store_widget_state=False,
    )
    with tempfile.TemporaryDirectory() as folder:
        # Not client.execute(): it hooks into Ctrl-C, which several lessons at once would take from each other.
        # ipykernel's standard error has a warning for every start; a cell's own goes to the notebook all the same.
        await client.async_start_new_kernel(cwd=folder, env=environment(folder), stderr=subprocess.DEVNULL)
        try:
            await client.async_start_new_kernel_client()
            for index, cell in enumerate(notebook.cells):
                if cell.cell_type == "code":
                    await _run(client, cell, index, lesson)
        finally:
            if client.kc is not None:
                client.kc.stop_channels()
            await manager.shutdown_kernel(now=True)
    states = taken(notebook)
    found = [problem for index in range(len(notebook.cells)) for problem in _tidy(notebook, index, lesson)]
    if found:
        raise LessonError(found)
    return states


async def _run(client: Any, cell: NotebookNode, index: int, lesson: Lesson) -> None:
    try:
        await client.async_execute_cell(cell, index)
    except CellExecutionError as error:
        if error.ename == "CheckFailed":
            message = f"the model solution fails its check: {error.evalue}"
        else:
            message = f"the cell raises {error.ename}: {error.evalue}"
        raise LessonError([_problem(lesson, index, message, client.nb, error.traceback)]) from error
    except CellTimeoutError as error:
        message = f"the cell runs for more than {CELL_SECONDS} seconds"
        raise LessonError([_problem(lesson, index, message)]) from error
    except DeadKernelError as error:
        raise LessonError([_problem(lesson, index, "the kernel died while it ran this cell")]) from error


def _problem(lesson: Lesson, index: int, message: str, notebook: Any = None, traceback: str = "") -> Problem:
    """A problem at the innermost line of the lesson that the traceback tells of, or else at the marker of the cell with
    this `index`."""
    cell = lesson.in_notebook[index]
    frames = FRAME.findall(ANSI.sub("", traceback))
    if not frames:
        return lesson.problem(cell, message)
    count, line = (int(number) for number in frames[-1])
    cell_index = [index for index, done in enumerate(notebook.cells) if done.cell_type == "code"][count - 1]
    source = notebook.cells[cell_index].source
    where = lesson.in_notebook[cell_index].first + line - 1 - source.startswith(ANSWER_HINT)
    return Problem(lesson.path, where, cell.exercise or lesson.in_notebook[cell_index].exercise, message)


def _tidy(notebook: NotebookNode, index: int, lesson: Lesson) -> list[Problem]:
    """Drop what is random by nature from a cell's outputs; returns the problems of what would differ in the next
    run."""
    cell, found = notebook.cells[index], []
    if "outputs" in cell:
        cell.outputs = _joined(kept for output in cell.outputs for kept in _without_widget(output))
    for output in cell.get("outputs", []):
        text = output.get("text", "") or output.get("data", {}).get("text/plain", "")
        if lesson.in_notebook[index].timed:
            continue
        if output.output_type == "stream" and output.name == "stderr":
            found.append(_problem(lesson, index, f"the cell writes to standard error: {text.strip().splitlines()[0]}"))
        elif ADDRESS.search(text):
            message = f"the output has a memory address, which is different in every run: {ADDRESS.findall(text)[0]}"
            found.append(_problem(lesson, index, message))
    return found


def _joined(outputs: Iterable[NotebookNode]) -> list[NotebookNode]:
    """Outputs in the order in which they came, where what was printed without anything between is one output: in how
    many pieces it came differs from run to run."""
    joined: list[NotebookNode] = []
    for output in outputs:
        last = joined[-1] if joined else NotebookNode()
        if output.output_type == last.get("output_type") == "stream" and output.name == last.name:
            last.text += output.text
        else:
            joined.append(output)
    return joined


def _without_widget(output: NotebookNode) -> list[NotebookNode]:
    """Nothing of a view itself, a random id that no reader has. What it displays before itself becomes two outputs: its
    picture, and below it its text, which would not be seen in one output with the picture."""
    data = output.get("data", {})
    if data.pop(WIDGET, None) is not None and not data:
        return []
    if PNG not in data or not is_view(data.get("text/plain", "")):
        return [output]
    picture = nbformat.v4.new_output("display_data", {PNG: data.pop(PNG)}, metadata={PNG: output.metadata.pop(PNG, {})})
    return [picture, output]
