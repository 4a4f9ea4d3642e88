"""`embed_tokens`: rows of a table, looked up by id."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_06.shared import LESSON, TIMES_ROOT, ordered, token_ids
from grader.spec import parts
from grader.spec.draw import Draw
from grader.spec.exclusions import named
from grader.spec.exercise import Case, Exercise, Mistake, Output
from grader.spec.session import Session
from grader.tolerance import FLOAT32

# As a module, as a function and as an operator; `embedding_bag` is another thing.
EMBEDDING = named("`nn.Embedding` and `F.embedding`", r"(^|[.:])(embedding|Embedding)(\.|$)")

ONE, OTHER, SINGLE, SQUARE = "one batch", "another batch", "a single token", "as many ids as columns"


def reference(tokens: Tensor, table: Tensor) -> Tensor:
    """PyTorch's own."""
    return F.embedding(tokens, table)


def _cases(draw: Draw) -> list[Case]:
    wide, narrow = ordered(draw, "T", "V", "E", B=3), ordered(draw, "E", "V", B=2, T=5)

    def case(name: str, sizes: dict[str, int], last: bool, dtype: torch.dtype = torch.float32) -> Case:
        tokens = token_ids(draw, sizes["B"], sizes["T"], sizes["V"], last)
        return Case(name, {"tokens": tokens, "table": draw.normal((sizes["V"], sizes["E"])).to(dtype)}, sizes)

    return [
        case(ONE, wide, False),
        case(OTHER, narrow, True),
        case(SINGLE, {**wide, "B": 1, "T": 1}, False),
        case("float64", narrow, False, torch.float64),
        replace(case(SQUARE, {**narrow, "V": narrow["E"]}, True), diagnostic=True),
    ]


def _wrong_width(session: Session) -> bool:
    """A one-hot that is too wide or too narrow can't be multiplied with the table, except by luck."""
    outcomes = [(session.cases[name], session.call(session.cases[name]).raised) for name in (ONE, OTHER)]
    messages = [(case, raised.message) for case, raised in outcomes if raised is not None]
    if any("num_classes" in message or _cannot_meet(case, message) for case, message in messages):
        return True
    lucky = (session.cases[name] for name in (OTHER, SQUARE))
    return bool(messages) and any(parts.inspect_call(session, case, FLOAT32) is None for case in lucky)


def _cannot_meet(case: Case, message: str) -> bool:
    """Whether torch refused to multiply rows of another width with the whole table."""
    shapes = re.search(r"\(\d+x(\d+) and (\d+)x(\d+)\)", message)
    table = (str(case.sizes["V"]), str(case.sizes["E"]))
    return shapes is not None and (shapes[2], shapes[3]) == table


def _features(*order: int) -> Callable[[Tensor, Tensor], Tensor]:
    """Columns looked up in place of rows; `order` arranges the axes (V, B, T)."""
    return lambda tokens, table: table[:, tokens].permute(order)


EXERCISE = Exercise(
    name="embed_tokens",
    lesson=LESSON,
    points=2,
    signature=("tokens", "table"),
    outputs=(Output("embedded", "B T E"),),
    cases=_cases,
    reference=reference,
    parts=(
        parts.shape(ONE),
        parts.values("looks up the row of every id", 3, ONE),
        parts.values("works for any table and any batch", 1.5, OTHER, SINGLE),
        parts.float64(single=ONE, weight=0.5),
        parts.unchanged(ONE, weight=0.5),
        parts.gradients(ONE),
    ),
    mistakes=(
        Mistake(
            "one-hot-of-wrong-size",
            "the one-hot rows aren't as wide as the table is long, so they can't be multiplied with it.",
            (
                "A one-hot row needs a place for every id that the *table* knows, whether it occurs in this batch or "
                "not.",
                "Print the shape of your one-hot next to the table's. Which of its axes has to match which? "
                "`F.one_hot` takes the number of classes as its second argument.",
            ),
            recognise=_wrong_width,
        ),
        Mistake(
            "indexes-features",
            "the ids pick columns of the table; they should pick rows.",
            (
                "The table is (V, E): a row for every id. Which axis does your index stand on?",
                "An index without a comma picks rows: `table[3]` is the row of id 3. What does it do with a tensor of "
                "ids?",
            ),
            (
                _features(0, 1, 2),
                _features(1, 2, 0),
                _features(1, 0, 2),
                lambda tokens, table: table[:, tokens.flatten()],
                lambda tokens, table: table[:, tokens.flatten()].reshape(*tokens.shape, -1),
                lambda tokens, table: table.gather(1, tokens),
            ),
        ),
        Mistake(
            "ids-shifted",
            "every id gets the row of its neighbour.",
            ("Which row belongs to id 0? Print your result for a batch that holds nothing else.",),
            (lambda tokens, table: table[tokens - 1], lambda tokens, table: table[tokens + 1]),
        ),
        Mistake(*TIMES_ROOT, (lambda tokens, table: table[tokens] * table.shape[1] ** 0.5,)),
    ),
    excluded=(EMBEDDING,),
)
