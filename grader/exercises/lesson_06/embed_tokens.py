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
        replace(case(SINGLE, {**wide, "B": 1, "T": 1}, False), comparable=False),
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
                "The table is (V, E): a row for every id. Along which axis does your index pick?",
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
            (
                "Give it a table whose row i holds the number i everywhere, and compare the result with the ids.",
                "Which row belongs to id 0? Is there a number in your index that is none of the ids?",
            ),
            (lambda tokens, table: table[tokens - 1], lambda tokens, table: table[tokens + 1]),
        ),
        Mistake(
            "ids-multiplied",
            "the ids are multiplied, as if they were numbers; they are only names of rows.",
            (
                "Is the vector of id 4 twice that of id 2? Should it be?",
                "What do you do with an id: compute with it, or look up its row?",
            ),
            (
                lambda tokens, table: tokens[..., None] * table[0],
                lambda tokens, table: tokens[..., None] * table.mean(0),
            ),
            recognise=_ids_in_a_product,
        ),
        Mistake(
            "positions-instead-of-ids",
            "it looks up the row of a token's place, not the row of its id.",
            ("Give it a sentence of equal ids. Should its vectors differ?", "Where are the ids used in your index?"),
            (lambda tokens, table: table[: tokens.shape[1]].expand(len(tokens), -1, -1),),
        ),
        Mistake(
            "first-sentence-only",
            "only the ids of one sentence are looked up.",
            (
                "Change the last sentence of the batch. Does the result change?",
                "An index may have two axes: what shape has `table[tokens]`, and what shape do you hand in?",
            ),
            (
                lambda tokens, table: table[tokens[0]],
                lambda tokens, table: table[tokens[-1]],
                lambda tokens, table: table[tokens[0]].expand(len(tokens), -1, -1),
            ),
        ),
        Mistake(
            "batch-flattened",
            "the sentences stand one after the other, without an axis for the batch.",
            (
                "Compare the shape of your result with (B, T, E).",
                "Which of your lines loses the axis? The numbers are right, but how do they have to be arranged?",
            ),
            (
                lambda tokens, table: table[tokens.flatten()],
                lambda tokens, table: table[tokens].reshape(len(tokens), -1),
            ),
        ),
        Mistake(
            "axes-swapped",
            "tokens and features have changed places.",
            (
                "Compare the shape of your result with (B, T, E).",
                "Does anything in your code swap two axes? Is it needed?",
            ),
            (lambda tokens, table: table[tokens].transpose(1, 2), lambda tokens, table: table[tokens].transpose(0, 1)),
        ),
        Mistake(
            "one-number-a-token",
            "every id gets a single number; it should get a whole row of the table.",
            (
                "Compare the shape of your result with (B, T, E).",
                "How many numbers of the table belong to one id? What does your function take of them?",
            ),
            (
                lambda tokens, table: table.take(tokens),
                lambda tokens, table: table.gather(0, tokens),
                lambda tokens, table: table[tokens, 0],
            ),
        ),
        Mistake(
            "ids-of-another-dtype",
            "whole numbers and decimals meet: an index has to be whole, a product needs the table's dtype.",
            (
                "Print the dtypes of what meets in the line that raises.",
                "Ids are whole numbers (`torch.long`), the table holds decimals. Which of the two has to change?",
            ),
            recognise=_dtypes_meet,
        ),
        Mistake(*TIMES_ROOT, (lambda tokens, table: table[tokens] * table.shape[1] ** 0.5,)),
    ),
    excluded=(EMBEDDING,),
)
