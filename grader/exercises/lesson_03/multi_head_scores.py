"""`multi_head_scores`: an einsum with a letter for the head."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_01.attention_scores import key_reshaped
from grader.spec import parts
from grader.spec.cases import equal_sizes, tensors
from grader.spec.draw import Draw
from grader.spec.exercise import Case
from grader.spec.spec import Spec

spec = Spec(__name__)

QK = {"query": "T H D", "key": "S H D"}


def reference(query: Tensor, key: Tensor) -> Tensor:
    """(T, H, D) and (S, H, D) → (H, T, S): head by head, every query with every key by the definition of a dot
    product."""
    return torch.stack([(q[:, None] * k[None]).sum(-1) for q, k in zip(query.unbind(1), key.unbind(1), strict=True)])


def _mixed(equation: str, heads: bool = False) -> Callable[[Tensor, Tensor], Tensor]:
    def wrong(query: Tensor, key: Tensor) -> Tensor:
        scores = torch.einsum(equation, query, key)
        return scores.expand(query.shape[1], *scores.shape) if heads else scores

    return wrong


def _heads_by_view(x: Tensor) -> Tensor:
    """(T, H, D) → (H, T, D), wrongly: reshaped, not transposed."""
    return x.reshape(x.shape[1], x.shape[0], x.shape[2])


def _same_position(query: Tensor, key: Tensor) -> Tensor:
    """(T, H), wrongly: query t with key t only. IndexError where there are fewer keys than queries."""
    if len(query) > len(key):
        raise IndexError("there is no key t")
    return (query * key[: len(query)]).sum(-1)


ONE_HEAD, ONE_EACH = "a single head", "one query and one key"
LENGTHS = ("more keys than queries", "more queries than keys", ONE_HEAD, ONE_EACH)


def _cases(draw: Draw) -> list[Case]:
    first, second = draw.sizes("T", "S", "H", "D"), draw.sizes("T", "S", "H", "D")
    more, fewer = max(second["T"], second["S"]), min(second["T"], second["S"])

    def fifty(draw: Draw, _name: str, shape: tuple[int, ...]) -> Tensor:
        return draw.uniform(shape, -50, 50)

    return [
        tensors(draw, "one sequence", QK, first),
        tensors(draw, "more keys than queries", QK, second | {"T": fewer, "S": more}),
        tensors(draw, "more queries than keys", QK, second | {"T": more, "S": fewer}),
        tensors(draw, "float64", QK, first, dtype=torch.float64),
        tensors(draw, "entries up to 50", QK, first, make=fifty, comparable=False),
        tensors(draw, ONE_HEAD, QK, first | {"H": 1}, comparable=False),
        tensors(draw, ONE_EACH, QK, first | {"T": 1, "S": 1}, comparable=False),
        *equal_sizes(draw, QK, ("T", "S"), ("S", "D")),
    ]


EXERCISE = spec.exercise(
    reference,
    points=2,
    outputs={"scores": "H T S"},
    cases=_cases,
    parts=(
        parts.shape(),
        parts.values("scores one sequence in every head", 3, "one sequence"),
        parts.values("takes more and fewer keys than queries", 1, *LENGTHS),
        parts.finite("stays finite with large entries", 0.5, "entries up to 50"),
        parts.float64(weight=0.5),
        parts.unchanged(weight=0.5),
        parts.gradients(),
    ),
    mistakes={
        "scores-transposed": _mixed("thd,shd->hst"),
        "heads-mixed": (
            _mixed("thd,shd->ts"),
            lambda query, key: torch.einsum("thd,shd->ts", query, key)[None],
            _mixed("thd,shd->ts", heads=True),
            _mixed("thd,sgd->hts"),
            _mixed("thd,sgd->gts"),
            _mixed("thd,sgd->ts"),
            _mixed("thd,sgd->ts", heads=True),
            lambda query, key: torch.einsum("thd,shd->ts", query, key) / query.shape[1],
        ),
        "diagonal-only": (
            lambda query, key: _same_position(query, key).T,
            _same_position,
            lambda query, key: _same_position(query, key).T[..., None].expand(-1, -1, len(key)),
            lambda query, key: _same_position(query, key).T[:, None, :].expand(-1, len(query), -1),
            lambda query, key: torch.diag_embed(_same_position(query, key).T),
            lambda query, key: F.pad(torch.diag_embed(_same_position(query, key).T), (0, len(key) - len(query))),
        ),
        "tokens-as-batch": lambda query, key: query @ key.mT,
        "transpose-forgotten": lambda query, key: query.transpose(0, 1) @ key.transpose(0, 1),
        "scaled-too-early": (
            lambda query, key: reference(query, key) / query.shape[-1] ** 0.5,
            lambda query, key: reference(query, key) / query.shape[-1],
            lambda query, key: reference(query, key) / query[0].numel() ** 0.5,
            lambda query, key: reference(query, key) / query.shape[-1] / 2,  # `/ d ** 1 / 2`
        ),
        "softmax-too-early": (
            lambda query, key: torch.softmax(reference(query, key), -1),
            lambda query, key: torch.softmax(reference(query, key) / query.shape[-1] ** 0.5, -1),
        ),
        "axes-in-another-order": (
            lambda query, key: reference(query, key).transpose(0, 1),
            lambda query, key: reference(query, key).permute(1, 2, 0),
        ),
        "view-instead-of-transpose": (
            lambda query, key: query.transpose(0, 1) @ key_reshaped(key.transpose(0, 1)),
            lambda query, key: query.transpose(0, 1) @ key.reshape(key.shape[1], key.shape[2], len(key)),
            lambda query, key: _heads_by_view(query) @ _heads_by_view(key).mT,
            lambda query, key: query.transpose(0, 1) @ _heads_by_view(key).mT,
            lambda query, key: _heads_by_view(query) @ key.transpose(0, 1).mT,
        ),
    },
)
