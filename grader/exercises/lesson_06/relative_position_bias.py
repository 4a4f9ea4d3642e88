"""`relative_position_bias`: a score for every offset (after Shaw et al. 2018, section 3.2, and T5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from grader.spec import parts
from grader.spec.draw import Draw
from grader.spec.exercise import Case
from grader.spec.session import Session
from grader.spec.spec import Spec, When
from grader.tolerance import FLOAT32

spec = Spec(__name__)

Index = Callable[[Tensor, Tensor, int, int, int], Tensor]


def reference(table: Tensor, query_len: int, key_len: int) -> Tensor:
    """The right `relative_position_bias`, pair by pair: a table (H, 2m + 1) gives (H, Tq, Tk). Offsets are
    clipped to between -m and m."""
    reach = (table.shape[1] - 1) // 2
    columns = [[min(max(k - q, -reach), reach) + reach for k in range(key_len)] for q in range(query_len)]
    return torch.stack([torch.stack([table[:, c] for c in row], -1) for row in columns], -2)


def _looked_up(index: Index) -> Callable[[Tensor, int, int], Tensor]:
    """A bias (H, Tq, Tk) whose columns of the table are chosen by `index`, from the positions of queries (Tq, 1) and
    keys (Tk,), the largest distance m, Tq and Tk."""

    def variant(table: Tensor, query_len: int, key_len: int) -> Tensor:
        query, key = torch.arange(query_len).unsqueeze(1), torch.arange(key_len)
        return table[:, index(query, key, (table.shape[1] - 1) // 2, query_len, key_len)]

    return variant


RIGHT = _looked_up(lambda q, k, m, _tq, _tk: (k - q).clamp(-m, m) + m)
ONE, TALL, NEAR, FIRST_ROW = "more keys than queries", "more queries than keys", "nothing to clip", "a single query"
ONE_HEAD, ONE_KEY = "a single head", "a single key"


def _cases(draw: Draw) -> list[Case]:
    def case(name: str, reach: int, dtype: torch.dtype = torch.float32, **sizes: int) -> Case:
        table = draw.normal((sizes["H"], 2 * reach + 1)).to(dtype)
        args = {"table": table, "query_len": sizes["Tq"], "key_len": sizes["Tk"]}
        return Case(name, args, sizes)

    few, many = 4 + 2 * draw.integer(0, 2), 8 + draw.integer(0, 5 if draw.larger else 3)
    numbers = case(ONE, 2, H=3, Tq=few, Tk=many)
    size = numbers.args["table"].shape
    ordered = torch.arange(size.numel(), dtype=torch.float32).reshape(size)  # a learner sees which column it was
    return [
        replace(numbers, args={**numbers.args, "table": ordered}),
        # The keys stay within the table's reach, the queries don't: a wrong index can only be negative.
        case(TALL, 3, H=2, Tq=many, Tk=4),
        case(NEAR, many, H=2, Tq=5, Tk=few),
        case(FIRST_ROW, 3, H=4, Tq=1, Tk=many),
        replace(case(ONE_HEAD, 2, H=1, Tq=few, Tk=5), comparable=False),
        replace(case(ONE_KEY, 2, H=3, Tq=few, Tk=1), comparable=False),
        case("float64", 1, torch.float64, H=5, Tq=few, Tk=2),
    ]


def _runs_out(session: Session) -> bool:
    """Whether the answer is right where every offset is in the table, and raises an index error where some have to be
    clipped."""
    raised = session.call(session.cases[ONE]).raised
    beyond = raised is not None and any(word in raised.message for word in ("out of range", "out of bounds"))
    return beyond and parts.inspect_call(session, session.cases[NEAR], FLOAT32) is None


def _reach(table: Tensor) -> int:
    return (table.shape[1] - 1) // 2


def _wrong_reach(session: Session) -> bool:
    """Whether the largest distance was read from the wrong axis of the table, was twice too large, or wasn't a whole
    number."""
    case = session.cases[ONE]
    outcome = session.call(case)
    if outcome.raised is not None:
        not_whole = "must be long, int" in outcome.raised.message
        return not_whole or (_out_of_range(session, ONE, 1) and _out_of_range(session, NEAR, 1))
    by_heads = session.evaluate(case, lambda t, tq, tk: _with_reach(t, (t.shape[0] - 1) // 2, tq, tk))
    got = outcome.value
    return isinstance(got, Tensor) and got.shape == by_heads.shape and torch.allclose(got.to(by_heads.dtype), by_heads)


def _with_reach(table: Tensor, reach: int, query_len: int, key_len: int) -> Tensor:
    offsets = torch.arange(key_len) - torch.arange(query_len)[:, None]
    return table[:, offsets.clamp(-reach, reach) + reach]


def _out_of_range(session: Session, name: str, axis: int) -> bool:
    """Whether the call of this case raised an index error on this axis of the table, whose size is in torch's
    message."""
    case = session.cases[name]
    raised, size = session.call(case).raised, case.args["table"].shape[axis]
    return raised is not None and "out of bounds" in raised.message and raised.message.endswith(f"with size {size}")


def _indexes_heads(session: Session) -> bool:
    return _out_of_range(session, ONE, 0)


def _heads_last(table: Tensor, query_len: int, key_len: int) -> Tensor:
    return RIGHT(table, query_len, key_len).movedim(0, -1)


EXERCISE = spec.exercise(
    reference,
    points=4,
    outputs={"bias": "H Tq Tk"},
    cases=_cases,
    parts=(
        parts.shape(ONE),
        parts.values("takes the column of every offset from the table", 3, ONE),
        parts.values("works for any lengths and any table", 2, TALL, NEAR, FIRST_ROW, ONE_HEAD, ONE_KEY),
        parts.float64(single=ONE, weight=0.5),
        parts.unchanged(ONE, weight=0.5),
        parts.gradients(TALL),
    ),
    mistakes={
        "sign-flipped": _looked_up(lambda q, k, m, _tq, _tk: (q - k).clamp(-m, m) + m),
        "not-clipped": When(
            _runs_out,
            (
                _looked_up(lambda q, k, m, _tq, _tk: k - q + m),
                _looked_up(lambda q, k, m, _tq, _tk: (k - q + m) % (2 * m + 1)),
                _looked_up(lambda q, k, m, _tq, _tk: (k - q).clamp(max=m) + m),
                _looked_up(lambda q, k, m, _tq, _tk: (k - q).clamp(min=-m) + m),
            ),
        ),
        "wrapped-index": (
            _looked_up(lambda q, k, m, _tq, _tk: (k - q).clamp(-m, m)),
            _looked_up(lambda q, k, m, _tq, _tk: (k - q).clamp(-m, m) % (2 * m + 1)),
        ),
        "absolute-distance": (
            _looked_up(lambda q, k, m, _tq, _tk: (k - q).abs().clamp(-m, m) + m),
            _looked_up(lambda q, k, m, _tq, _tk: (k - q).abs().clamp(max=m)),
            _looked_up(lambda q, k, m, _tq, _tk: m - (k - q).abs().clamp(max=m)),
            _looked_up(lambda q, k, m, _tq, _tk: ((k - q).clamp(-m, m) + m).sub(m).abs()),
        ),
        "aligned-to-the-end": _looked_up(lambda q, k, m, tq, tk: (k - q - (tk - tq)).clamp(-m, m) + m),
        "heads-last": _heads_last,
        "queries-and-keys-transposed": (
            lambda table, tq, tk: RIGHT(table, tq, tk).mT,
            lambda table, tq, tk: RIGHT(table, tk, tq),
        ),
        "one-length-for-both": (lambda table, tq, tk: RIGHT(table, tq, tq), lambda table, tq, tk: RIGHT(table, tk, tk)),
        "clipped-to-columns": _looked_up(lambda q, k, m, _tq, _tk: (k - q).clamp(0, 2 * m)),
        "past-cut-off": _looked_up(lambda q, k, m, _tq, _tk: (k - q).clamp(0, m) + m),
        "future-cut-off": _looked_up(lambda q, k, m, _tq, _tk: (k - q + m).clamp(0, m)),
        "min-max-swapped": (
            _looked_up(lambda q, k, m, _tq, _tk: (k - q).clamp(max=-m).clamp(min=m) + m),
            _looked_up(lambda q, k, m, _tq, _tk: (k - q).clamp(min=m).clamp(max=-m) + m),
        ),
        "shifted-by-one": (
            _looked_up(lambda q, k, m, _tq, _tk: (k - q + 1).clamp(-m, m) + m),
            _looked_up(lambda q, k, m, _tq, _tk: (k - q - 1).clamp(-m, m) + m),
        ),
        "index-returned": lambda table, tq, tk: (
            (torch.arange(tk) - torch.arange(tq)[:, None]).clamp(-_reach(table), _reach(table)) + _reach(table)
        ),
        "reach-miscounted": When(_wrong_reach),
        "indexes-heads": When(_indexes_heads),
    },
)
