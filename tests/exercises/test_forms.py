"""The same slip costs the same: right numbers in another form keep at least half of the points, in every exercise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.authoring.model_solutions import model_solution
from grader.exercises.registry import exercises
from grader.report import Report
from grader.report.text import as_text
from grader.spec.evaluate import evaluate
from grader.subject.local import LocalSubject
from tests.exercises.test_submissions import WHICH

EXERCISES = {name: exercise for name, exercise in exercises().items() if exercise.kind != "answers"}
SAME = object()  # what a slip gives where it changes nothing


def swapped(right: Any) -> Any:
    return tuple(reversed(right)) if isinstance(right, tuple) else SAME


def rolled(right: Any) -> Any:
    return (*right[1:], right[0]) if isinstance(right, tuple) and len(right) > 2 else SAME


def everywhere(change: Callable[[Tensor], Tensor]) -> Callable[[Any], Any]:
    """A slip in every tensor of a result."""

    def slip(right: Any) -> Any:
        if isinstance(right, Tensor):
            return change(right)
        if isinstance(right, tuple) and any(isinstance(item, Tensor) for item in right):
            return tuple(change(item) if isinstance(item, Tensor) else item for item in right)
        return SAME

    return slip


def moved(tensor: Tensor) -> Tensor:
    """The third axis from the end stands behind the second, as heads do that come after the tokens."""
    return tensor.transpose(-3, -2) if tensor.dim() > 2 else tensor


def turned(tensor: Tensor) -> Tensor:
    return tensor.mT if tensor.dim() > 1 else tensor


def one_tensor(right: Any) -> Any:
    alike = isinstance(right, tuple) and all(isinstance(t, Tensor) and t.shape == right[0].shape for t in right)
    return torch.stack(right) if alike and right else SAME


def rows(right: Any) -> Any:
    return list(right) if isinstance(right, Tensor) and right.dim() else SAME


def alone(right: Any) -> Any:
    return SAME if right is None else (right,)


def with_more(right: Any) -> Any:
    return SAME if right is None or isinstance(right, tuple | list) else (right, torch.ones(2, 3))


def tensors_for_numbers(right: Any) -> Any:
    if isinstance(right, tuple) and all(isinstance(item, int | float) for item in right):
        return tuple(torch.tensor(item) for item in right)
    return torch.tensor(right) if isinstance(right, int | float) else SAME


def row_of_numbers(right: Any) -> Any:
    pair = isinstance(right, tuple | list) and right and all(isinstance(item, int | float) for item in right)
    return torch.tensor(right) if pair else torch.tensor([right]) if isinstance(right, int | float) else SAME


SLIPS: dict[str, Callable[[Any], Any]] = {
    "results swapped": swapped,
    "results rolled": rolled,
    "an axis kept at the end": everywhere(lambda t: t.unsqueeze(-1)),
    "an axis kept in front": everywhere(lambda t: t.unsqueeze(0)),
    "heads after tokens": everywhere(moved),
    "the last axis moved": everywhere(turned),
    "one tensor for a tuple": one_tensor,
    "a list of rows": rows,
    "in a tuple of one": alone,
    "more than is asked for": with_more,
    "tensors for numbers": tensors_for_numbers,
    "a tensor with an axis": row_of_numbers,
}


def square(name: str) -> bool:
    """Whether an output has as many rows as columns, so that no shape shows that they have changed places."""
    return any(len(axes := output.axes.split()) > 1 and axes[-1] == axes[-2] for output in EXERCISES[name].outputs)


def slipped(right: Any, slip: Callable[[Any], Any], changed: list[bool]) -> Any:
    """A function or a class as the right one, whose results go through a slip. Whether one did is in `changed`."""

    def result(value: Any) -> Any:
        other = slip(value)
        if other is SAME or (isinstance(other, Tensor) and isinstance(value, Tensor) and other.shape == value.shape):
            return value
        changed.append(True)
        return other

    if not isinstance(right, type):
        return lambda *args, **named: result(right(*args, **named))

    class Slipped(right):
        def forward(self, *args: Any, **named: Any) -> Any:
            return result(super().forward(*args, **named))

    return Slipped


def report_on(name: str, slip: Callable[[Any], Any]) -> tuple[Report, bool]:
    """The report on a model solution with a slip, and whether the slip changed a result."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    changed: list[bool] = []
    exec(model_solution(EXERCISES[name]), namespace)
    subject = LocalSubject({**namespace, name: slipped(namespace[name], slip, changed)})
    return evaluate(EXERCISES[name], subject, exercises=EXERCISES), bool(changed)


def other_numbers(name: str, slip: str) -> bool:
    """Whether a slip changes the numbers of an exercise, and not only their form."""
    # With as many rows as columns, what stood in a row stands in a column. GPT returns a pair where it gets a cache.
    return (slip == "the last axis moved" and square(name)) or (slip == "more than is asked for" and name == "GPT")


def pairs() -> list[tuple[str, str]]:
    """Exercises and slips. `make test` has time for every third (30 s of processor time), `make test-samples` for
    all."""
    every = [(name, slip, i + j) for i, name in enumerate(EXERCISES) for j, slip in enumerate(SLIPS)]
    some = [(name, slip) for name, slip, number in every if WHICH != "first" or number % 3 == 0]
    return [pair for pair in some if not other_numbers(*pair)]


@pytest.mark.parametrize(("name", "slip"), pairs())
def test_right_numbers_in_another_form_keep_half_of_the_points(name, slip):
    report, changed = report_on(name, SLIPS[slip])
    assert not report.broken, report.traceback
    assert report.passed or changed
    assert report.score >= 0.5, as_text(report)
    compared = [part.name for part in EXERCISES[name].parts if part.compares_values]
    said = "The numbers are right" in as_text(report)
    assert said or any(part.passed for part in report.parts if part.name in compared), as_text(report)
