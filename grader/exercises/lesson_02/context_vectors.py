"""`context_vectors`: attention with nothing to train, on the tokens themselves."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_01.shared import TWO_AXES_ONLY, cases, usual
from grader.exercises.lesson_02.pairwise_dot_products import cosine, pairwise
from grader.exercises.lesson_02.shared import LESSON, X
from grader.spec import parts
from grader.spec.cases import equal_sizes
from grader.spec.draw import Draw
from grader.spec.exercise import Exercise, Mistake, Output
from grader.spec.session import Session
from grader.tolerance import FLOAT32


def contexts(x: Tensor) -> Tensor:
    """PyTorch's own attention, told not to scale, with x as query, key and value."""
    return F.scaled_dot_product_attention(x, x, x, scale=1.0)


def _small_entries(draw: Draw, _name: str, shape: tuple[int, ...]) -> Tensor:
    """Small entries. With standard normal ones a token of width 16 attends almost only to itself, and `return x` is
    nearly right."""
    return draw.normal(shape, shape[-1] ** -0.25)


def _context(
    scale: Callable[[Tensor], float] = lambda x: 1.0,
    dim: int = -1,
    scores: Callable[[Tensor], Tensor] = pairwise,
    after: Callable[[Tensor], float] = lambda x: 1.0,
) -> Callable[[Tensor], Tensor]:
    """Context vectors with the given parts changed."""
    return lambda x: torch.softmax(scores(x) * scale(x), dim) * after(x) @ x


def _over_matrix(x: Tensor) -> Tensor:
    scores = pairwise(x)
    return torch.softmax(scores.flatten(-2), -1).reshape(scores.shape) @ x


def _over_everything(x: Tensor) -> Tensor:
    scores = pairwise(x)
    return torch.softmax(scores.flatten(), 0).reshape(scores.shape) @ x


def _shared(scores: Tensor) -> Tensor:
    return scores / scores.sum(-1, keepdim=True)


def _overflows(session: Session) -> bool:
    """Right on ordinary entries, NaN or inf on large ones."""
    if parts.inspect_call(session, session.cases["one sequence"], FLOAT32) is not None:
        return False
    value = session.call(session.cases["entries up to 50"]).value
    return isinstance(value, Tensor) and value.is_floating_point() and not bool(torch.isfinite(value).all())


EXERCISE = Exercise(
    name="context_vectors",
    lesson=LESSON,
    points=2,
    signature=tuple(X),
    outputs=(Output("context", "... T E"),),
    cases=lambda draw: cases(draw, X, _small_entries) + equal_sizes(draw, X, ("T", "E"), make=_small_entries),
    reference=contexts,
    parts=usual("mixes the tokens of one sequence", 4, leading=1.5),
    mistakes=(
        Mistake(
            "scaled-anyway",
            "something is divided by a number made from a size; this version takes the dot products as they are.",
            (
                "Read the steps of the exercise once more: dot products, softmax, mixture. Which of yours is one more?",
                "If you call a ready-made attention: it scales by itself, unless it is told a scale.",
            ),
            (
                _context(lambda x: x.shape[-1] ** -0.5),
                _context(lambda x: 1 / x.shape[-1]),
                _context(lambda x: x.shape[-2] ** -0.5),
                _context(after=lambda x: x.shape[-1] ** -0.5),
            ),
        ),
        Mistake(
            "softmax-over-queries",
            "the weights that mix one output don't sum to one: softmax over the wrong axis, or weights turned round.",
            (
                "Print the sums of your weights over the last axis. Every one should be 1, in a batch too.",
                "This table of dot products is symmetric, so its picture doesn't tell rows from columns; the sums do. "
                "Count the axis of the softmax from the end.",
            ),
            tuple(_context(dim=dim) for dim in (-2, 0, 1)),
        ),
        Mistake(
            "softmax-over-all",
            "the whole table sums to one; every single row should.",
            (
                "What do the weights of one token sum to?",
                "Each token has a row of its own: the softmax needs to be told the axis.",
            ),
            (_over_matrix, _over_everything),
        ),
        Mistake(
            "no-softmax",
            "the dot products (or their shares of the sum) serve as weights; no softmax makes them positive.",
            (
                "Are your weights all positive, and does each row sum to one?",
                "Between the dot products and the mixture there is one more step.",
            ),
            (lambda x: pairwise(x) @ x, lambda x: _shared(pairwise(x)) @ x),
        ),
        Mistake(
            "cosine-instead",
            "cosines are compared instead of dot products: the vectors' lengths are divided away.",
            ("Use the bare dot products of the exercise before.",),
            (_context(scores=cosine(-1)), _context(scores=cosine(1))),
        ),
        Mistake(
            "weights-instead-of-vectors",
            "the table of weights comes back; the mixtures that it describes are asked for.",
            (
                "What should the shape be for 8 tokens of 16 numbers?",
                "The weights say how much of each token to take: one product more takes it.",
            ),
            (lambda x: torch.softmax(pairwise(x), -1), lambda x: torch.softmax(pairwise(x), -2)),
        ),
        Mistake(
            "overflow",
            "large dot products overflow: `exp` of them is inf, and inf divided by inf is NaN.",
            (
                "Try `torch.exp(torch.tensor(100.0))`. What comes out?",
                "Lesson 01's softmax first took something away from every row. What was it?",
            ),
            recognise=_overflows,
        ),
        TWO_AXES_ONLY,
    ),
    builds_on=("pairwise_dot_products",),
)
