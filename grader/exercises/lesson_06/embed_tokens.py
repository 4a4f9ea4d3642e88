"""`embed_tokens`: rows of a table, looked up by id."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_06.shared import mistake as shared_mistake
from grader.exercises.lesson_06.shared import ordered, token_ids
from grader.spec import parts
from grader.spec.draw import Draw
from grader.spec.exclusions import named
from grader.spec.exercise import Case
from grader.spec.session import Session
from grader.spec.spec import Spec, When
from grader.tolerance import FLOAT32

spec = Spec(__name__, shared_mistake)

# As a module, as a function and as an operator; `embedding_bag` is another thing.
EMBEDDING = named("`nn.Embedding` and `F.embedding`", r"(^|[.:])(embedding|Embedding)(\.|$)")

ONE, OTHER, SINGLE, SQUARE = "one batch", "another batch", "a single token", "as many ids as columns"


def reference(tokens: Tensor, table: Tensor) -> Tensor:
    """The right `embed_tokens`, by PyTorch: ids (B, T) and a table (V, E) give (B, T, E)."""
    return F.embedding(tokens, table)


def _cases(draw: Draw) -> list[Case]:
    wide, narrow = ordered(draw, "T", "V", "E", B=3), ordered(draw, "E", "V", B=2, T=5)

    def case(name: str, sizes: dict[str, int], last: bool, dtype: torch.dtype = torch.float32) -> Case:
        tokens = token_ids(draw, sizes["B"], sizes["T"], sizes["V"], last)
        return Case(name, {"tokens": tokens, "table": draw.normal((sizes["V"], sizes["E"])).to(dtype)}, sizes)

    return [
        case(ONE, wide, False),
        case(OTHER, narrow, True),
        replace(case(SINGLE, {**wide, "B": 1, "T": 1}, False), comparable=False),
        case("float64", narrow, False, torch.float64),
        replace(case(SQUARE, {**narrow, "V": narrow["E"]}, True), diagnostic=True),
    ]


def _wrong_width(session: Session) -> bool:
    """Whether a one-hot was made too wide or too narrow. It can't be multiplied with the table then, except where the
    number of ids happens to fit."""
    outcomes = [(session.cases[name], session.call(session.cases[name]).raised) for name in (ONE, OTHER)]
    messages = [(case, raised.message) for case, raised in outcomes if raised is not None]
    if any("num_classes" in message or _cannot_meet(case, message) for case, message in messages):
        return True
    lucky = (session.cases[name] for name in (OTHER, SQUARE))
    return bool(messages) and any(parts.inspect_call(session, case, FLOAT32) is None for case in lucky)


def _cannot_meet(case: Case, message: str) -> bool:
    """Whether torch refused to multiply rows of another width with the whole table."""
    shapes = re.search(r"\((\d+)x(\d+) and (\d+)x(\d+)\)", message)
    table = (str(case.sizes["V"]), str(case.sizes["E"]))
    one_hot = shapes is not None and shapes[1] == str(case.sizes["B"] * case.sizes["T"])
    return one_hot and shapes is not None and (shapes[3], shapes[4]) == table


def _ids_in_a_product(session: Session) -> bool:
    """Whether the ids themselves were multiplied with the table."""
    case = session.cases[ONE]
    raised = session.call(case).raised
    sizes = (f"({case.sizes['B']}x{case.sizes['T']} and", f"x{case.sizes['E']})")
    return raised is not None and all(size in raised.message for size in sizes)


def _dtypes_meet(session: Session) -> bool:
    raised = session.call(session.cases[ONE]).raised
    words = ("same dtype", "must be long, int", "Expected tensor for argument #1 'indices'", "index tensor")
    return raised is not None and any(word in raised.message for word in words)


def _features(*order: int) -> Callable[[Tensor, Tensor], Tensor]:
    """A wrong `embed_tokens` that looks up columns of the table in place of rows. What it finds has the axes (V, B, T),
    and `order` permutes them."""
    return lambda tokens, table: table[:, tokens].permute(order)


EXERCISE = spec.exercise(
    reference,
    points=2,
    outputs={"embedded": "B T E"},
    cases=_cases,
    parts=(
        parts.shape(ONE),
        parts.values("looks up the row of every id", 3, ONE),
        parts.values("works for any table and any batch", 1.5, OTHER, SINGLE),
        parts.float64(single=ONE, weight=0.5),
        parts.unchanged(ONE, weight=0.5),
        parts.gradients(ONE),
    ),
    mistakes={
        "one-hot-of-wrong-size": When(_wrong_width),
        "indexes-features": (
            _features(0, 1, 2),
            _features(1, 2, 0),
            _features(1, 0, 2),
            lambda tokens, table: table[:, tokens.flatten()],
            lambda tokens, table: table[:, tokens.flatten()].reshape(*tokens.shape, -1),
            lambda tokens, table: table.gather(1, tokens),
        ),
        "ids-shifted": (lambda tokens, table: table[tokens - 1], lambda tokens, table: table[tokens + 1]),
        "ids-multiplied": When(
            _ids_in_a_product,
            (
                lambda tokens, table: tokens[..., None] * table[0],
                lambda tokens, table: tokens[..., None] * table.mean(0),
            ),
        ),
        "positions-instead-of-ids": lambda tokens, table: table[: tokens.shape[1]].expand(len(tokens), -1, -1),
        "first-sentence-only": (
            lambda tokens, table: table[tokens[0]],
            lambda tokens, table: table[tokens[-1]],
            lambda tokens, table: table[tokens[0]].expand(len(tokens), -1, -1),
        ),
        "batch-flattened": (
            lambda tokens, table: table[tokens.flatten()],
            lambda tokens, table: table[tokens].reshape(len(tokens), -1),
        ),
        "axes-swapped": (
            lambda tokens, table: table[tokens].transpose(1, 2),
            lambda tokens, table: table[tokens].transpose(0, 1),
        ),
        "one-number-a-token": (
            lambda tokens, table: table.take(tokens),
            lambda tokens, table: table.gather(0, tokens),
            lambda tokens, table: table[tokens, 0],
        ),
        "ids-of-another-dtype": When(_dtypes_meet),
        "multiplied-by-root": lambda tokens, table: table[tokens] * table.shape[1] ** 0.5,
    },
    excluded=(EMBEDDING,),
)
