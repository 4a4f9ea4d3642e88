"""`multi_head_scores` and `per_head_projection`: einsum with a letter for the head."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_03.shared import LESSON, split_by_view, usual, with_leading_axes
from grader.spec import parts
from grader.spec.cases import equal_sizes, tensors
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Exercise, Mistake, Output

# --- multi_head_scores ------------------------------------------------------------------------------------------------

QK = {"query": "T H D", "key": "S H D"}


def scores_of(query: Tensor, key: Tensor) -> Tensor:
    """Head by head, every query with every key by the definition of a dot product."""
    return torch.stack([(q[:, None] * k[None]).sum(-1) for q, k in zip(query.unbind(1), key.unbind(1), strict=True)])


def _mixed(equation: str, heads: bool = False) -> Callable[[Tensor, Tensor], Tensor]:
    def wrong(query: Tensor, key: Tensor) -> Tensor:
        scores = torch.einsum(equation, query, key)
        return scores.expand(query.shape[1], *scores.shape) if heads else scores

    return wrong


def _same_position(query: Tensor, key: Tensor) -> Tensor:
    """Query t with key t: (T, H)."""
    if len(query) > len(key):
        raise IndexError("there is no key t")
    return (query * key[: len(query)]).sum(-1)


def _score_cases(draw: Draw) -> list[Case]:
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
        *equal_sizes(draw, QK, ("T", "S"), ("S", "D")),
    ]


MULTI_HEAD_SCORES = Exercise(
    name="multi_head_scores",
    lesson=LESSON,
    points=2,
    signature=tuple(QK),
    outputs=(Output("scores", "H T S"),),
    cases=_score_cases,
    reference=scores_of,
    parts=(
        parts.shape(),
        parts.values("scores one sequence in every head", 3, "one sequence"),
        parts.values("takes more and fewer keys than queries", 1, "more keys than queries", "more queries than keys"),
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
                "In an einsum the letters behind the arrow give the order of the axes. Which is the query's token?",
            ),
            (_mixed("thd,shd->hst"),),
        ),
        Mistake(
            "heads-mixed",
            "numbers of different heads are added up; each head should have a table of its own.",
            (
                "In an einsum a letter that is missing behind the arrow is summed over. Which letters may be missing?",
                "Only head_dim is summed over. The head has one letter in both inputs, and it stays in the output.",
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
                "Query and key need a token letter each: with one and the same letter they walk along together.",
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
                "Bring the heads to the front in both, so that tokens and head_dim are the last two axes.",
            ),
            (lambda query, key: query @ key.mT,),
        ),
        Mistake(
            "transpose-forgotten",
            "the heads are in front, but queries are multiplied with the keys as they lie.",
            (
                "In a matrix product the inner axes meet: (T, D) and what?",
                "Swap the last two axes of the keys.",
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
                lambda query, key: scores_of(query, key) / query.shape[-1] ** 0.5,
                lambda query, key: scores_of(query, key) / query.shape[-1],
                lambda query, key: scores_of(query, key) / query[0].numel() ** 0.5,
            ),
        ),
    ),
)

# --- per_head_projection ----------------------------------------------------------------------------------------------

PROJECTION = {"x": "... T E", "u": "H D E"}


def projected(x: Tensor, u: Tensor) -> Tensor:
    """Head by head with `F.linear`, which stores its weight as u does."""
    return torch.stack([F.linear(x, matrix) for matrix in u], -3)


def _for_every_head(x: Tensor, matrix: Tensor, heads: int, scale: float = 1.0) -> Tensor:
    one = (F.linear(x, matrix) * scale).unsqueeze(-3)
    return one.expand(*one.shape[:-3], heads, *one.shape[-2:])


def _projection_cases(draw: Draw) -> list[Case]:
    names = ("B", "G", "T", "E", "H", "D")
    sizes = draw.sizes(*names), draw.sizes(*names)

    def gentle(draw: Draw, name: str, shape: tuple[int, ...]) -> Tensor:
        return draw.normal(shape, shape[-1] ** -0.5 if name == "u" else 1.0)

    return with_leading_axes(draw, PROJECTION, sizes, gentle) + equal_sizes(draw, PROJECTION, ("D", "E"), make=gentle)


PER_HEAD_PROJECTION = Exercise(
    name="per_head_projection",
    lesson=LESSON,
    points=2,
    signature=tuple(PROJECTION),
    outputs=(Output("heads", "... H T D"),),
    cases=_projection_cases,
    reference=projected,
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
            (lambda x, u: projected(x, u).transpose(-3, -2), lambda x, u: F.linear(x, u.flatten(0, 1))),
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
