"""What has nothing to do with an exercise earns next to nothing of it. `pytest -s` prints the table."""

from __future__ import annotations

import random

import pytest
import torch
from torch import Tensor

from grader.authoring.model_solutions import model_solution
from grader.exercises.registry import exercises
from grader.spec import evaluate as engine
from grader.subject.local import LocalSubject

AT_MOST = 0.1
NAMES = [name for name, exercise in exercises().items() if exercise.kind != "answers"]


def shaped(change):
    """`change` applied to every tensor and number of a right answer: its shape is right, its values are not."""

    def garbage(right, *args):
        if isinstance(right, tuple | list):
            return type(right)(garbage(item) for item in right)
        return change(right)

    return garbage


def zeros(right):
    return torch.zeros_like(right) if isinstance(right, Tensor) else type(right)()


def ones(right):
    return torch.ones_like(right) if isinstance(right, Tensor) else type(right)(1)


def at_random(right):
    if not isinstance(right, Tensor):
        return type(right)(random.random() > 0.5)
    if right.is_floating_point():
        return torch.rand_like(right)
    return torch.randint_like(right.long(), 0, 2).to(right.dtype)


def refuses_everything(_right, *args):
    numbers = [n for arg in args for n in (arg.shape if isinstance(arg, Tensor) else [arg])]
    raise ValueError(f"finite within sum {numbers}")


# From the right answer and the arguments to what is returned instead. A ValueError of the right answer stays.
GARBAGE = {
    "zeros": shaped(zeros),
    "ones": shaped(ones),
    "at random": shaped(at_random),
    "0": lambda *_: 0,
    "0.5": lambda *_: 0.5,
    "True": lambda *_: True,
    "False": lambda *_: False,
    "other": lambda *_: "other",
    "local": lambda *_: "local",
    "None": lambda *_: None,
    "x": lambda _right, *args: args[0],
    "last x": lambda _right, *args: args[-1],
    "all x": lambda _right, *args: args,
    "ValueError": refuses_everything,
}


# Where rejecting, or what is done to the arguments, is the whole answer, garbage has no share in it.
NOTHING_DONE = {
    "validate_attention": lambda _weights: None,
    "train_step": lambda *_: 0.0,
    "fit": lambda _model, _optimizer, _ids, starts, *_: [2.0] * len(starts),
}


def instead_of(right, garbage):
    """A function or a class in the place of the right one. Modules have their right parts, but a useless forward."""
    if not isinstance(right, type):
        return lambda *args, **named: garbage(right(*args, **named), *args)

    class Useless(right):
        def forward(self, *args):
            before = {name: buffer.clone() for name, buffer in self.named_buffers()}
            found = right.forward(self, *args)
            for name, buffer in self.named_buffers():  # what it keeps of a call is useless too
                buffer.data.copy_(before[name])
            return garbage(found, *args)

    return Useless


@pytest.fixture(autouse=True)
def without_explanations(monkeypatch):
    """A mark needs none, and to look for the mistake in each takes longer than to mark them all."""
    monkeypatch.setattr(engine, "_explain", lambda session, parts, *_earlier: engine._report(session, parts))


@pytest.mark.parametrize("name", NAMES)
def test_garbage_earns_at_most_a_tenth(name):
    known, namespace = exercises(), {"__name__": "__main__"}
    exec(model_solution(known[name]), namespace)
    right, earned = NOTHING_DONE.get(name, namespace[name]), {}
    for title, garbage in GARBAGE.items():
        subject = LocalSubject({**namespace, name: instead_of(right, garbage)})
        report = engine.evaluate(known[name], subject)
        assert not report.broken, report.traceback
        earned[title] = report.score
    print(f"{name:30}" + " ".join(f"{score:7.0%}" for score in earned.values()))
    too_much = {title: f"{score:.0%}" for title, score in earned.items() if score > AT_MOST}
    assert not too_much
