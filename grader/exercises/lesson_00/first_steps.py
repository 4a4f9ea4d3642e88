"""Lesson 00, start here: one exercise so small that only the way of working is new."""

from __future__ import annotations

from torch import Tensor

from grader.spec import parts
from grader.spec.cases import standard
from grader.spec.exercise import Exercise, Mistake, Output

X = {"x": "... T E"}


def doubled_and_one(x: Tensor) -> Tensor:
    """By addition alone."""
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
        Mistake(
            "added-before-doubling",
            "one is added first, and then it is doubled along with the rest.",
            (
                "Follow the number 3 through your code: it should become 7.",
                "Which comes first, `*` or `+`? Look at the brackets.",
            ),
            (lambda x: 2 * (x + 1),),
        ),
        Mistake(
            "one-forgotten",
            "every number is doubled, but nothing is added.",
            (
                "Your results are all too small by the same amount.",
                "Read the task once more: what comes after the doubling?",
            ),
            (lambda x: 2 * x,),
        ),
        Mistake(
            "not-doubled",
            "something is added, but nothing is doubled.",
            ("What happens to 3? It should become 7.", "A multiplication is missing."),
            (lambda x: x + 1, lambda x: x + 3),
        ),
        Mistake(
            "squared",
            "every number is squared; it should be doubled.",
            ("What happens to 3? It should become 7.", "`x**2` and `x * x` are squares. What is twice x?"),
            (lambda x: x**2 + 1, lambda x: x**2),
        ),
    ),
)
