"""After "Run All" on a fresh notebook, a cell that calls what isn't written says so in one line."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell

from grader.learner import unwritten
from tests.test_notebooks import ROOT, _role

SAID = " is not written yet. Write it in its cell, then run this cell again."
STUB = "def double(x):\n    # YOUR CODE HERE\n    raise NotImplementedError()"


@pytest.fixture
def run(monkeypatch, capsys):
    """Runs a cell; what it shows, and its error."""
    shell = InteractiveShell()
    monkeypatch.setattr(unwritten, "shell", lambda: shell)
    unwritten.say_so_in_a_line()
    unwritten.say_so_in_a_line()  # once is enough

    def execute(source):
        result = shell.run_cell(source)
        return capsys.readouterr().out, result.error_in_exec

    yield execute
    plt.close("all")


def test_what_is_not_written_is_said_in_a_line_and_the_cell_has_failed(run):
    run(STUB)
    shown, error = run("print(1)\ndouble(2)")
    assert shown == f"1\n`double`{SAID}\n"
    assert type(error) is NotImplementedError


def test_a_method_is_its_classs(run):
    run("class Twice:\n    def __init__(self):\n        # YOUR CODE HERE\n        raise NotImplementedError()")
    assert run("[Twice() for _ in range(2)]")[0].startswith("`Twice` is not written yet.")


@pytest.mark.parametrize(
    "raises", ["raise NotImplementedError('no sparse tensors')", "raise NotImplementedError", "1 / 0"]
)
def test_other_errors_are_shown_as_ever(run, raises):
    run(f"def broken():\n    {raises}")
    shown, _ = run("broken()")
    assert "Traceback" in shown
    assert "not written yet" not in shown


@pytest.mark.parametrize("lesson", ["01_self_attention", "07_transformer"])
def test_every_try_it_of_an_untouched_lesson(run, lesson):
    notebook = nbformat.read(Path(ROOT) / "notebooks" / f"{lesson}.ipynb", as_version=nbformat.NO_CONVERT)
    said = []
    for cell in notebook.cells:
        if cell.cell_type == "code" and _role(cell) not in ("install", "train"):
            shown, error = run(cell.source)
            assert error is None or isinstance(error, NotImplementedError | AssertionError), shown
            if isinstance(error, NotImplementedError):
                assert shown.splitlines()[-1].endswith(
                    " is not written yet. Write it in its cell, then run this cell again."
                )
                assert "Traceback" not in shown
                said.append(_role(cell))
    assert set(said) == {"try"}
    assert len(said) >= 5
