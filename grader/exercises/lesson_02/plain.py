"""Lesson 02, attention with nothing to train: dot products of the tokens themselves, their softmax, mixtures."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_01.common import TWO_AXES_ONLY, cases, usual
from grader.spec import parts
from grader.spec.cases import equal_sizes
from grader.spec.draw import Draw
from grader.spec.exercise import Exercise, Mistake, Output
from grader.spec.loops import loops, two_lengths, without_loop
from grader.spec.session import Session
from grader.tolerance import FLOAT32

LESSON = "02_trainable_attention"
X = {"x": "... T E"}


def pairwise(x: Tensor) -> Tensor:
    """Every token with every token, by the definition of a dot product."""
    return (x.unsqueeze(-2) * x.unsqueeze(-3)).sum(-1)


def contexts(x: Tensor) -> Tensor:
    """PyTorch's own attention, told not to scale, with x as query, key and value."""
    return F.scaled_dot_product_attention(x, x, x, scale=1.0)


# --- pairwise_dot_products --------------------------------------------------------------------------------------------


def _cosine(dim: int) -> Callable[[Tensor], Tensor]:
    return lambda x: pairwise(F.normalize(x, dim=dim))


def _loops_and_is_right(session: Session) -> bool:
    return parts.inspect_call(session, session.cases["one sequence"], FLOAT32) is None and loops(session)


def _all_features(x: Tensor) -> Tensor:
    """One table of features for the whole batch."""
    flat = x.flatten(0, -2)
    return flat.mT @ flat


PAIRWISE_DOT_PRODUCTS = Exercise(
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
            (_cosine(-1), _cosine(1)),  # `F.normalize` takes axis 1 if it is told none
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
            ("Dot products may be negative and need not sum to one: the softmax has its place in the next exercise.",),
            (
                lambda x: torch.softmax(pairwise(x), -1),
                lambda x: torch.softmax(pairwise(x) / math.sqrt(x.shape[-1]), -1),
            ),
        ),
        Mistake(
            "elementwise-product",
            "every token is multiplied with itself only; a dot product is wanted for every pair.",
            (
                "How many pairs can you make of 8 tokens? How many numbers do you return for them?",
                "A matrix product takes all the dot products at once.",
            ),
            (lambda x: x * x, lambda x: (x * x).sum(-1), lambda x: (x * x).sum(-1, keepdim=True)),
        ),
        Mistake(
            "transpose-forgotten",
            "x is multiplied with x as it lies, `x @ x`, without turning the second one round.",
            (
                "Write the two shapes beside each other: which axes meet in the product?",
                "The last axis of the left factor meets the last but one of the right. Is that the same axis of x?",
            ),
            (lambda x: x @ x,),
        ),
        Mistake(
            "loop-over-tokens",
            "the numbers are right, but a Python loop walks over the tokens.",
            (
                "Your loop takes one dot product at a time. Which single product takes all of them?",
                "The product of two matrices is a table of dot products, of rows with columns.",
            ),
            recognise=_loops_and_is_right,
        ),
        TWO_AXES_ONLY,
    ),
)

# --- context_vectors --------------------------------------------------------------------------------------------------


def _shy(draw: Draw, _name: str, shape: tuple[int, ...]) -> Tensor:
    """Small enough that a token doesn't attend to itself alone, as it does at width 16 with standard normal entries:
    there `return x` would almost be right."""
    return draw.normal(shape, shape[-1] ** -0.25)


def _context(
    scale: Callable[[Tensor], float] = lambda x: 1.0,
    dim: int = -1,
    scores: Callable[[Tensor], Tensor] = pairwise,
    after: Callable[[Tensor], float] = lambda x: 1.0,
) -> Callable[[Tensor], Tensor]:
    """Context vectors that differ from the right ones in what is named."""
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


CONTEXT_VECTORS = Exercise(
    name="context_vectors",
    lesson=LESSON,
    points=2,
    signature=tuple(X),
    outputs=(Output("context", "... T E"),),
    cases=lambda draw: cases(draw, X, _shy) + equal_sizes(draw, X, ("T", "E"), make=_shy),
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
            (_context(scores=_cosine(-1)), _context(scores=_cosine(1))),
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
