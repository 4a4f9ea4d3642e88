"""Facts about a student's code beyond its results, and the callables that it is given."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from grader.spec.draw import Draw
from grader.spec.exercise import Case
from grader.spec.session import Session
from grader.subject import Given, Request
from grader.subject.executor import describe
from grader.subject.local import LocalSubject
from grader.subject.values import GIVEN
from grader.subject.watch import Log, watch
from tests.spec.toy import TOYS


def batch_norm(x):
    return x


class CallsTorchs(nn.Module):
    def forward(self, x):
        return F.batch_norm(x, None, None, training=True)


class CallsItsOwn(nn.Module):
    def forward(self, x):
        return [batch_norm(row) for row in x]


def test_an_attribute_of_the_same_name_is_no_use_of_an_earlier_exercise():
    assert "batch_norm" not in describe(CallsTorchs)["uses"]
    assert "batch_norm" in describe(CallsItsOwn)["uses"]


@pytest.mark.parametrize("call", [lambda m, x: m(x), lambda m, x: m.forward(x), lambda m, x: type(m).forward(m, x)])
def test_a_modules_forward_is_seen_however_it_is_called(call):
    log = Log()
    with watch(log):
        call(nn.BatchNorm1d(3), torch.ones(2, 3))
    assert any("BatchNorm" in name for name in log.calls)


def test_making_a_module_without_calling_it_is_no_call():
    log = Log()
    with watch(log):
        nn.BatchNorm1d(3)
        F.batch_norm(torch.ones(2, 3), None, None, training=True)
    assert not any("BatchNorm" in name for name in log.calls)


def data(kind):
    draw = Draw(kind)
    if kind == "feed_forward":
        shapes = {"weight1": (5, 3), "bias1": (5,), "weight2": (3, 5), "bias2": (3,)}
        return {name: draw.normal(shape) for name, shape in shapes.items()}
    return {"weight": draw.normal((3,) if kind == "layer_norm" else (3, 3)), "bias": draw.normal((3,))}


@pytest.mark.parametrize("kind", ["linear", "feed_forward", "layer_norm"])
def test_given_callables_keep_dtype_and_gradient_and_remember_nothing(kind):
    function = GIVEN[kind](data(kind))
    x = torch.randn(2, 3, requires_grad=True)
    assert torch.equal(function(x), function(x))
    assert torch.allclose(function(x).double(), function(x.double()), atol=1e-5)
    assert function(x.double()).dtype == torch.float64
    assert torch.autograd.grad(function(x).sum(), x)[0].shape == x.shape


def test_a_changed_result_of_a_given_callable_does_no_harm():
    """`out = sublayer(x); out += x` is right code: autograd must not have saved `out`."""
    for kind in ("linear", "feed_forward", "layer_norm"):
        x = torch.randn(2, 3, requires_grad=True)
        out = GIVEN[kind](data(kind))(x)
        out += x
        out.sum().backward()


def test_references_get_the_callables_that_the_student_gets():
    session = Session(TOYS["apply_twice"], LocalSubject({"apply_twice": lambda f, x: f(x)}), Draw("given"), 10)
    x, given = torch.randn(2, 3), Given("linear", data("linear"))
    case = Case("one", {"function": given, "x": x})
    assert torch.equal(session.evaluate(case, lambda f, x: f(x)), session.call(case).value)


def test_what_is_asked_once_is_remembered():
    session = Session(TOYS["product"], LocalSubject({"product": lambda left, right: left @ right}), Draw("once"), 10)
    asked = []
    for _ in range(2):
        assert session.once("key", lambda: asked.append(session.ask(Request("describe", "product")).status)) is None
    assert asked == ["ok"]
