"""`per_head_projection`: a projection for every head, as an einsum."""

from __future__ import annotations

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_01.shared import BATCH_ONLY, TWO_AXES_ONLY
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
                "In an einsum a letter that is missing after the arrow is summed over. Which letter may be missing?",
                "Only E is summed over. Is the head's letter still there in the output?",
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
            "a head's matrix is used as it is, though it is stored as (D, E), like the weight of `nn.Linear`.",
            (
                "Write the shapes of x and of one head's matrix beside each other. Which axes have to meet?",
                "E has to meet E. On which axis of u is it, and on which does `@` look for it?",
            ),
            (
                lambda x, u: torch.einsum("...te,hed->...htd", x, u),
                lambda x, u: torch.einsum("...te,hed->...thd", x, u),
            ),
        ),
        Mistake(
            "view-without-transpose",
            "all heads were projected at once, rightly, but `view` then went straight to (H, T, D) and mixed the "
            "tokens.",
            (
                "After the product a token's row holds its heads side by side. What does `split_heads` do with it?",
                "`view` may only cut the last axis into heads, and the token axis stays where it is. What is left to "
                "do?",
            ),
            (lambda x, u: split_by_view(F.linear(x, u.flatten(0, 1)), len(u)),),
        ),
        Mistake(
            "transpose-forgotten",
            "the numbers are right, but the heads come after the tokens: (T, H, D), or side by side.",
            (
                "Compare the shape you got with the one expected: which two axes should change places?",
                "In an einsum the letters after the arrow give the order of the axes; `transpose` swaps two.",
            ),
            (lambda x, u: reference(x, u).transpose(-3, -2), lambda x, u: F.linear(x, u.flatten(0, 1))),
        ),
        Mistake(
            "view-instead-of-transpose",
            "the weights get their new shape by `view` or `reshape`, which leaves the numbers in their order and "
            "transposes nothing.",
            (
                "Print a numbered `u` before and after. Does each row become a column?",
                "`view` and `reshape` only say anew where lines end. Which operation swaps two axes?",
            ),
            (
                lambda x, u: x.unsqueeze(-3) @ u.reshape(len(u), u.shape[2], u.shape[1]),
                lambda x, u: (x @ u.reshape(u.shape[2], -1)).unflatten(-1, u.shape[:2]).transpose(-3, -2),
            ),
        ),
        Mistake(
            "head-dim-first",
            "tokens and features are swapped inside each head: its axes are (D, T).",
            (
                "Each head is a little sequence of its own: a row for every token.",
                "The rows of a product come from its left factor. Which factor has a row for each token?",
            ),
            (lambda x, u: reference(x, u).mT,),
        ),
        replace(
            TWO_AXES_ONLY,
            hints=(
                "Write the shapes of both factors under each other, right-aligned. With a batch, which axis of x "
                "meets the head axis of u?",
                "The batch and the heads need an axis each. How can x get an axis of length 1 where the heads will be?",
            ),
        ),
        BATCH_ONLY,
    ),
)
