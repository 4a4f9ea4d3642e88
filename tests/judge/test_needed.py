"""Which worked examples run: those that a submission could need, and no others."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest

from grader.judge import plan
from grader.judge.needed import needed
from grader.judge.outline import Outline
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
    "sets torch": "torch.set_default_dtype(torch.float64)",
    "loop": "for row in y:\n    last = row",
    "defines": "def helper(a):\n    return a * y",
}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("def f(a): return a", set()),
        ("def f(x):\n    y = x\n    return y  # math", set()),
        ("math.pi", {"imports"}),
        ("x", {"imports", "makes x", "changes x", "sets torch"}),
        ("last", {"imports", "makes x", "changes x", "makes y of x", "sets torch", "loop"}),
        ("helper(1)", {"imports", "makes x", "changes x", "makes y of x", "sets torch", "defines"}),
        ("ｍａｔｈ.pi", {"imports"}),
        ("globals()['x']", set(SOURCES)),
        ("eval('x')", set(SOURCES)),
        ("def f(model): model.eval()", set()),
    ],
)
def test_what_a_text_needs(text, wanted):
    names = list(SOURCES)
    used = Executor({}).handle(Request("names", args=(text,))).value
    found = needed(set(used), {i: (source, False) for i, source in enumerate(SOURCES.values())})
    assert {names[i] for i in found} == wanted


@pytest.mark.parametrize("role", ["example", "answer"])
def test_a_cell_that_answers_a_prediction_is_an_example_like_any_other(role):
    outline = Outline.of(nb.dump([nb.code("total = 3", role, id="total")]))
    [step] = plan.make(outline, outline.cells).steps
    assert step == plan.RunStep("total = 3", example=True)


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
