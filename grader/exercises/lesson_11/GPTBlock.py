"""`GPTBlock`: TODO what it computes, and the source: a paper and its equation."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from grader.spec import parts
from grader.spec.cases import standard
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Exercise, Mistake, Output, Setup

# TODO the arguments of `forward` that are tensors, with their axes; an ellipsis stands for leading axes.
INPUTS = {"x": "... T E"}


def reference(setup: Setup, x: Tensor) -> Tensor:
    """TODO torch's own function, or a slow loop over the formula; `setup.state` holds the parameters by name."""
    raise NotImplementedError


def _setup(draw: Draw, case: Case) -> Setup:
    """TODO the arguments of the constructor, and every parameter by its name."""
    width, dtype = case.sizes["E"], case.args["x"].dtype
    return Setup((width,), {"weight": draw.normal((width,)).to(dtype)})


EXERCISE = Exercise(
    name="GPTBlock",
    lesson="11_small_gpt",
    points=1,  # TODO the points
    kind="module",
    signature=("d_model",),  # TODO the arguments of the constructor
    outputs=(Output("output", "... T E"),),  # TODO name and axes of what `forward` returns
    cases=lambda draw: [replace(case, setup=_setup(draw, case)) for case in standard(draw, INPUTS)],
    reference=reference,
    parts=parts.usual("TODO what the values of one sequence are", 3),
    mistakes=(
        Mistake(
            "returns-its-input",  # TODO an id for the mistake
            "TODO what happens, in one sentence.",
            ("TODO a hint.", "TODO a hint that says more."),
            (lambda _setup, x: x,),  # TODO the mistake, as it is made
        ),
    ),
)
