"""What a kernel says of cells that need what an interrupted one was to make."""

from __future__ import annotations

import pytest
from IPython.core.interactiveshell import InteractiveShell

from grader.learner import interrupted
from grader.learner.interrupted import NotFinished, Stopped, Unfinished


@pytest.fixture
def run(monkeypatch):
    shell = InteractiveShell()
    unfinished = Unfinished()
    monkeypatch.setattr(interrupted, "shell", lambda: shell)
    shell.ast_transformers.append(unfinished)
    shell.events.register("pre_run_cell", unfinished.begins)
    shell.events.register(
        "post_run_cell", lambda result: unfinished.ended(result.error_in_exec or result.error_before_exec)
    )
    shell.user_ns["Stopped"] = Stopped

    def execute(source, cell=None):
        result = shell.run_cell(source, cell_id=cell)
        return result.error_in_exec or result.error_before_exec

    return execute


INTERRUPTED = (
    "losses = []\nfor step in range(3):\n    losses.append(step)\n    if step == 1:\n        raise KeyboardInterrupt"
)


def test_a_cell_that_reads_what_an_interrupted_one_makes_waits_and_so_do_those_that_need_it(run):
    run("table = {}")
    assert isinstance(run(INTERRUPTED, "training"), KeyboardInterrupt)
    for waiting in ("mean = sum(losses) / 3", "print(mean)", "table['mean'] = mean", "print(table)"):
        error = run(waiting)
        assert isinstance(error, NotFinished)
        assert "\n" not in str(error)
        assert "begins with `losses = []`" in str(error)
    assert run("other = 1\nprint(other)") is None
    assert run(INTERRUPTED.replace("step == 1", "False"), "training") is None
    for waiting in ("mean = sum(losses) / 3", "print(mean)", "table['mean'] = mean", "print(table)"):
        assert run(waiting) is None


def test_the_interrupted_cell_itself_may_run_again_as_often_as_one_likes(run):
    stops = "run = 1\nraise Stopped('Stopped at step 1 of 3.')"
    for _ in range(3):
        error = run(stops)
        assert isinstance(error, Stopped)
        assert error._render_traceback_() == ["Stopped at step 1 of 3."]


def test_a_name_that_a_cell_makes_anew_waits_for_nobody(run):
    run(INTERRUPTED)
    assert run("losses = [1, 2]\nprint(losses)") is None
    assert run("print(losses)") is None


def test_functions_and_modules_wait_for_nobody(run):
    run("import math\ndef double(x):\n    return 2 * x")
    run("print(double(math.pi))\nraise KeyboardInterrupt")
    assert run("print(double(math.pi))") is None


def test_a_function_of_a_cell_that_waits_is_told_too(run):
    run(INTERRUPTED, "training")
    assert isinstance(run("def mean():\n    return sum(losses) / 3\n\nprint(losses)"), NotFinished)
    assert isinstance(run("print(mean())"), NotFinished)


def test_an_ordinary_error_makes_nobody_wait(run):
    assert isinstance(run("losses = []\nlosses[1]"), IndexError)
    assert run("print(losses)") is None


def test_what_a_loop_adds_to_waits_too(run):
    run("total = 0")
    run(INTERRUPTED.replace("losses.append(step)", "total += step"), "training")
    assert isinstance(run("for i in range(3):\n    total += i"), NotFinished)


@pytest.mark.parametrize("cell", ["return 1", "break", "import asyncio\nawait asyncio.sleep(0)"])
def test_a_cell_that_is_odd_or_no_cell_ends_no_waiting(run, cell):
    run(INTERRUPTED, "training")
    run(cell)
    assert isinstance(run("print(losses)"), NotFinished)
