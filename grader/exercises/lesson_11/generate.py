"""`generate`: TODO what it computes, and the source: a paper and its equation."""

from __future__ import annotations

from torch import Tensor

from grader.spec import parts
from grader.spec.cases import standard
from grader.spec.exercise import Exercise, Mistake, Output

# TODO the arguments that are tensors, with their axes; an ellipsis stands for leading axes.
INPUTS = {"x": "... T E"}


def reference(x: Tensor) -> Tensor:
    """TODO torch's own function, or a slow loop over the formula; never the model solution."""
    raise NotImplementedError


EXERCISE = Exercise(
    name="generate",
    lesson="11_small_gpt",
    points=1,  # TODO the points
    signature=tuple(INPUTS),
    outputs=(Output("result", "... T E"),),  # TODO name and axes of what it returns
    cases=lambda draw: standard(draw, INPUTS),
    reference=reference,
    parts=parts.usual("TODO what the values of one sequence are", 3),
    mistakes=(
        Mistake(
            "returns-its-input",  # TODO an id for the mistake
            "TODO what happens, in one sentence.",
            ("TODO a hint.", "TODO a hint that says more."),
            (lambda x: x,),  # TODO the mistake, as it is made
        ),
    ),
)
