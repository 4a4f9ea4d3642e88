"""A Python loop is recognised by how the number of operators grows."""

import pytest
import torch

from grader.spec.draw import Draw
from grader.spec.exercise import Case, Exercise, Output
from grader.spec.loops import LONG, SHORT, counted, loops, two_lengths, without_loop
from grader.spec.session import Session
from grader.subject.local import LocalSubject

X = {"x": "... T E"}


def _cases(draw):
    return [Case("one sequence", {"x": draw.normal((3, 5))}, {"T": 3, "E": 5}), *two_lengths(draw, X, "T")]


DOUBLED = Exercise(
    "doubled",
    "00_toy",
    1,
    (without_loop("tokens", 1),),
    signature=("x",),
    outputs=(Output("y", "... T E"),),
    cases=_cases,
    reference=lambda x: 2 * x,
)


def session(function):
    return Session(DOUBLED, LocalSubject({"doubled": function}), Draw("seed"), 10.0)


def finding(function):
    return DOUBLED.parts[0].judge(session(function))


def test_two_lengths_differ_in_the_axis_alone():
    short, long = two_lengths(Draw("seed"), X, "T")
    assert short.args["x"].shape[0] == SHORT
    assert long.args["x"].shape == (LONG, short.args["x"].shape[1])
    assert not short.comparable


@pytest.mark.parametrize(
    "function",
    [
        lambda x: 2 * x,
        lambda x: torch.stack([2 * x[..., e] for e in range(x.shape[-1])], -1),
        lambda x: torch.vmap(lambda token: 2 * token)(x),
    ],
    ids=["whole", "a loop over features", "vmap"],
)
def test_whole_tensor_work_is_let_through(function):
    assert finding(function) is None
    assert not loops(session(function))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.stack([2 * token for token in x]),
        lambda x: torch.cat([2 * part for part in x.split(3)]),
        lambda x: x + torch.cat([x[:1], *(x[i : i + 1] for i in range(1, len(x)))]),
    ],
    ids=["token by token", "three at a time", "slices"],
)
def test_loop_is_found_and_told_with_both_counts(function):
    short, long = counted(session(function))
    failure = finding(function)
    assert failure.kind == "python-loop"
    assert f"{short} operations with {SHORT} tokens, but for {long} with {LONG} tokens" in failure.message


def test_wrong_values_come_first():
    assert finding(lambda x: 3 * x).kind == "values-first"


def test_function_that_fails_at_other_lengths_is_not_judged():
    failure = finding(lambda x: 2 * x.reshape(3, 5))
    assert failure.kind == "runs-longer-first"
    assert "with few and with many tokens" in failure.message
