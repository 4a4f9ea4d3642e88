"""Training that is interrupted half way, in every lesson: what follows says so in a line, and the training goes on."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from jupyter_client.manager import start_new_kernel

from grader.subject.cells import compile_cell
from grader.subject.names import names_of

SOLUTIONS = sorted(Path("solutions").glob("*.ipynb"))
# Counts the steps of optimizers, and the gradients that a cell asks for in order to step by itself (a check does so
# too, from a file); raises what Ctrl+C raises at the one that is asked for.
COUNT = """
import os as _os, sys as _sys, torch as _torch
from torch.optim.optimizer import register_optimizer_step_pre_hook as _register
_steps, _stop = [0], [0]
def _step(*_):
    _steps[0] += 1
    if _steps[0] == _stop[0]:
        raise KeyboardInterrupt
_register(_step)
_grad = _torch.autograd.grad
def _counted(*args, **keywords):
    if not _os.path.exists(_sys._getframe(1).f_code.co_filename):
        _step()
    return _grad(*args, **keywords)
_torch.autograd.grad = _counted
"""
# Cells draw from one state, so it is put back where the training goes on: else what ran meanwhile would show.
KEEP_STATE = "import random as _random, torch as _torch; _state = _torch.get_rng_state(), _random.getstate()"
PUT_BACK = "_torch.set_rng_state(_state[0]); _random.setstate(_state[1])"
FEWEST = 20  # steps: less is a demonstration, not a training
# Here only cells that train use what is trained, so none after them has anything to wait for.
ALONE = {"01", "06", "07"}


class Notebook:
    """A kernel that runs a lesson's cells, as JupyterLab does."""

    def __init__(self, path):
        self.cells = [
            (cell["id"], "".join(cell["source"]))
            for cell in json.loads(path.read_text("utf-8"))["cells"]
            if cell["cell_type"] == "code"
        ]
        self.manager, self.client = start_new_kernel(kernel_name="python3", startup_timeout=300)
        self.execute(COUNT)

    def execute(self, source, cell=None):
        """What a cell prints, and the traceback as it is shown, if any."""
        content = {"code": source, "silent": False, "store_history": True, "allow_stdin": False, "stop_on_error": False}
        message = self.client.session.msg("execute_request", content, metadata={"cellId": cell} if cell else None)
        self.client.shell_channel.send(message)
        printed, shown = "", ""
        while True:
            reply = self.client.get_iopub_msg(timeout=600)
            if reply["parent_header"].get("msg_id") != message["header"]["msg_id"]:
                continue
            if reply["msg_type"] == "status" and reply["content"]["execution_state"] == "idle":
                return printed, shown
            if reply["msg_type"] == "stream" and reply["content"]["name"] == "stdout":
                printed += reply["content"]["text"]
            if reply["msg_type"] == "error":
                shown = "\n".join(reply["content"]["traceback"])

    def run(self, number, stop=0):
        self.execute(f"_steps[0], _stop[0] = 0, {stop}")
        name, source = self.cells[number]
        return self.execute(source, name)

    def steps(self):
        return int(self.execute("print(_steps[0])")[0])

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@pytest.fixture
def notebook():
    opened = []

    def make(path):
        opened.append(Notebook(path))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


def without_times(text):
    """Text without what differs from run to run, seconds above all."""
    return re.sub(r" *[\d.,]+ (s|ms|seconds|times|MB|tokens a second)\b", "-", text)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.stem[:2])
def test_interrupted_training_is_told_and_goes_on(path, notebook):
    straight = notebook(path)
    printed, steps = [], {}
    for number in range(len(straight.cells)):
        said, error = straight.run(number)
        assert not error, error
        printed.append(said)
        steps[number] = straight.steps()
    trainings = [number for number, count in steps.items() if count >= FEWEST]
    waiting = 0
    for training in trainings:
        stopped = notebook(path)
        for number in range(training):
            stopped.run(number)
        stopped.execute(KEEP_STATE)
        _, error = stopped.run(training, stop=steps[training] // 2)
        assert "KeyboardInterrupt" in error or error.startswith("Stopped at step"), error
        later = set()  # names that another training makes: it would go on for its own part, and is left out
        for number in range(training + 1, len(stopped.cells)):
            names = names_of(compile_cell(stopped.cells[number][1], "<cell>"))
            if steps[number] >= FEWEST:
                later |= names.binds
            elif not names.uses & later:
                _, error = stopped.run(number)
                assert not error or error.startswith("Not finished: "), (stopped.cells[number][1], error)
                assert "\n" not in error
                waiting += bool(error)
        stopped.execute(PUT_BACK)
        for number in range(training, len(stopped.cells)):
            said, error = stopped.run(number)
            assert not error, (stopped.cells[number][1], error)
            if number != training and "timed" not in stopped.cells[number][1]:
                assert without_times(said) == without_times(printed[number]), stopped.cells[number][1]
        stopped.close()
    assert not trainings or bool(waiting) == (path.stem[:2] not in ALONE), f"{waiting} cells wait for a training"
