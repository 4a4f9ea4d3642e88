"""A few exercises for the tests of `grader.spec`, independent of any lesson."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from grader.spec import parts
from grader.spec.cases import equal_sizes, standard, tensors
from grader.spec.draw import Draw
from grader.spec.exclusions import SOFTMAX_FAMILY
from grader.spec.exercise import Case, Exercise, Finding, Mistake, Output, Part, Setup
from grader.spec.session import Session
from grader.subject import Callback, Given, Request

PAIR = {"left": "... T D", "right": "D E"}

PRODUCT = Exercise(
    name="product",
    lesson="toy",
    points=4,
    signature=tuple(PAIR),
    outputs=(Output("result", "... T E"),),
    cases=lambda draw: standard(draw, PAIR) + equal_sizes(draw, PAIR, ("D", "E")),
    reference=lambda left, right: (left.unsqueeze(-1) * right).sum(-2),
    parts=parts.usual("multiplies", 3),
    mistakes=(
        Mistake("right-transposed", "the right side is turned round.", ("Look.",), (lambda l, r: l @ r.mT,)),
        Mistake("doubled", "the result is doubled.", ("Look.", "Look closer."), (lambda l, r: 2 * l @ r,)),
    ),
    excluded=(SOFTMAX_FAMILY,),
)

SQUARED = Exercise(
    name="squared",
    lesson="toy",
    points=1,
    signature=("x",),
    outputs=(Output("result", "... T T"),),
    cases=lambda draw: standard(draw, {"x": "... T D"}),
    reference=lambda x: x @ x.mT,
    parts=parts.usual("squares", 3),
    builds_on=("product",),
)


TOTAL = Exercise(
    name="total",
    lesson="toy",
    points=1,
    signature=("x",),
    outputs=(Output("sum", ""),),
    cases=lambda draw: [tensors(draw, "one sequence", {"x": "T D"}, draw.sizes("T", "D"))],
    reference=lambda x: x.sum(),
    parts=(
        parts.shape(),
        parts.values("adds up", 3, "one sequence"),
        parts.finite("stays finite", 0.5, "one sequence"),
        parts.gradients(),
    ),
)


def _affine_cases(draw: Draw) -> list[Case]:
    sizes = draw.sizes("B", "T", "D", "E")
    state = {"linear.weight": draw.normal((sizes["E"], sizes["D"])), "linear.bias": draw.normal((sizes["E"],))}
    setup = Setup((sizes["D"], sizes["E"]), state)
    batch = (sizes["B"],)
    cases = [
        tensors(draw, "one sequence", {"x": "... T D"}, sizes),
        tensors(draw, "float64", {"x": "... T D"}, sizes, batch, dtype=torch.float64),
    ]
    return [Case(c.name, c.args, c.sizes, c.leading, setup=setup) for c in cases]


AFFINE = Exercise(
    name="Affine",
    lesson="toy",
    points=2,
    kind="module",
    signature=("d_in", "d_out"),
    outputs=(Output("result", "... T E"),),
    cases=_affine_cases,
    reference=lambda setup, x: nn.functional.linear(x, setup.state["linear.weight"], setup.state["linear.bias"]),
    parts=(
        parts.shape(),
        parts.values("maps", 3, "one sequence"),
        parts.float64(),
        parts.gradients(),
        parts.unchanged(),
    ),
    mistakes=(
        Mistake(
            "bias-forgotten",
            "the bias is missing.",
            ("Look.",),
            (lambda setup, x: x @ setup.state["linear.weight"].mT,),
        ),
    ),
)


def _applies(session: Session) -> Finding | None:
    """Passes two callables to the student's function: one built from data, one that the judge answers."""
    x, weight = session.draw.normal((2, 3)), session.draw.normal((5, 3))
    session.subject.answer_with(lambda _callback, args: args[0] @ weight.mT)
    for function in (Given("linear", {"weight": weight}), Callback(7)):
        outcome = session.ask(Request("call", "apply_twice", (function, x)))
        if not isinstance(outcome.value, Tensor) or not torch.allclose(outcome.value, 2 * x @ weight.mT):
            return Finding("wrong-values", f"{outcome}")
    return None


APPLY_TWICE = Exercise("apply_twice", "toy", 1, parts=(Part("applies", 1, _applies),), signature=("function", "x"))

BROKEN = Exercise(
    name="broken",
    lesson="toy",
    points=1,
    outputs=(Output("result", "... T D"),),
    cases=lambda draw: standard(draw, {"x": "... T D"}),
    reference=lambda x: x / nothing,  # noqa: F821 - a fault of ours, on purpose
    parts=(parts.values("works", 1, "one sequence"),),
)

TOYS = {e.name: e for e in (PRODUCT, SQUARED, TOTAL, AFFINE, APPLY_TWICE, BROKEN)}
