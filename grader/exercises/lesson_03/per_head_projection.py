"""`per_head_projection`: a projection for every head, as an einsum."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_01.shared import BATCH_ONLY, two_axes_only
from grader.exercises.lesson_03.shared import split_by_view, usual, with_leading_axes
from grader.spec.cases import equal_sizes
from grader.spec.draw import Draw
from grader.spec.exercise import Case
from grader.spec.spec import Spec, When, by_id

spec = Spec(__name__)

INPUTS = {"x": "... T E", "u": "H D E"}


def reference(x: Tensor, u: Tensor) -> Tensor:
    """(…, T, E) and (H, D, E) → (…, H, T, D): head by head with `F.linear`, which stores its weight as u does."""
    return torch.stack([F.linear(x, matrix) for matrix in u], -3)


def _for_every_head(x: Tensor, matrix: Tensor, heads: int, scale: float = 1.0) -> Tensor:
    projected = (F.linear(x, matrix) * scale).unsqueeze(-3)
    return projected.expand(*projected.shape[:-3], heads, *projected.shape[-2:])


def _cases(draw: Draw) -> list[Case]:
    names = ("B", "G", "T", "E", "H", "D")
    sizes = draw.sizes(*names), draw.sizes(*names)

    def gentle(draw: Draw, name: str, shape: tuple[int, ...]) -> Tensor:
        return draw.normal(shape, shape[-1] ** -0.5 if name == "u" else 1.0)

    return with_leading_axes(draw, INPUTS, sizes, gentle) + equal_sizes(draw, INPUTS, ("D", "E"), make=gentle)


EXERCISE = spec.exercise(
    reference,
    points=2,
    outputs={"heads": "... H T D"},
    cases=_cases,
    parts=usual("projects one sequence in every head", 3),
    mistakes={
        "heads-mixed": (
            lambda x, u: F.linear(x, u.sum(0)),
            lambda x, u: F.linear(x, u.sum(0)).unsqueeze(-3),
            lambda x, u: _for_every_head(x, u.sum(0), len(u)),
            lambda x, u: F.linear(x, u.mean(0)),
            lambda x, u: F.linear(x, u.mean(0)).unsqueeze(-3),
            lambda x, u: _for_every_head(x, u.mean(0), len(u)),
        ),
        "weights-transposed": (
            lambda x, u: torch.einsum("...te,hed->...htd", x, u),
            lambda x, u: torch.einsum("...te,hed->...thd", x, u),
        ),
        "view-without-transpose": lambda x, u: split_by_view(F.linear(x, u.flatten(0, 1)), len(u)),
        "transpose-forgotten": (
            lambda x, u: reference(x, u).transpose(-3, -2),
            lambda x, u: F.linear(x, u.flatten(0, 1)),
        ),
        "view-instead-of-transpose": (
            lambda x, u: x.unsqueeze(-3) @ u.reshape(len(u), u.shape[2], u.shape[1]),
            lambda x, u: (x @ u.reshape(u.shape[2], -1)).unflatten(-1, u.shape[:2]).transpose(-3, -2),
        ),
        "head-dim-first": lambda x, u: reference(x, u).mT,
        "two-axes-only": When(two_axes_only),
        **by_id(BATCH_ONLY),
    },
)
