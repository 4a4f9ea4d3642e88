"""Model solutions, and so what lessons give, work on a device that isn't the CPU.

What a given cell holds is taken from earlier solutions (tests/lessons/test_given.py).
"""

from __future__ import annotations

import re

import pytest
import torch

from grader.authoring.model_solutions import model_solution, solution_in_context
from grader.authoring.unfinished import todo_in_specification
from grader.exercises.registry import exercises
from grader.report import Report
from grader.spec.evaluate import evaluate
from grader.subject.local import LocalSubject
from tests.exercises.elsewhere import ELSEWHERE, ElsewhereExecutor, two_devices
from tests.exercises.test_submissions import without_unused_imports

EXERCISES = [
    name for name, exercise in exercises().items() if exercise.kind != "answers" and not todo_in_specification(exercise)
]


def checked(name: str, source: str) -> Report:
    namespace: dict[str, object] = {"__name__": "__main__"}
    exec(source, namespace)
    subject = LocalSubject(namespace)
    subject._executor = ElsewhereExecutor(namespace)
    return evaluate(exercises()[name], subject, seed="practice", exercises=exercises(), seconds=60)


@pytest.mark.parametrize("name", EXERCISES)
def test_model_solution_works_on_another_device(name):
    report = checked(name, without_unused_imports(model_solution(exercises()[name])))
    assert report.passed, str(report)


DEVICE = re.compile(r",\s*device=[\w.]+|\.to\([\w.]+\.device\)")
WITH_DEVICE = [name for name in EXERCISES if DEVICE.search(solution_in_context(exercises()[name])[1])]


@pytest.mark.parametrize("name", WITH_DEVICE)
def test_without_its_device_argument_it_does_not(name):
    before, solution = solution_in_context(exercises()[name])
    report = checked(name, before + "\n" + DEVICE.sub("", solution))
    assert not report.passed


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
    assert "CPU" in str(report)


def test_numbers_are_there_and_devices_do_not_mix():
    with two_devices():
        x = torch.arange(3, device=ELSEWHERE) + torch.tensor([1, 2, 3], device=ELSEWHERE)
        assert x.device == ELSEWHERE
        assert x.tolist() == [1, 3, 5]
        with pytest.raises(RuntimeError, match=r"add: a tensor \(3,\) is on the CPU"):
            x + torch.arange(3)
