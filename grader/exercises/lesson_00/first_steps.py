"""`first_steps`: twice x plus one, entry by entry."""

from __future__ import annotations

from torch import Tensor

from grader.spec import parts
from grader.spec.cases import standard
from grader.spec.spec import Spec

spec = Spec(__name__)

X = {"x": "... T E"}


def doubled_and_one(x: Tensor) -> Tensor:
    """2x + 1 in x's own shape, by addition alone."""
    return x + x + 1


EXERCISE = spec.exercise(
    doubled_and_one,
    points=1,
    outputs={"result": "... T E"},
    cases=lambda draw: standard(draw, X),
    parts=parts.usual("doubles and adds one", 3),
    mistakes={
        "added-before-doubling": lambda x: 2 * (x + 1),
        "one-forgotten": lambda x: 2 * x,
        "not-doubled": (lambda x: x + 1, lambda x: x + 3),
        "squared": (lambda x: x**2 + 1, lambda x: x**2),
    },
)
