"""Model solutions, and so what lessons give, work on a device that isn't the CPU.

What a given cell holds is taken from earlier solutions (tests/lessons/test_given.py).
"""

from __future__ import annotations

import linecache
import re
from dataclasses import replace
from typing import Any

import pytest
import torch

from grader.authoring.model_solutions import model_solution, solution_in_context
from grader.authoring.unfinished import todo_in_specification
from grader.exercises.registry import exercises
from grader.report import Report
from grader.spec.evaluate import evaluate
from grader.subject import Outcome, Request
from grader.subject.elsewhere import ELSEWHERE, DevicesMixed, two_devices
from grader.subject.local import LocalSubject
from tests.exercises.test_submissions import without_unused_imports

EXERCISES = [
    name for name, exercise in exercises().items() if exercise.kind != "answers" and not todo_in_specification(exercise)
]


class OnAnotherDevice(LocalSubject):
    """Calls a student's code with everything on the other device."""

    def ask(self, request: Request) -> Outcome:
        return super().ask(replace(request, elsewhere=True))


def names_in(source: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    code = compile(source, "<a cell>", "exec")
    linecache.cache["<a cell>"] = (len(source), None, source.splitlines(keepends=True), "<a cell>")
    exec(code, namespace)
    return namespace


def checked(name: str, source: str) -> Report:
    """The whole check of an answer on the other device."""
    return evaluate(exercises()[name], OnAnotherDevice(names_in(source)), exercises=exercises(), seconds=60)


def remark_on(name: str, source: str) -> str:
    """What a learner's check remarks on a right answer."""
    report = evaluate(exercises()[name], LocalSubject(names_in(source)), exercises=exercises(), remarks=True)
    assert report.passed, str(report)
    return report.remark


@pytest.mark.parametrize("name", EXERCISES)
def test_model_solution_works_on_another_device(name):
    source = without_unused_imports(model_solution(exercises()[name]))
    report = checked(name, source)
    assert report.passed, str(report)
    assert remark_on(name, source) == ""


DEVICE = re.compile(r",\s*device=[\w.]+|\.to\([\w.]+\.device\)")
WITH_DEVICE = [name for name in EXERCISES if DEVICE.search(solution_in_context(exercises()[name])[1])]


@pytest.mark.parametrize("name", WITH_DEVICE)
def test_without_its_device_argument_it_does_not(name):
    before, solution = solution_in_context(exercises()[name])
    assert "On a GPU" in remark_on(name, before + "\n" + DEVICE.sub("", solution))


FORGOTTEN = {
    "mask made on the CPU": (
        "causal_multi_head_attention",
        "right = causal_multi_head_attention\n"
        "causal_multi_head_attention = lambda x, *rest: right(x + torch.zeros(x.shape), *rest)",
    ),
    "result moved to the CPU": (
        "embed_tokens",
        "embed_tokens = lambda tokens, table: table[tokens].cpu()",
    ),
    "tensor of a module that is no buffer": (
        "FeedForward",
        """class Kept(FeedForward):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.zeros = torch.zeros(sizes[0])
    def forward(self, x):
        return super().forward(x) + self.zeros
FeedForward = Kept""",
    ),
}


@pytest.mark.parametrize("slip", FORGOTTEN)
def test_a_tensor_on_the_cpu_is_noticed(slip):
    name, change = FORGOTTEN[slip]
    report = checked(name, model_solution(exercises()[name]) + "\n" + change)
    assert not report.passed
    assert "DevicesMixed" in str(report) or "ResultLeft" in str(report)
    assert "On a GPU" in remark_on(name, model_solution(exercises()[name]) + "\n" + change)


def test_numbers_are_there_and_devices_do_not_mix():
    with two_devices():
        x = torch.arange(3, device=ELSEWHERE) + torch.tensor([1, 2, 3], device=ELSEWHERE)
        assert x.device == ELSEWHERE
        assert x.tolist() == [1, 3, 5]
        stray = torch.arange(3)
        with pytest.raises(DevicesMixed, match=r"^\d+ stray = torch.arange\(3\)$"):
            x + stray
    assert (x + torch.arange(3)).tolist() == [1, 4, 7]  # what is left over of it does no harm


RIGHT_ON_THE_CPU = {
    "made and used in one line": (
        "def attention_scores(q, k):\n    return q @ k.mT + torch.zeros(1, 1)",
        "because line 2, `return q @ k.mT + torch.zeros(1, 1)`, makes a tensor on the CPU and uses it",
    ),
    "made in another line": (
        "def attention_scores(q, k):\n    nothing = torch.zeros(1, 1)\n    return q @ k.mT + nothing",
        "in line 3, `return q @ k.mT + nothing`, because line 2, `nothing = torch.zeros(1, 1)`, makes",
    ),
    "made of one that was made": (
        "def attention_scores(q, k):\n    a = torch.zeros(2, 1)\n    b = a[:1] * 2\n    return q @ k.mT + b",
        "because line 2, `a = torch.zeros(2, 1)`, makes",
    ),
    "made outside": (
        "nothing = torch.zeros(1, 1)\ndef attention_scores(q, k):\n    return q @ k.mT + nothing",
        "in line 3, `return q @ k.mT + nothing`, because it uses a tensor on the CPU",
    ),
    "filled row by row": (
        "def attention_scores(q, k):\n    s = torch.empty(*q.shape[:-1], k.shape[-2], dtype=q.dtype)\n"
        "    s[...] = q @ k.mT\n    return s",
        "the result would be on the CPU, because line 2, `s = torch.empty(*q.shape[:-1], k.shape[-2], dtype=q.dtype)`,",
    ),
    "moved": ("def attention_scores(q, k):\n    return (q @ k.mT).cpu()", "because line 2, `return (q @ k.mT).cpu()`,"),
}


@pytest.mark.parametrize("slip", RIGHT_ON_THE_CPU)
def test_the_remark_names_the_line_and_costs_nothing(slip):
    source, said = RIGHT_ON_THE_CPU[slip]
    remark = remark_on("attention_scores", f"import torch\n{source}")
    lines = re.sub(r"line (\d+)", lambda found: f"line {int(found[1]) - 1}", remark)  # without the import
    assert said in lines
    assert remark.endswith("This costs no points.")


FINE = {
    "a mask on the input's device": "return q @ k.mT + torch.zeros(1, 1, device=q.device)",
    "a number": "return q @ k.mT * torch.tensor(1.0)",
    "an index": "return (q @ k.mT)[..., torch.arange(k.shape[-2])]",
    "like an input": "return q @ k.mT + q.new_zeros(1, 1) + torch.zeros_like(q[..., :1, :1])",
    "what the stand-in can't do": "torch.utils.dlpack.to_dlpack(k.detach())\n    return q @ k.mT",
}


@pytest.mark.parametrize("slip", FINE)
def test_what_works_on_a_gpu_gets_no_remark(slip):
    assert remark_on("attention_scores", f"import torch\ndef attention_scores(q, k):\n    {FINE[slip]}") == ""


def test_a_wrong_answer_gets_no_remark():
    source = "import torch\ndef attention_scores(q, k):\n    return 2 * q @ k.mT + torch.zeros(1, 1)"
    report = evaluate(exercises()["attention_scores"], LocalSubject(names_in(source)), remarks=True)
    assert (report.passed, report.remark) == (False, "")
