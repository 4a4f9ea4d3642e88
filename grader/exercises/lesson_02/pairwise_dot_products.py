"""`pairwise_dot_products`: the dot product of every token with every token."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_01.attention_scores import key_reshaped
from grader.exercises.lesson_01.shared import BATCH_ONLY, TWO_AXES_ONLY, cases, usual
from grader.exercises.lesson_02.shared import LESSON, X
from grader.spec import parts
from grader.spec.cases import equal_sizes
from grader.spec.exercise import Exercise, Mistake, Output
from grader.spec.loops import loops, two_lengths, without_loop
from grader.spec.session import Session
from grader.tolerance import FLOAT32


def pairwise(x: Tensor) -> Tensor:
    """Every token with every token, by the definition of a dot product."""
    return (x.unsqueeze(-2) * x.unsqueeze(-3)).sum(-1)


def cosine(dim: int) -> Callable[[Tensor], Tensor]:
    return lambda x: pairwise(F.normalize(x, dim=dim))


def _loops_and_is_right(session: Session) -> bool:
    return parts.inspect_call(session, session.cases["one sequence"], FLOAT32) is None and loops(session)


def _all_features(x: Tensor) -> Tensor:
    """One table of features for the whole batch."""
    flat = x.flatten(0, -2)
    return flat.mT @ flat


EXERCISE = Exercise(
    name="pairwise_dot_products",
    lesson=LESSON,
    points=2,
    signature=tuple(X),
    outputs=(Output("scores", "... T T"),),
    cases=lambda draw: cases(draw, X) + two_lengths(draw, X, "T") + equal_sizes(draw, X, ("T", "E")),
    reference=pairwise,
    parts=(
        *usual("compares every token of one sequence with every other", 3),
        without_loop("tokens", 2),
    ),
    mistakes=(
        Mistake(
            "gram-of-features",
            "the table compares features with features: it is E × E where T × T is asked for.",
            (
                "How many rows should the table have for 8 tokens of 16 numbers? How many has yours?",
                "In a matrix product the inner axes disappear. Which axis should disappear here, T or E?",
            ),
            (lambda x: x.mT @ x, _all_features),
        ),
        Mistake(
            "cosine-instead",
            "the vectors are first brought to length 1, so you compute cosines; bare dot products are asked for.",
            (
                "What should the diagonal hold: 1 everywhere, or the squared length of each token?",
                "Leave the lengths in: nothing is divided here.",
            ),
            (cosine(-1), cosine(1)),  # `F.normalize` takes axis 1 if it is told none
        ),
        Mistake(
            "scaled-anyway",
            "the dot products are divided by something that comes from a size; here they stay as they are.",
            (
                "Your numbers are right up to one factor. Where does it come from?",
                "Scaling comes later in this lesson, with queries and keys. Did you add up, or take a mean?",
            ),
            (lambda x: pairwise(x) / math.sqrt(x.shape[-1]), lambda x: pairwise(x) / x.shape[-1]),
        ),
        Mistake(
            "softmax-too-early",
            "the softmax is already applied; here the bare dot products are asked for.",
            (
                "Add up a row of your result. Should a row of dot products sum to one?",
                "Dot products may be negative and need not sum to one: the softmax comes in the next exercise.",
            ),
            (
                lambda x: torch.softmax(pairwise(x), -1),
                lambda x: torch.softmax(pairwise(x) / math.sqrt(x.shape[-1]), -1),
            ),
        ),
        Mistake(
            "elementwise-product",
            "tokens are multiplied entry by entry; a dot product also adds up, and for every pair of tokens.",
            (
                "How many pairs can you make of 8 tokens? How many numbers do you return for them?",
                "A matrix product takes all the dot products at once, of rows with columns.",
            ),
            (
                lambda x: x * x,
                lambda x: (x * x).sum(-1),
                lambda x: (x * x).sum(-1, keepdim=True),
                lambda x: x.unsqueeze(-2) * x.unsqueeze(-3),
                lambda x: (x.unsqueeze(-2) * x.unsqueeze(-3)).sum(-2),
            ),
        ),
        Mistake(
            "transpose-forgotten",
            "x is multiplied with x as it is, `x @ x`; the second x is not transposed.",
            (
                "Write the two shapes beside each other: which axes meet in the product?",
                "The last axis of the left factor meets the last but one of the right. Is that the same axis of x?",
            ),
            (lambda x: x @ x,),
        ),
        Mistake(
            "view-instead-of-transpose",
            "one x gets its new shape by `view` or `reshape`, which leaves the numbers in their order and transposes "
            "nothing.",
            (
                "Print a small x before and after. Does each row become a column?",
                "`view` and `reshape` only say anew where lines end. Which operation swaps two axes?",
            ),
            (lambda x: x @ key_reshaped(x),),
        ),
        Mistake(
            "loop-over-tokens",
            "the numbers are right for one sequence, but a Python loop walks over the tokens.",
            (
                "Your loop takes its dot products one after another. Which single product takes all of them?",
                "The product of two matrices is a table of dot products, of rows with columns.",
            ),
            recognise=_loops_and_is_right,
        ),
        TWO_AXES_ONLY,
        BATCH_ONLY,
    ),
)
