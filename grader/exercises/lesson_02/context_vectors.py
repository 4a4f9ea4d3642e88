"""`context_vectors`: attention with nothing to train, on the tokens themselves."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_01.shared import BATCH_ONLY, TWO_AXES_ONLY, cases, usual
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


def _raised(x: Tensor) -> Tensor:
    scores = pairwise(x)
    return (scores - scores.amax(-1, keepdim=True)).exp()


def _overflows(session: Session) -> bool:
    """Right on ordinary entries, NaN or inf on large ones."""
    if parts.inspect_call(session, session.cases["one sequence"], FLOAT32) is not None:
        return False
    value = session.call(session.cases["entries up to 50"]).value
    return isinstance(value, Tensor) and value.is_floating_point() and not bool(torch.isfinite(value).all())


MORE_WRONG_AXES: tuple[Callable[[Tensor], Tensor], ...] = (
    lambda x: _context(dim=0 if x.dim() == 3 else 1)(x),  # what `F.softmax` picks if it gets no `dim`
    lambda x: _raised(x) / _raised(x).sum(-1).unsqueeze(-2) @ x,  # `keepdim` forgotten
)

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
                "Read the steps of the exercise once more: dot products, softmax, mixture. Which step of yours is "
                "not among them?",
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
            "the weights that mix one output don't sum to one: the softmax runs over the wrong axis, or the weights "
            "are transposed.",
            (
                "Print the sums of your weights over the last axis. Every one should be 1, in a batch too.",
                "This table of dot products is symmetric, so its picture doesn't tell rows from columns; the sums do. "
                "Name the axis of the softmax, and count it from the end. If you divide by a sum of your own: does "
                "it keep its axis?",
            ),
            (*(_context(dim=dim) for dim in (-2, 0, 1)), *MORE_WRONG_AXES),
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
            "not-divided",
            "the exponentials serve as weights; nothing makes a row sum to one.",
            (
                "Add up one row of the weights that you mix with. What should it give?",
                "A weight is a share of its row. What is each exponential divided by?",
            ),
            (lambda x: _raised(x) @ x, lambda x: pairwise(x).exp() @ x),
        ),
        Mistake(
            "softmax-in-wrong-place",
            "the softmax is taken of the tokens or of the mixtures; it belongs between the dot products and the "
            "mixture.",
            (
                "Which table should have rows that sum to one: the tokens, the dot products or the mixtures?",
                "Three steps, in this order: dot products, softmax, mixture.",
            ),
            (
                lambda x: torch.softmax(pairwise(x) @ x, -1),
                lambda x: pairwise(x) @ torch.softmax(x, -1),
                lambda x: torch.softmax(pairwise(x), -1) @ torch.softmax(x, -1),
            ),
        ),
        Mistake(
            "x-before-weights",
            "the factors of the last product are in the wrong order: x comes before the weights.",
            (
                "Write the shapes under your last product: which axes meet, and which are left?",
                "One row of weights mixes the rows of x. The rows of a product come from its left factor.",
            ),
            (
                lambda x: x @ torch.softmax(pairwise(x), -1),
                lambda x: x.mT @ torch.softmax(pairwise(x), -1),
                lambda x: x.mT @ torch.softmax(pairwise(x), -1).mT,
            ),
        ),
        Mistake(
            "cosine-instead",
            "the weights are made from cosines: the vectors' lengths are divided away.",
            (
                "Are all your scores between -1 and 1? Dot products need not be.",
                "Use the bare dot products of the exercise before.",
            ),
            (_context(scores=cosine(-1)), _context(scores=cosine(1))),
        ),
        Mistake(
            "weights-instead-of-vectors",
            "the table of weights comes back; the mixtures that it describes are asked for.",
            (
                "What should the shape be for 8 tokens of 16 numbers?",
                "The weights say how much of each token to take. Which step is left?",
            ),
            (lambda x: torch.softmax(pairwise(x), -1), lambda x: torch.softmax(pairwise(x), -2)),
        ),
        Mistake(
            "overflow",
            "large dot products overflow: `exp` of them is inf, and inf divided by inf is NaN.",
            (
                "Try `torch.exp(torch.tensor(100.0))`. What comes out?",
                "Lesson 01's softmax first subtracts something from every row. What is it?",
            ),
            recognise=_overflows,
        ),
        TWO_AXES_ONLY,
        BATCH_ONLY,
    ),
    builds_on=("pairwise_dot_products",),
)
