"""`context_vectors`: attention with nothing to train, on the tokens themselves."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_01.pairwise_dot_products import cosine, pairwise
from grader.exercises.lesson_01.shared import BATCH_ONLY, OVERFLOW, TWO_AXES_ONLY, X, cases, usual
from grader.spec.cases import equal_sizes
from grader.spec.draw import Draw
from grader.spec.spec import Spec, by_id

spec = Spec(__name__)


def contexts(x: Tensor) -> Tensor:
    """(…, T, E) → (…, T, E): PyTorch's own attention, told not to scale, with x as query, key and value."""
    return F.scaled_dot_product_attention(x, x, x, scale=1.0)


def _small_entries(draw: Draw, _name: str, shape: tuple[int, ...]) -> Tensor:
    """Normal entries times E ** -0.25. With standard normal ones a token of width 16 attends almost only to itself, and
    `return x` is nearly right."""
    return draw.normal(shape, shape[-1] ** -0.25)


def _context(
    scale: Callable[[Tensor], float] = lambda x: 1.0,
    dim: int = -1,
    scores: Callable[[Tensor], Tensor] = pairwise,
    after: Callable[[Tensor], float] = lambda x: 1.0,
) -> Callable[[Tensor], Tensor]:
    """A variant of `contexts` with the given parts changed. `scores` makes the scores, (…, T, E) → (…, T, T), and `dim`
    is the axis of the softmax. `scale` gives a factor for the scores, before it, `after` one for the weights."""
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


MORE_WRONG_AXES: tuple[Callable[[Tensor], Tensor], ...] = (
    lambda x: _context(dim=0 if x.dim() == 3 else 1)(x),  # what `F.softmax` picks if it gets no `dim`
    lambda x: _raised(x) / _raised(x).sum(-1).unsqueeze(-2) @ x,  # `keepdim` forgotten
)

EXERCISE = spec.exercise(
    contexts,
    points=2,
    outputs={"context": "... T E"},
    cases=lambda draw: cases(draw, X, _small_entries) + equal_sizes(draw, X, ("T", "E"), make=_small_entries),
    parts=usual("mixes the tokens of one sequence", 4, leading=1.5),
    mistakes={
        "scaled-anyway": (
            _context(lambda x: x.shape[-1] ** -0.5),
            _context(lambda x: 1 / x.shape[-1]),
            _context(lambda x: x.shape[-2] ** -0.5),
            _context(after=lambda x: x.shape[-1] ** -0.5),
        ),
        "softmax-over-queries": (*(_context(dim=dim) for dim in (-2, 0, 1)), *MORE_WRONG_AXES),
        "softmax-over-all": (_over_matrix, _over_everything),
        "no-softmax": (lambda x: pairwise(x) @ x, lambda x: _shared(pairwise(x)) @ x),
        "not-divided": (lambda x: _raised(x) @ x, lambda x: pairwise(x).exp() @ x),
        "softmax-in-wrong-place": (
            lambda x: torch.softmax(pairwise(x) @ x, -1),
            lambda x: pairwise(x) @ torch.softmax(x, -1),
            lambda x: torch.softmax(pairwise(x), -1) @ torch.softmax(x, -1),
        ),
        "x-before-weights": (
            lambda x: x @ torch.softmax(pairwise(x), -1),
            lambda x: x.mT @ torch.softmax(pairwise(x), -1),
            lambda x: x.mT @ torch.softmax(pairwise(x), -1).mT,
        ),
        "cosine-instead": (_context(scores=cosine(-1)), _context(scores=cosine(1))),
        "weights-instead-of-vectors": (
            lambda x: torch.softmax(pairwise(x), -1),
            lambda x: torch.softmax(pairwise(x), -2),
        ),
        **by_id(OVERFLOW, TWO_AXES_ONLY, BATCH_ONLY),
    },
    builds_on=("pairwise_dot_products", "stable_softmax"),
)
