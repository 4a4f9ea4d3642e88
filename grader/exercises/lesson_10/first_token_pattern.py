"""`first_token_pattern`: every token attends to the first one."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.exercises.lesson_06.shared import default_dtype
from grader.spec import parts
from grader.spec.draw import Draw
from grader.spec.exercise import Case
from grader.spec.spec import Spec

spec = Spec(__name__)


def first_token(seq_len: int) -> Tensor:
    """The right pattern, weights (seq_len, seq_len), entry by entry: each row has all its weight on token 0."""
    return torch.tensor([[float(key == 0) for key in range(seq_len)] for _ in range(seq_len)], dtype=torch.float64)


def _cases(draw: Draw) -> list[Case]:
    sizes = draw.sizes("T", "other", none=2)
    return [
        Case("one length", {"seq_len": sizes["T"]}, {"T": sizes["T"]}),
        Case("another length", {"seq_len": sizes["other"]}, {"T": sizes["other"]}),
        Case("a single token", {"seq_len": 1}, {"T": 1}),
    ]


EXERCISE = spec.exercise(
    first_token,
    points=1,
    outputs={"weights": "T T"},
    cases=_cases,
    parts=(
        parts.shape("one length"),
        parts.values("gives all weight to the first token", 3, "one length"),
        parts.values("works for other lengths", 1.5, "one length", "another length", "a single token"),
        default_dtype("one length"),
    ),
    mistakes={
        "first-row-instead": (
            lambda n: first_token(n).mT,
            lambda n: first_token(n).mT / n,
            lambda n: torch.cat([torch.full((1, n), 1 / n), torch.zeros(n - 1, n)]),
        ),
        "last-token-instead": lambda n: first_token(n).flip(-1),
        "diagonal-instead": torch.eye,
        "second-token-instead": lambda n: first_token(n).roll(1, -1),
        "one-row-only": tuple(
            lambda n, row=row: first_token(n) * (torch.arange(n) == row % n)[:, None] for row in (0, -1)
        ),
        "first-row-empty": lambda n: first_token(n) * (torch.arange(n) > 0)[:, None],
        "shares-of-the-column": lambda n: first_token(n) / n,
        "softmax-of-weights": lambda n: first_token(n).softmax(-1),
        "others-get-weight-too": (
            lambda n: torch.maximum(first_token(n), torch.eye(n)),
            lambda n: torch.maximum(first_token(n), first_token(n).mT),
            lambda n: (first_token(n) + torch.eye(n)) / 2,
        ),
    },
)
