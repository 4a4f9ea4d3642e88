"""`embed_with_positions`: rows of two tables, looked up by id and by position."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from grader.exercises.lesson_06.shared import Refused, ordered, refuses, token_ids
from grader.exercises.lesson_06.shared import mistake as shared_mistake
from grader.sentences import say
from grader.spec import parts
from grader.spec.cases import LENGTH_ONE, length_one_sizes, tensors
from grader.spec.draw import Draw
from grader.spec.exercise import Case
from grader.spec.session import Session
from grader.spec.spec import Spec, When
from grader.tolerance import FLOAT32

spec = Spec(__name__, shared_mistake)

ONE, FULL, SQUARE_BATCH = "one batch", "as many tokens as positions", "as many sentences as tokens"


def reference(tokens: Tensor, token_table: Tensor, position_table: Tensor) -> Tensor:
    """The right `embed_with_positions`, row by row: ids (B, T), a token table (V, E) and a position table (P, E) give
    (B, T, E), each id's row plus its position's row."""
    rows = [[token_table[token] + position_table[t] for t, token in enumerate(row)] for row in tokens.tolist()]
    return torch.stack([torch.stack(row) for row in rows])


def _cases(draw: Draw) -> list[Case]:
    def case(name: str, sizes: dict[str, int], dtype: torch.dtype = torch.float32) -> Case:
        drawn = tensors(draw, name, {"token_table": "V E", "position_table": "P E"}, sizes, dtype=dtype)
        tokens = token_ids(draw, sizes["B"], sizes["T"], sizes["V"], last=True)
        return replace(drawn, args={"tokens": tokens, **drawn.args})

    # There are more positions than ids, sentences or tokens, so that looking up any of these by mistake runs.
    main = ordered(draw, "T", "V", "P", B=2, E=3)
    many = ordered(draw, "T", "P", "B", "V", E=4)
    full = ordered(draw, "T", "V", B=3, E=2)
    return [
        case(ONE, main),
        case("more ids and sentences than positions", many),
        case(FULL, {**full, "P": full["T"]}),
        case("float64", main, torch.float64),
        *(replace(case(name, one), comparable=False) for name, one in length_one_sizes(main).items()),
        replace(case(SQUARE_BATCH, {**main, "B": main["T"]}), diagnostic=True),
    ]


def _joined(dim: int, *order: int) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    def variant(tokens: Tensor, token_table: Tensor, position_table: Tensor) -> Tensor:
        words = token_table[tokens]
        both = (words, position_table[: tokens.shape[1]].expand_as(words))
        return torch.cat([both[i] for i in order], dim)

    return variant


def _fits_only(name: str) -> Callable[[Session], bool]:
    """Whether the answer is right in the case `name`, where two sizes are equal by luck, while elsewhere torch can't
    add the rows of the two tables."""

    def recognise(session: Session) -> bool:
        raised = session.call(session.cases[ONE]).raised
        misfit = raised is not None and "must match the size" in raised.message
        return misfit and parts.inspect_call(session, session.cases[name], FLOAT32) is None

    return recognise


def _too_long(session: Session) -> list[Refused]:
    """Calls that have to raise ValueError: more tokens than the position table has rows. A table of one row is among
    them, since broadcasting would hide the mistake there."""
    calls = []
    for length, positions in ((6, 5), (11, 7), (4, 1)):
        tables = session.draw.normal((13, 3)), session.draw.normal((positions, 3))
        words = say(
            "`embed_with_positions` was called with {tokens} tokens and a position table of {rows} rows.",
            tokens=length,
            rows=positions,
        )
        calls.append(Refused((torch.zeros(2, length, dtype=torch.long), *tables), words, (length, positions)))
    return calls


def _full_refused(session: Session) -> bool:
    """Whether ValueError is raised where there are just as many tokens as positions, while fewer tokens are
    accepted."""
    raised = session.call(session.cases[FULL]).raised
    return raised is not None and "ValueError" in raised.types and session.call(session.cases[ONE]).ok


def _tables_swapped(session: Session) -> bool:
    """Whether the two tables change places. The first case shows it, since no id there is beyond the position table; in
    others this mistake raises."""
    case = session.cases[ONE]
    wrong = session.evaluate(case, lambda t, words, places: places[t] + words[: t.shape[1]])
    got = session.call(case).value
    return (
        isinstance(got, Tensor) and got.shape == wrong.shape and torch.allclose(got.to(wrong.dtype), wrong, atol=1e-4)
    )


def _along_batch(tokens: Tensor, token_table: Tensor, position_table: Tensor) -> Tensor:
    return token_table[tokens] + position_table[torch.arange(len(tokens))].unsqueeze(1)


def _along_square_batch(tokens: Tensor, token_table: Tensor, position_table: Tensor) -> Tensor:
    return token_table[tokens] + position_table[: tokens.shape[1]].unsqueeze(1)


EXERCISE = spec.exercise(
    reference,
    points=2,
    outputs={"embedded": "B T E"},
    cases=_cases,
    parts=(
        parts.shape(ONE),
        parts.values("adds the row of the position to every token", 3, ONE),
        parts.values("works for tables of any size", 1.5, "more ids and sentences than positions", FULL, *LENGTH_ONE),
        refuses("raises ValueError where there are more tokens than positions", 1, ONE, _too_long),
        parts.float64(single=ONE, weight=0.5),
        parts.unchanged(ONE, weight=0.5),
        parts.gradients(ONE),
    ),
    mistakes={
        "positions-forgotten": lambda tokens, token_table, position_table: token_table[tokens],
        "positions-by-token-id": lambda tokens, token_table, position_table: (
            token_table[tokens] + position_table[tokens]
        ),
        "positions-along-batch": When(_fits_only(SQUARE_BATCH), (_along_batch, _along_square_batch)),
        "concatenated": (*(_joined(dim, *order) for dim in (-1, 1, 0) for order in ((0, 1), (1, 0))),),
        "starts-at-one": lambda tokens, token_table, position_table: (
            token_table[tokens] + position_table[1 : tokens.shape[1] + 1]
        ),
        "same-position-for-all": (
            lambda t, words, places: words[t] + places[0],
            lambda t, words, places: words[t] + places[t.shape[1] - 1],
            lambda t, words, places: words[t] + places[-1],
        ),
        "multiplied": lambda t, words, places: words[t] * places[: t.shape[1]],
        "tokens-forgotten": lambda t, words, places: places[: t.shape[1]].expand(len(t), -1, -1),
        "tables-swapped": When(_tables_swapped),
        "full-length-refused": When(_full_refused),
        "stacked": (
            *(
                lambda t, words, places, dim=dim: torch.stack([words[t], places[: t.shape[1]].expand_as(words[t])], dim)
                for dim in (0, 1, -1)
            ),
        ),
        "whole-position-table": When(_fits_only(FULL)),
        "multiplied-by-root": lambda tokens, token_table, position_table: (
            token_table[tokens] * token_table.shape[1] ** 0.5 + position_table[: tokens.shape[1]]
        ),
    },
    builds_on=("embed_tokens",),
)
