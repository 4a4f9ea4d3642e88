"""Which worked examples run: those that a submission could need, and no others."""

from __future__ import annotations

import contextlib
import copy
import io
from dataclasses import replace
from pathlib import Path

import pytest
from torch.optim.optimizer import register_optimizer_step_pre_hook

from grader.judge import plan
from grader.judge.grading import without_unneeded_examples
from grader.judge.needed import names_of_example, needed
from grader.judge.outline import Outline
from grader.subject.cells import compile_cell, notebook_namespace
from grader.subject.executor import Executor
from grader.subject.protocol import Request
from tests.judge.conftest import LIMITS, RIGHT, cells
from tools import notebooks as nb

SOURCES = {
    "imports": "import torch\nimport math",
    "makes x": "x = torch.ones(3)",
    "changes x": "x.mul_(2)",
    "makes y of x": "y = x + 1\nprint(y)",
    "prints y": "print(y)",
    "answers a prediction": 'compare_guess("01_y", y)',
    "calls a helper": "shapes(3, y=y)",
    "sets torch": "torch.set_default_dtype(torch.float64)",
    "loop": "for row in y:\n    last = row",
    "defines": "def helper(a):\n    return a * y",
    "seeds torch": "torch.manual_seed(0)",
    "layer": "class Layer:\n    def __init__(self):\n        super().__init__()\n        self.x = x",
}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("def f(a): return a", set()),
        ("def f(x):\n    y = x\n    return y  # math", set()),
        ("math.pi", {"imports"}),
        ("x", {"imports", "makes x", "changes x", "sets torch"}),
        ("last", {"imports", "makes x", "changes x", "makes y of x", "calls a helper", "sets torch", "loop"}),
        ("shapes(1, a=2)", set()),
        ("helper(1)", {"imports", "makes x", "changes x", "makes y of x", "calls a helper", "sets torch", "defines"}),
        ("ｍａｔｈ.pi", {"imports"}),
        ("globals()['x']", set(SOURCES)),
        ("eval('x')", set(SOURCES)),
        ("import builtins\nbuiltins.exec('x')", set(SOURCES)),
        ("class Mine:\n    def __init__(self):\n        super().__init__()", set()),
        ("def f(model): model.eval()", set()),
        ("for _ in range(2): pass\ndef f(a): return [_ for _ in a]", set()),
        ("last_one = _", set(SOURCES)),
        ("last_one = _3", set(SOURCES)),
        ("last_one = Out[3]", set(SOURCES)),
        ("def f(layer): return layer.last, layer.helper()", set()),
        (
            "import sys\nsys.modules['__main__'].last",
            {"imports", "makes x", "changes x", "makes y of x", "calls a helper", "sets torch", "loop"},
        ),
    ],
)
def test_what_a_text_needs(text, wanted):
    names = list(SOURCES)
    used = Executor({}).carry_out(Request("names", args=(text,))).value
    found = needed(set(used), {i: (source, False) for i, source in enumerate(SOURCES.values())})
    assert {names[i] for i in found} == wanted


@pytest.mark.parametrize(
    ("source", "makes"),
    [
        ("def learn(model, step):\n    step(model)", {"learn"}),
        ("def learn(model, *, step=None, **more):\n    step.go(model, more)", {"learn"}),
        ("def learn():\n    total = []\n    total.append(1)", {"learn"}),
        ("def learn(model):\n    def inner():\n        model.append(1)\n    inner()", {"learn"}),
        ("def learn(model):\n    losses.append(model)", {"learn", "losses"}),
        ("def learn(model):\n    global losses\n    losses.append(1)\n    losses = []", {"learn", "losses"}),
        ("class Log:\n    def add(self, more):\n        kept[more] = self", {"Log", "kept"}),
    ],
)
def test_what_a_function_calls_by_its_own_names_is_nobody_elses(source, makes):
    assert names_of_example(source).makes == makes


@pytest.mark.parametrize(("role", "definitions"), [("example", False), ("answer", True), ("train", True)])
def test_of_a_cell_that_answers_a_prediction_or_trains_only_the_definitions_run(role, definitions):
    outline = Outline.of(nb.dump([nb.code("total = 3", role, id="total")]))
    [step] = plan.make(outline, outline.cells).steps
    assert step == plan.RunStep("total = 3", definitions, example=True, number=1)


def names(sources):
    """The names that sources use, as a process tells them."""
    value = Executor({}).carry_out(Request("names", args=sources)).value
    return None if value is None else set(value)


def steps_of(outline, cells):
    return without_unneeded_examples(names, plan.make(outline, cells)).steps


@pytest.mark.parametrize("path", sorted(Path("solutions").glob("*.ipynb")), ids=lambda path: path.stem[:2])
def test_the_lessons_are_judged_without_their_installation_and_their_training(path):
    outline = Outline.of(path.read_bytes())
    given = [cell for cell in outline.cells if cell.kind == "code"]
    all_steps, steps = plan.make(outline, given).steps, steps_of(outline, given)
    assert len(steps) < len(all_steps)
    steps_of_optimizers = []
    hook = register_optimizer_step_pre_hook(lambda *_: steps_of_optimizers.append(1))
    namespace = notebook_namespace({"__name__": "__main__"})
    try:
        for step in steps:
            if isinstance(step, plan.RunStep):
                assert "%pip" not in step.source
                # An example that only seems to be needed may miss what a cell that is left out makes.
                missing = contextlib.suppress(NameError) if step.example else contextlib.nullcontext()
                with contextlib.redirect_stdout(io.StringIO()), missing:
                    exec(compile_cell(step.source, "<cell>", step.definitions), namespace)
    finally:
        hook.remove()
    assert not steps_of_optimizers
    assert set(outline.exercises) <= namespace.keys()


def test_an_answer_that_uses_what_a_lesson_s_example_makes_gets_it():
    outline = Outline.of(Path("solutions/08_training.ipynb").read_bytes())
    given = [cell for cell in outline.cells if cell.kind == "code"]
    mine = replace(given[-1], source="mine = first_day", id="mine", grade_id="", role="", exercise="")
    without, with_it = (
        {step.source for step in steps_of(outline, cells) if isinstance(step, plan.RunStep)}
        for cells in (given, [*given, mine])
    )
    [made] = [cell.source for cell in given if cell.source.startswith("first_day,")]
    assert made not in without
    assert made in with_it


def test_an_unused_example_is_not_run_and_a_changed_one_is(judge):
    slow = nb.code("import time\ntime.sleep(60)\nunused = 1", "example", id="slow")
    outline = Outline.of(nb.dump([cells()[0], slow, *cells()[1:]]))
    patient = replace(LIMITS, cell_seconds=20, submission_seconds=60)
    assert judge([cells()[0], slow, *cells()[1:]], outline=outline, limits=patient).seconds < 20
    changed = copy.deepcopy(slow)
    changed["source"] = "factor = 1"
    uses = cells(product="def product(left, right):\n    return factor * left @ right")
    assert judge([uses[0], changed, *uses[1:]], outline=outline).mark == 6


def test_a_used_example_is_run(judge):
    example = nb.code("factor = torch.ones(())", "example", id="factor")
    made = cells(product=RIGHT.replace("left @", "factor.to(left.dtype) * left @"))
    made.insert(1, example)
    outline = Outline.of(nb.dump(made))
    assert judge(made, outline=outline).mark == 6
    steps = plan.make(outline, [c for c in outline.cells if c.role != "check"]).steps
    assert any(isinstance(step, plan.RunStep) and "factor =" in step.source for step in steps)
