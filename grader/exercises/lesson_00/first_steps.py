"""`first_steps`: twice x plus one, entry by entry."""

from __future__ import annotations

from torch import Tensor

from grader.spec import parts
from grader.spec.cases import standard
from grader.spec.exercise import Exercise, Output
from grader.spec.words import Words

mistake = Words(__file__)

X = {"x": "... T E"}


def doubled_and_one(x: Tensor) -> Tensor:
    """2x + 1 in x's own shape, by addition alone."""
    return x + x + 1


EXERCISE = Exercise(
    name="first_steps",
    lesson="00_start_here",
    points=1,
    signature=("x",),
    outputs=(Output("result", "... T E"),),
    cases=lambda draw: standard(draw, X),
    reference=doubled_and_one,
    parts=parts.usual("doubles and adds one", 3),
    mistakes=(
        mistake("added-before-doubling", (lambda x: 2 * (x + 1),)),
        mistake("one-forgotten", (lambda x: 2 * x,)),
        mistake("not-doubled", (lambda x: x + 1, lambda x: x + 3)),
        mistake("squared", (lambda x: x**2 + 1, lambda x: x**2)),
    ),
)
