"""A check says first when it is about what an earlier run of a cell has left, in a real kernel."""

from __future__ import annotations

import pytest
from jupyter_client.manager import start_new_kernel

RIGHT = "def first_steps(x):\n    return 2 * x + 1"
CHECK = "check(first_steps)"
EARLIER = "this check looks at what an earlier run defined"


@pytest.fixture(scope="module")
def run():
    manager, client = start_new_kernel(kernel_name="python3", startup_timeout=300)

    def execute(source, cell=""):
        """What a cell prints, as a front end runs it that names its cells (or, without `cell`, doesn't)."""
        content = {"code": source, "silent": False, "store_history": True, "allow_stdin": False, "stop_on_error": False}
        message = client.session.msg("execute_request", content, metadata={"cellId": cell} if cell else None)
        client.shell_channel.send(message)
        said = []
        while True:
            reply = client.get_iopub_msg(timeout=120)
            if reply["parent_header"].get("msg_id") != message["header"]["msg_id"]:
                continue
            if reply["msg_type"] == "status" and reply["content"]["execution_state"] == "idle":
                return "".join(said)
            text = reply["content"].get("text") or reply["content"].get("data", {}).get("text/plain", "")
            said.append(text)

    execute("from grader import check, reset", "imports")
    yield execute
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@pytest.mark.parametrize("cell", ["solution", ""])
@pytest.mark.parametrize(
    "again", ["def first_steps(x)\n    return x", "def first_steps(x):\nreturn x", "import nunpy\n\n" + RIGHT]
)
def test_a_cell_that_failed_when_it_was_run_again(run, cell, again):
    run(RIGHT, cell)
    assert EARLIER not in run(CHECK, "check")
    run(again, cell)
    said = run(CHECK, "check")
    assert said.startswith(
        f"The cell of `first_steps` was run again and failed (see the error below it), so {EARLIER}"
    ), said
    run(RIGHT, cell)
    assert EARLIER not in run(CHECK, "check")


def test_a_report_in_a_name_is_shown_whenever_a_cell_asks_for_it(run):
    run(RIGHT)
    said = [run(source) for source in (f"report = {CHECK}", "report", "report", f"report = {CHECK}\nreport", CHECK)]
    assert [text.count("first_steps: passed") for text in said] == [1, 1, 1, 1, 1], said


def test_a_cell_that_defines_another_name_now(run):
    run(RIGHT, "solution")
    run(RIGHT.replace("first_steps", "first_step"), "solution")
    assert run(CHECK, "check").startswith("The cell of `first_steps` was run again but doesn't define `first_steps`")
    run(RIGHT, "another")
    assert EARLIER not in run(CHECK, "check")


def test_a_class_is_told_too(run):
    stub = "from torch import nn\nclass FeedForward(nn.Module):\n    def forward(self, x):\n        return x"
    run(stub, "block")
    run(stub + "\n    return", "block")
    assert "was run again and failed" in run("check(FeedForward)", "check")


def test_a_cell_that_was_put_back_and_not_run(run):
    run(RIGHT, "solution")
    run('reset("first_steps")', "solution")
    assert "haven't run it since" in run(CHECK, "check")
    run(RIGHT, "solution")
    assert EARLIER not in run(CHECK, "check")
