"""`per_head_projection`: a projection for every head, as an einsum."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_03.shared import LESSON, split_by_view, usual, with_leading_axes
from grader.spec.cases import equal_sizes
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Exercise, Mistake, Output

INPUTS = {"x": "... T E", "u": "H D E"}


def reference(x: Tensor, u: Tensor) -> Tensor:
    """Head by head with `F.linear`, which stores its weight as u does."""
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


EXERCISE = Exercise(
    name="per_head_projection",
    lesson=LESSON,
    points=2,
    signature=tuple(INPUTS),
    outputs=(Output("heads", "... H T D"),),
    cases=_cases,
    reference=reference,
    parts=usual("projects one sequence in every head", 3),
    mistakes=(
        Mistake(
            "heads-mixed",
            "the results of the heads are added up; each head should keep its own.",
            (
                "In an einsum a letter that is missing behind the arrow is summed over. Which letter may be missing?",
                "Only d_model is summed over; the head's letter stays.",
            ),
            (
                lambda x, u: F.linear(x, u.sum(0)),
                lambda x, u: F.linear(x, u.sum(0)).unsqueeze(-3),
                lambda x, u: _for_every_head(x, u.sum(0), len(u)),
                lambda x, u: F.linear(x, u.mean(0)),
                lambda x, u: F.linear(x, u.mean(0)).unsqueeze(-3),
                lambda x, u: _for_every_head(x, u.mean(0), len(u)),
            ),
        ),
        Mistake(
            "weights-transposed",
            "a head's matrix is used the wrong way round: it is stored (head_dim, d_model), as in `nn.Linear`.",
            (
                "Write the shapes of x and of one head's matrix beside each other. Which axes have to meet?",
                "The last axis of u meets the last axis of x: for `@`, the last two axes of u must change places.",
            ),
            (
                lambda x, u: torch.einsum("...te,hed->...htd", x, u),
                lambda x, u: torch.einsum("...te,hed->...thd", x, u),
            ),
        ),
        Mistake(
            "view-without-transpose",
            "all heads were projected at once, rightly, but `view` then went straight to (num_heads, seq_len, "
            "head_dim) and mixed the tokens.",
            (
                "After the product a token's row holds its heads side by side. What does `split_heads` do with it?",
                "Cut the last axis into heads where it stands, then swap two axes.",
            ),
            (lambda x, u: split_by_view(F.linear(x, u.flatten(0, 1)), len(u)),),
        ),
        Mistake(
            "transpose-forgotten",
            "the numbers are right, but the heads stand behind the tokens: (seq_len, num_heads, head_dim).",
            ("Compare the shape you got with the one expected: which two axes should change places?",),
            (lambda x, u: reference(x, u).transpose(-3, -2), lambda x, u: F.linear(x, u.flatten(0, 1))),
        ),
        Mistake(
            "view-instead-of-transpose",
            "the weights are brought into shape by `view` or `reshape`, which cuts them elsewhere but turns "
            "nothing round.",
            (
                "Print a numbered `u` before and after. Does a row become a column?",
                "To swap two axes use `transpose` or `mT`; `view` keeps the numbers in their order.",
            ),
            (
                lambda x, u: x.unsqueeze(-3) @ u.reshape(len(u), u.shape[2], u.shape[1]),
                lambda x, u: (x @ u.reshape(u.shape[2], -1)).unflatten(-1, u.shape[:2]).transpose(-3, -2),
            ),
        ),
    ),
)
