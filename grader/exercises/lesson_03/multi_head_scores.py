"""`multi_head_scores`: an einsum with a letter for the head."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_01.attention_scores import key_reshaped
from grader.exercises.lesson_03.shared import LESSON
from grader.spec import parts
from grader.spec.cases import equal_sizes, tensors
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Exercise, Mistake, Output

QK = {"query": "T H D", "key": "S H D"}


def reference(query: Tensor, key: Tensor) -> Tensor:
    """Head by head, every query with every key by the definition of a dot product."""
    return torch.stack([(q[:, None] * k[None]).sum(-1) for q, k in zip(query.unbind(1), key.unbind(1), strict=True)])


def _mixed(equation: str, heads: bool = False) -> Callable[[Tensor, Tensor], Tensor]:
    def wrong(query: Tensor, key: Tensor) -> Tensor:
        scores = torch.einsum(equation, query, key)
        return scores.expand(query.shape[1], *scores.shape) if heads else scores

    return wrong


def _heads_by_view(x: Tensor) -> Tensor:
    """Wrongly: straight to (H, T, D)."""
    return x.reshape(x.shape[1], x.shape[0], x.shape[2])


def _same_position(query: Tensor, key: Tensor) -> Tensor:
    """Query t with key t: (T, H)."""
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


EXERCISE = Exercise(
    name="multi_head_scores",
    lesson=LESSON,
    points=2,
    signature=tuple(QK),
    outputs=(Output("scores", "H T S"),),
    cases=_cases,
    reference=reference,
    parts=(
        parts.shape(),
        parts.values("scores one sequence in every head", 3, "one sequence"),
        parts.values("takes more and fewer keys than queries", 1, *LENGTHS),
        parts.finite("stays finite at large entries", 0.5, "entries up to 50"),
        parts.float64(weight=0.5),
        parts.unchanged(weight=0.5),
        parts.gradients(),
    ),
    mistakes=(
        Mistake(
            "scores-transposed",
            "rows and columns are swapped: in each head your rows belong to the keys.",
            (
                "How many rows should a head's table have for 3 queries and 5 keys?",
                "In an einsum the letters after the arrow give the order of the axes. Which is the query's token?",
            ),
            (_mixed("thd,shd->hst"),),
        ),
        Mistake(
            "heads-mixed",
            "numbers of different heads are added up; each head should have a table of its own.",
            (
                "In an einsum a letter that is missing after the arrow is summed over. Which letters may be missing?",
                "Only D is summed over. The head has the same letter in both inputs. Is it in the output too?",
            ),
            (
                _mixed("thd,shd->ts"),
                lambda query, key: torch.einsum("thd,shd->ts", query, key)[None],
                _mixed("thd,shd->ts", heads=True),
                _mixed("thd,sgd->hts"),
                _mixed("thd,sgd->gts"),
                _mixed("thd,sgd->ts"),
                _mixed("thd,sgd->ts", heads=True),
                lambda query, key: torch.einsum("thd,shd->ts", query, key) / query.shape[1],
            ),
        ),
        Mistake(
            "diagonal-only",
            "query t meets only key t; it should meet every key.",
            (
                "How many scores should one head have for 3 queries and 5 keys?",
                "How many letters for tokens does your einsum have? With the same letter, query and key move on "
                "together.",
            ),
            (
                lambda query, key: _same_position(query, key).T,
                _same_position,
                lambda query, key: _same_position(query, key).T[..., None].expand(-1, -1, len(key)),
                lambda query, key: _same_position(query, key).T[:, None, :].expand(-1, len(query), -1),
                lambda query, key: torch.diag_embed(_same_position(query, key).T),
                lambda query, key: F.pad(torch.diag_embed(_same_position(query, key).T), (0, len(key) - len(query))),
            ),
        ),
        Mistake(
            "tokens-as-batch",
            "`@` took the tokens as its leading axis, so heads met heads at the same token.",
            (
                "`@` works on the last two axes and takes the others along. Which two should be last?",
                "The axis in front should be the one along which query and key walk together. Which is it?",
            ),
            (lambda query, key: query @ key.mT,),
        ),
        Mistake(
            "transpose-forgotten",
            "the heads are in front, but the queries are multiplied with the keys as they are.",
            (
                "In a matrix product the inner axes meet: (T, D) and what?",
                "Each key is a row. The product needs it as a column.",
            ),
            (lambda query, key: query.transpose(0, 1) @ key.transpose(0, 1),),
        ),
        Mistake(
            "scaled-too-early",
            "the scores are already divided; here the bare dot products are asked for.",
            (
                "Your numbers are right up to one factor. Where does it come from?",
                "The scale has its place in `multi_head_attention`, not here.",
            ),
            (
                lambda query, key: reference(query, key) / query.shape[-1] ** 0.5,
                lambda query, key: reference(query, key) / query.shape[-1],
                lambda query, key: reference(query, key) / query[0].numel() ** 0.5,
                lambda query, key: reference(query, key) / query.shape[-1] / 2,  # `/ d ** 1 / 2`
            ),
        ),
        Mistake(
            "softmax-too-early",
            "the softmax is already applied; here the bare dot products are asked for.",
            (
                "Add up a row of your result. Should a row of scores sum to one?",
                "Scores may be negative and need not sum to one: the softmax comes later.",
            ),
            (
                lambda query, key: torch.softmax(reference(query, key), -1),
                lambda query, key: torch.softmax(reference(query, key) / query.shape[-1] ** 0.5, -1),
            ),
        ),
        Mistake(
            "axes-in-another-order",
            "the numbers are right, but the heads are not the first axis.",
            (
                "Compare the shape that you got with the one expected: which axis is where?",
                "In an einsum the letters after the arrow give the order of the axes; `torch.stack` takes a `dim`.",
            ),
            (
                lambda query, key: reference(query, key).transpose(0, 1),
                lambda query, key: reference(query, key).permute(1, 2, 0),
            ),
        ),
        Mistake(
            "view-instead-of-transpose",
            "an axis was brought to its place by `view` or `reshape`, which leaves the numbers in their order and "
            "swaps nothing.",
            (
                "Print a small numbered tensor before and after. Does head 0 hold what it should?",
                "`view` and `reshape` only say anew where lines end. Which operation swaps two axes?",
            ),
            (
                lambda query, key: query.transpose(0, 1) @ key_reshaped(key.transpose(0, 1)),
                lambda query, key: query.transpose(0, 1) @ key.reshape(key.shape[1], key.shape[2], len(key)),
                lambda query, key: _heads_by_view(query) @ _heads_by_view(key).mT,
                lambda query, key: query.transpose(0, 1) @ _heads_by_view(key).mT,
                lambda query, key: _heads_by_view(query) @ key.transpose(0, 1).mT,
            ),
        ),
    ),
)
