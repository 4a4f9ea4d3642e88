"""`embed_tokens` and `embed_with_positions`: rows of a table, looked up by id and by place."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_06.shared import LESSON, Refused, ordered, refuses, token_ids
from grader.spec import parts
from grader.spec.cases import tensors
from grader.spec.draw import Draw
from grader.spec.exclusions import named
from grader.spec.exercise import Case, Exercise, Mistake, Output
from grader.spec.session import Session
from grader.tolerance import FLOAT32

# As a module, as a function and as an operator; `embedding_bag` is another thing.
EMBEDDING = named("`nn.Embedding` and `F.embedding`", r"(^|[.:])(embedding|Embedding)(\.|$)")
ONE, OTHER, SINGLE, SQUARE = "one batch", "another batch", "a single token", "as many ids as columns"

# --- embed_tokens -----------------------------------------------------------------------------------------------------


def looked_up(tokens: Tensor, table: Tensor) -> Tensor:
    """PyTorch's own."""
    return F.embedding(tokens, table)


def _table_cases(draw: Draw) -> list[Case]:
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
    """A one-hot that is too wide or too narrow: it can't be multiplied with the table, except by luck."""
    outcomes = [(session.cases[name], session.call(session.cases[name]).raised) for name in (ONE, OTHER)]
    said = [(case, raised.message) for case, raised in outcomes if raised is not None]
    if any("num_classes" in message or _cannot_meet(case, message) for case, message in said):
        return True
    lucky = (session.cases[name] for name in (OTHER, SQUARE))
    return bool(said) and any(parts.inspect_call(session, case, FLOAT32) is None for case in lucky)


def _cannot_meet(case: Case, message: str) -> bool:
    """Whether torch was to multiply rows of another width with the whole table."""
    shapes = re.search(r"\(\d+x(\d+) and (\d+)x(\d+)\)", message)
    table = (str(case.sizes["V"]), str(case.sizes["E"]))
    return shapes is not None and (shapes[2], shapes[3]) == table


def _features(*order: int) -> Callable[[Tensor, Tensor], Tensor]:
    """Columns looked up in place of rows; `order` arranges the axes (V, B, T)."""
    return lambda tokens, table: table[:, tokens].permute(order)


TIMES_ROOT = (
    "multiplied-by-root",
    "the vectors are multiplied by the square root of d_model, as the paper does; here they are taken as they are.",
    ("Divide one number of your result by the expected one. What is the square root of the table's width?",),
)

EMBED_TOKENS = Exercise(
    name="embed_tokens",
    lesson=LESSON,
    points=2,
    signature=("tokens", "table"),
    outputs=(Output("embedded", "B T E"),),
    cases=_table_cases,
    reference=looked_up,
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

# --- embed_with_positions ---------------------------------------------------------------------------------------------

FULL, SQUARE_BATCH = "as many tokens as positions", "as many sentences as tokens"


def placed(tokens: Tensor, token_table: Tensor, position_table: Tensor) -> Tensor:
    """Row by row: what the token is, and where it stands."""
    rows = [[token_table[token] + position_table[t] for t, token in enumerate(row)] for row in tokens.tolist()]
    return torch.stack([torch.stack(row) for row in rows])


def _placed_cases(draw: Draw) -> list[Case]:
    def case(name: str, sizes: dict[str, int], dtype: torch.dtype = torch.float32) -> Case:
        made = tensors(draw, name, {"token_table": "V E", "position_table": "P E"}, sizes, dtype=dtype)
        tokens = token_ids(draw, sizes["B"], sizes["T"], sizes["V"], last=True)
        return replace(made, args={"tokens": tokens, **made.args})

    # Positions are the most: ids, sentences and tokens could all be looked up among them.
    main = ordered(draw, "T", "V", "P", B=2, E=3)
    many = ordered(draw, "T", "P", "B", "V", E=4)
    full = ordered(draw, "T", "V", B=3, E=2)
    return [
        case(ONE, main),
        case("more ids and sentences than positions", many),
        case(FULL, {**full, "P": full["T"]}),
        case("float64", main, torch.float64),
        replace(case(SQUARE_BATCH, {**main, "B": main["T"]}), diagnostic=True),
    ]


def _joined(dim: int, *order: int) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    def variant(tokens: Tensor, token_table: Tensor, position_table: Tensor) -> Tensor:
        words = token_table[tokens]
        both = (words, position_table[: tokens.shape[1]].expand_as(words))
        return torch.cat([both[i] for i in order], dim)

    return variant


def _fits_only(name: str) -> Callable[[Session], bool]:
    """Right where two sizes happen to be equal, as in the named case; elsewhere torch can't add the two tables."""

    def recognise(session: Session) -> bool:
        raised = session.call(session.cases[ONE]).raised
        misfit = raised is not None and "must match the size" in raised.message
        return misfit and parts.inspect_call(session, session.cases[name], FLOAT32) is None

    return recognise


def _too_long(session: Session) -> list[Refused]:
    """(tokens, positions) that don't fit; with one row in the table, broadcasting would hide it."""
    found = []
    for length, positions in ((6, 5), (11, 7), (4, 1)):
        tables = session.draw.normal((13, 3)), session.draw.normal((positions, 3))
        words = f"`embed_with_positions` was called with {length} tokens and a position table of {positions} rows."
        found.append(Refused((torch.zeros(2, length, dtype=torch.long), *tables), words, (length, positions)))
    return found


def _along_batch(tokens: Tensor, token_table: Tensor, position_table: Tensor) -> Tensor:
    return token_table[tokens] + position_table[torch.arange(len(tokens))].unsqueeze(1)


def _along_square_batch(tokens: Tensor, token_table: Tensor, position_table: Tensor) -> Tensor:
    return token_table[tokens] + position_table[: tokens.shape[1]].unsqueeze(1)


EMBED_WITH_POSITIONS = Exercise(
    name="embed_with_positions",
    lesson=LESSON,
    points=2,
    signature=("tokens", "token_table", "position_table"),
    outputs=(Output("embedded", "B T E"),),
    cases=_placed_cases,
    reference=placed,
    parts=(
        parts.shape(ONE),
        parts.values("adds to every token the row of its position", 3, ONE),
        parts.values("works for any sizes of the tables", 1.5, "more ids and sentences than positions", FULL),
        refuses("raises ValueError where there are more tokens than positions", 1, ONE, _too_long),
        parts.float64(single=ONE, weight=0.5),
        parts.unchanged(ONE, weight=0.5),
        parts.gradients(ONE),
    ),
    mistakes=(
        Mistake(
            "positions-forgotten",
            "the position table has no effect on the result.",
            (
                "Two equal tokens at different places: are their vectors equal in your result? Should they be?",
                "Follow `position_table` through your code: is what you compute from it used in the `return` line?",
            ),
            (lambda tokens, token_table, position_table: token_table[tokens],),
        ),
        Mistake(
            "positions-by-token-id",
            "the position table is looked up by the token's id; it should be looked up by its place.",
            (
                "Which row of the position table should the first token of *every* sentence get?",
                "Positions don't depend on what the tokens are: 0, 1, 2, … up to the length. `torch.arange` counts.",
            ),
            (lambda tokens, token_table, position_table: token_table[tokens] + position_table[tokens],),
        ),
        Mistake(
            "positions-along-batch",
            "positions are counted along the batch: it is the number of the sentence that is looked up.",
            (
                "Which axis of `tokens` counts along a sentence, the first or the second?",
                "Write the two shapes under each other, right-aligned: (B, T, E) and yours. Which axes meet?",
            ),
            (_along_batch, _along_square_batch),
            recognise=_fits_only(SQUARE_BATCH),
        ),
        Mistake(
            "concatenated",
            "the two vectors stand beside each other; they should be added.",
            (
                "How wide is a token's vector in your result, and how wide should it be?",
                "The sum keeps the width d_model, and every number of it holds a bit of both.",
            ),
            (*(_joined(dim, *order) for dim in (-1, 1, 0) for order in ((0, 1), (1, 0))),),
        ),
        Mistake(
            "starts-at-one",
            "the first token gets the second row of the position table.",
            ("Positions count from 0. Which row does your first token get?",),
            (
                lambda tokens, token_table, position_table: (
                    token_table[tokens] + position_table[1 : tokens.shape[1] + 1]
                ),
            ),
        ),
        Mistake(
            "whole-position-table",
            "the whole position table is added, also the rows for which there is no token.",
            (
                "A table for 100 positions serves shorter sentences, too. How many of its rows do you need?",
                "Slice it: as many rows as there are tokens in a sentence.",
            ),
            recognise=_fits_only(FULL),
        ),
        Mistake(
            *TIMES_ROOT,
            (
                lambda tokens, token_table, position_table: (
                    token_table[tokens] * token_table.shape[1] ** 0.5 + position_table[: tokens.shape[1]]
                ),
            ),
        ),
    ),
    builds_on=("embed_tokens",),
)
