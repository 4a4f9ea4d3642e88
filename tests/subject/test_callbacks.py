"""Callables that the judge answers: gradients flow through them, and the judge's errors are raised."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from grader.subject import Callback, Request

CUBE = """
import torch

def apply(function, x):
    y = x.clone().requires_grad_()
    (2 * function(y)).sum().backward()
    return function(x), y.grad
"""


def cubes(_callback: Callback, args: tuple[object, ...]) -> object:
    """x ** 3, or its gradient; raises for anything but tensors."""
    if args[0] == "gradient":
        _word, x, cotangent = args
        return 3 * x**2 * cotangent
    if not isinstance(args[0], Tensor):
        raise TypeError("a tensor, please")
    return args[0] ** 3


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradients_flow_through_a_callable_that_the_judge_answers(subject_of, dtype):
    subject = subject_of(CUBE)
    subject.answer_with(cubes)
    x = torch.tensor([[1.0, 2.0], [-1.0, 0.5]], dtype=dtype)
    outcome = subject.ask(Request("call", "apply", (Callback(0), x)))
    assert outcome.ok, outcome
    value, gradient = outcome.value
    assert torch.equal(value, x**3)
    assert gradient.dtype == dtype
    assert torch.equal(gradient, 6 * x**2)


def test_without_gradients_the_judge_is_asked_once(subject_of):
    calls = []

    def answer(callback: Callback, args: tuple[object, ...]) -> object:
        calls.append(args)
        return cubes(callback, args)

    subject = subject_of("def apply(function, x):\n    return function(x)")
    subject.answer_with(answer)
    subject.ask(Request("call", "apply", (Callback(0), torch.ones(2, 3))))
    assert [len(args) for args in calls] == [1]


def test_what_the_judge_refuses_is_raised_where_it_was_called(subject_of):
    subject = subject_of("def apply(function, x):\n    return function('word')")
    subject.answer_with(cubes)
    outcome = subject.ask(Request("call", "apply", (Callback(0), torch.ones(2))))
    assert outcome.raised.name == "TypeError"
    assert "a tensor, please" in outcome.raised.message
