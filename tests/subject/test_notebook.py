"""How cells run: as in Jupyter, but for what stands behind a line that raises."""

from __future__ import annotations

import sys

import pytest
from IPython.core.inputtransformer2 import TransformerManager

from grader.subject import Request
from grader.subject.cells import notebook_namespace
from grader.subject.executor import Executor
from grader.subject.forked import ForkedSubject
from grader.subject.guarded import _nobody_answers
from grader.subject.notebook import Notebook


def run(*cells: str) -> tuple[dict, list[list[str]]]:
    """The names after these cells, and by cell the errors that it raised, "line: class"."""
    namespace = notebook_namespace({"__name__": "__main__", "__builtins__": __builtins__})
    notebook = Notebook(namespace)
    found = [[f"{error.line_number}: {error.name}" for error in notebook.run(cell)] for cell in cells]
    return namespace, found


OWN_CLASS = """
import pickle, __main__
class Mine:
    axis = -1
assert pickle.loads(pickle.dumps(Mine())).axis == -1
assert __main__.Mine is Mine
"""


def test_the_notebook_is_the_main_module(zygote):
    """As in Jupyter: classes that it defines can be pickled."""
    with ForkedSubject(zygote) as subject:
        outcome = subject.ask(Request("run", source=OWN_CLASS, seconds=60))
        assert outcome.ok, outcome


LACKED = "import not_here_at_all"


@pytest.mark.parametrize(
    ("cell", "names", "errors"),
    [
        # What the machine lacks: all that is behind it runs.
        (f"{LACKED}\nx = 1\ndef f(): ...", {"x": 1}, ["1: ModuleNotFoundError"]),
        (f"x = 1\n{LACKED}\nx = x + 1", {"x": 2}, ["2: ModuleNotFoundError"]),
        (f"{LACKED}\nopen('/none')\nx = 1", {"x": 1}, ["1: ModuleNotFoundError", "2: FileNotFoundError"]),
        (f"{LACKED} as a\na.b()\nx = 1", {"x": 1}, ["1: ModuleNotFoundError", "2: NameError"]),
        ("input()\nx = 1", {"x": 1}, ["1: EOFError"]),
        ("raise RuntimeError('No CUDA GPUs are available')\nx = 1", {}, ["1: RuntimeError"]),
        ("import not_here, math as m, nor_here\nx = 1", {"x": 1}, ["1: ModuleNotFoundError"] * 2),
        ("from math import none_such, pi as p\nx = 1", {"x": 1}, ["1: ImportError"]),
        (f"if True:\n    {LACKED}\n    x = 1\ny = 1", {"x": 1, "y": 1}, ["2: ModuleNotFoundError"]),
        (f"try:\n    {LACKED}\n    import math as m\nfinally:\n    x = 1", {"x": 1}, ["2: ModuleNotFoundError"]),
        # Any other error: only what is missing, of imports and definitions.
        ("x = 1\n1 / 0\nx = 2\ny = 2", {"x": 1}, ["2: ZeroDivisionError"]),
        ("raise ImportError\nx = 1", {}, ["1: ImportError"]),
        ("stop_here\nx = 1", {}, ["1: NameError"]),
        ("import sys\nsys.exit()\nx = 1", {}, ["2: SystemExit"]),
        (f"1 / 0\n{LACKED}\nx = 1", {}, ["1: ZeroDivisionError", "2: ModuleNotFoundError"]),
        (f"{LACKED}\n1 / 0\nx = 1", {}, ["1: ModuleNotFoundError", "2: ZeroDivisionError"]),
        # Nothing runs of what isn't Python.
        ("x = 1\ny = (", {}, ["2: SyntaxError"]),
    ],
)
def test_what_stands_behind_a_line_that_raises(monkeypatch, cell, names, errors):
    monkeypatch.setattr("builtins.input", _nobody_answers)
    namespace, found = run(cell)
    assert {name: namespace[name] for name in ("x", "y") if name in namespace} == names
    assert found == [errors]


@pytest.mark.parametrize("stop", ["1 / 0", "raise SystemExit", "assert f() == 2", "STOP", LACKED])
def test_an_old_version_behind_a_stop_does_not_take_the_place_of_the_new_one(stop):
    namespace, _ = run(f"def f(): return 1\n{stop}\ndef f(): return 2\ndef g(): return 3\nimport math")
    assert (namespace["f"](), namespace["g"]()) == (1, 3)
    assert "math" in namespace


def test_a_definition_of_an_earlier_cell_is_replaced_only_where_the_machine_is_to_blame():
    earlier, later = "def f(): return 1", "{}\ndef f(): return 2"
    assert [run(earlier, later.format(stop))[0]["f"]() for stop in ("1 / 0", LACKED)] == [1, 2]


def test_hints_of_what_is_missing_are_not_read():
    namespace, found = run(
        "from not_here import Float",
        "def f(x: Float['T']) -> Float: return x\nclass A:\n    y: Float = 1\nz: Float = 2",
        "def g(x=Float): ...",
    )
    assert (namespace["f"](3), namespace["A"].y, namespace["z"]) == (3, 1, 2)
    assert found == [["1: ModuleNotFoundError"], [], ["1: NameError"]]


def test_a_future_of_an_earlier_cell_holds_in_later_ones():
    assert run("from __future__ import annotations", "def f(x: NotHere): ...")[1] == [[], []]


def test_await_and_tasks_share_one_loop_as_in_a_kernel():
    namespace, found = run(
        "import asyncio\nasync def f(): return 2",
        "task = asyncio.create_task(f())\nloop = asyncio.get_running_loop()",
        "%%time\nx = await task\nassert asyncio.get_running_loop() is loop",
        "y = asyncio.run(f())",
        "if await f() == 2:\n    z = [await f() for _ in range(2)]",
    )
    assert found == [[], [], [], [], []]
    assert (namespace["x"], namespace["y"], namespace["z"]) == (2, 2, [2, 2])


def test_the_last_value_is_kept_unless_the_name_is_the_student_s():
    assert run("1", "None", "x = _ + 1", "2;")[0]["x"] == 2
    assert run("_ = 5", "1", "x = _")[0]["x"] == 5


# An IPython older than its Python doesn't know a command on the right of an assignment.
LISTED = "!ls" if "getoutput" in TransformerManager().transform_cell("files = !ls") else "%sx ls"


def test_files_folders_and_variables_of_magics(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    namespace, found = run(
        "%%writefile mine_e.py\nx = 1",
        "%%writefile -a mine_e.py\n\ny = x + 1",
        "import mine_e\n%run mine_e.py",
        f"%cd {tmp_path}\n%env MINE_E=3\n%set_env OTHER_E 4",
        "import os\nu = os.environ['MINE_E'] + os.environ['OTHER_E']",
        f"%%capture kept\n%%time\nz = mine_e.y\nfiles = {LISTED}",
        "print(files[0], kept.show(), len([*files]))\nresult = %timeit -o -n 1 z\nresult.best",
        "w = %time 7\n%time v = 7\nget_ipython().run_cell('v += w')",
    )
    assert found == [[]] * 8
    assert [namespace[name] for name in "xyzuwv"] == [1, 2, 2, "34", 7, 14]


@pytest.mark.parametrize(
    "form", ["%time {}", "%timeit {}", "%%time\n{}", "%%capture kept\n{}", "get_ipython().run_cell({!r})"]
)
def test_a_magic_swallows_neither_the_end_of_the_time_nor_what_the_machine_lacks(form):
    executor = Executor(notebook_namespace({"__name__": "__main__"}))
    endless = Request("run", source=form.format("exec('while True: pass')"), seconds=0.2, patience=30)
    assert executor.carry_out(endless).status == "time-limit"
    assert asked(executor, form.format(LACKED) + "\nx = 1").raised.name == "ModuleNotFoundError"
    assert executor.namespace["x"] == 1
    assert executor.carry_out(Request("run", source="print('told')")).output == "told\n"


def asked(executor: Executor, source: str):
    return executor.carry_out(Request("run", source=source))


def test_a_missing_name_goes_back_to_the_line_that_would_have_made_it():
    executor = Executor(notebook_namespace({"__name__": "__main__"}))
    assert asked(executor, f"import math\n{LACKED} as a\nb = a.c").raised.name == "ModuleNotFoundError"
    assert asked(executor, "c = b + 1").raised.name == "NameError"
    asked(executor, "def f(): return c")
    call = executor.carry_out(Request("call", "f"))
    assert (call.raised.name, call.stop.message, call.stop.line_number) == (
        "NameError",
        "No module named 'not_here_at_all'",
        2,
    )
    assert executor.carry_out(Request("call", "c")).stop == call.stop
    assert executor.carry_out(Request("call", "zzz")).stop is None
    asked(executor, "c = 3")
    assert executor.carry_out(Request("call", "f")).value == 3
    asked(executor, "1 / 0\nd = 1")
    assert executor.carry_out(Request("call", "d")).stop.name == "ZeroDivisionError"
    asked(executor, "def g():\n    return (")
    assert executor.carry_out(Request("call", "g")).stop.name == "SyntaxError"
