"""`chunked_attention`: a few queries at a time. The limit: no tensor as large as the whole matrix of scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from grader.exercises.lesson_03.shared import usual
from grader.exercises.lesson_09 import shared
from grader.spec import parts
from grader.spec.draw import Draw
from grader.spec.exclusions import FUSED_ATTENTION
from grader.spec.exercise import Case
from grader.spec.session import Session
from grader.spec.spec import Spec, When, by_id

spec = Spec(__name__)


def _cases(draw: Draw) -> list[Case]:
    sizes = draw.sizes(Tq=shared.one_of(draw, 67, 71, 79), Tk=shared.one_of(draw, 83, 89, 97), D=3, d_v=2)
    short = draw.sizes(Tq=shared.one_of(draw, 19, 20), Tk=shared.one_of(draw, 23, 29), D=2, d_v=3)
    return [
        *shared.piece_cases(draw, "Tq", "chunk_size"),
        shared.long_case(draw, shared.LONG, "chunk_size", sizes, shared.one_of(draw, 18, 20)),
        shared.long_case(draw, shared.LONG_BATCH, "chunk_size", short, shared.one_of(draw, 5, 6), (2, 3)),
    ]


# --- wrong on purpose -------------------------------------------------------------------------------------------------


def _turned(query: Tensor, key: Tensor, value: Tensor, chunk_size: int) -> Tensor:
    """A wrong attention, (..., Tq, d_v), with the softmax over the queries of a chunk."""
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    return torch.cat([torch.softmax(piece, -2) for piece in scores.split(chunk_size, -2)], -2) @ value


def _turned_axis_one(query: Tensor, key: Tensor, value: Tensor, chunk_size: int) -> Tensor:
    """A wrong attention, (..., Tq, d_v), with the softmax over axis 1, which is the keys' only where there is no
    batch."""
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    return torch.cat([torch.softmax(piece, 1) for piece in scores.split(chunk_size, -2)], -2) @ value


def _overlapping(starts: Callable[[int, int], Iterable[int]]) -> shared.Attend:
    """A wrong attention whose chunks of queries begin where `starts` says, made from Tq and chunk_size; all are put
    together."""

    def wrong(query: Tensor, key: Tensor, value: Tensor, chunk_size: int) -> Tensor:
        pieces = [query[..., at : at + chunk_size, :] for at in starts(query.shape[-2], chunk_size)]
        return torch.cat([shared.attention(piece, key, value) for piece in pieces], -2)

    return wrong


def _joined(axis: int) -> shared.Attend:
    def wrong(query: Tensor, key: Tensor, value: Tensor, chunk_size: int) -> Tensor:
        return torch.cat([shared.attention(piece, key, value) for piece in query.split(chunk_size, -2)], axis)

    return wrong


def _cannot_be_joined(session: Session) -> bool:
    """Whether `torch.cat` or `torch.stack` raised because the sizes of the chunks differ."""
    raised = [session.call(session.cases[name]).raised for name in ("one sequence", "a batch")]
    words = ("Sizes of tensors must match except in dimension", "stack expects each tensor to be equal size")
    return any(error is not None and any(word in error.message for word in words) for error in raised)


def _same_place(longest: bool) -> shared.Attend:
    """A wrong attention in which each chunk of queries meets only the keys at the same positions. With `longest` a
    chunk of queries without any keys is left out."""

    def wrong(query: Tensor, key: Tensor, value: Tensor, chunk_size: int) -> Tensor:
        outputs = []
        for at in range(0, query.shape[-2], chunk_size):
            q, k, v = (tensor[..., at : at + chunk_size, :] for tensor in (query, key, value))
            if k.shape[-2] or not longest:
                outputs.append(torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1) @ v)
        return torch.cat(outputs, -2)

    return wrong


def _same_share(query: Tensor, key: Tensor, value: Tensor, chunk_size: int) -> Tensor:
    """A wrong attention in which queries, keys and values are cut into equally many pieces, and each piece of queries
    meets only its own piece of keys."""
    count = math.ceil(query.shape[-2] / chunk_size)
    pieces = zip(query.split(chunk_size, -2), key.chunk(count, -2), value.chunk(count, -2), strict=False)
    return torch.cat([shared.attention(*piece) for piece in pieces], -2)


def _blocks_side_by_side(query: Tensor, key: Tensor, value: Tensor, chunk_size: int) -> Tensor:
    """A wrong attention that puts together, along the queries, the results of every chunk of queries with every block
    of keys."""
    blocks = list(zip(key.split(chunk_size, -2), value.split(chunk_size, -2), strict=True))
    return torch.cat([shared.attention(q, k, v) for q in query.split(chunk_size, -2) for k, v in blocks], -2)


def _last_block_only(query: Tensor, key: Tensor, value: Tensor, chunk_size: int) -> Tensor:
    return shared.attention(query, key.split(chunk_size, -2)[-1], value.split(chunk_size, -2)[-1])


# --- recognised by more than their values -----------------------------------------------------------------------------


def _right_rows(session: Session, case: Case) -> tuple[int, int] | None:
    """How many rows of the output are right at the start, and how many after the first wrong one; None if the result
    has no such rows."""
    outcome, right = session.call(case), session.expected(case)[0]
    got = outcome.value
    if not outcome.ok or not isinstance(got, Tensor) or got.dim() != right.dim() or got.shape[-1] != right.shape[-1]:
        return None
    rows = min(got.shape[-2], right.shape[-2])
    if got.shape[:-2] != right.shape[:-2] or not got.is_floating_point():
        return None
    close = torch.isclose(got[..., :rows, :].double(), right[..., :rows, :].double(), rtol=1e-3, atol=1e-4)
    every = close.flatten(0, -3).all(0).all(-1) if close.dim() > 2 else close.all(-1)
    first = int(every.int().cumprod(0).sum())
    return first, int(every[first:].sum())


def _last_chunk_lost(session: Session) -> bool:
    """Whether all rows up to a multiple of chunk_size are right, and the rest, one chunk at most, is missing or wrong
    in some case."""
    lost = False
    for case in (session.cases[name] for name in ("one sequence", "a batch", "float64", shared.LONG, shared.ONES)):
        counts = _right_rows(session, case)
        length, size = case.sizes["Tq"], case.args["chunk_size"]
        if counts is None:
            return False
        first, later = counts
        if first < length and (first == 0 or later or first % size or length - first > size):
            return False
        lost = lost or first < length
    return lost


def _count(session: Session) -> bool:
    """Whether the output is right, but chunk_size is taken as the number of chunks, which shows where it is 1: the
    whole matrix is made there, but not for a long sequence."""
    return (
        shared.right_on(session, shared.LONG, shared.ONES)
        and shared.full_table(session, shared.ONES)
        and not shared.full_table(session, shared.LONG)
    )


def _batch_cut(session: Session) -> bool:
    """Whether the chunks are cut from the first axis: all is right for one sequence, and a batch raises, or it isn't
    cut into chunks of queries and is spoilt where it has more rows than a chunk."""
    if not shared.right_on(session, "one sequence", shared.LONG) or shared.full_table(session, shared.LONG):
        return False
    if session.call(session.cases["a batch"]).raised is not None:
        return True
    case = session.cases[shared.LONG_BATCH]
    value = session.call_anew(shared.cut_into(case, "chunk_size", 1)).value
    whole = isinstance(value, Tensor) and value.shape == (*case.leading, case.sizes["Tq"], case.sizes["d_v"])
    return shared.full_table(session, shared.LONG_BATCH) and not whole


EXERCISE = spec.exercise(
    shared.attention,
    points=3,
    signature=(*shared.ATTEND, "chunk_size"),
    outputs={"output": "... Tq d_v"},
    cases=_cases,
    parts=(
        *usual("gives the same as attention for all queries at once", 4, leading=1.5),
        parts.values("works for chunks of any size", 1.5, shared.LARGER, shared.ONES, shared.LONG),
        shared.small_tensors("makes no tensor as large as Tq × Tk", 8, shared.LONG, shared.LONG_BATCH, shared.ONES),
    ),
    mistakes={
        "last-chunk-lost": When(_last_chunk_lost),
        "keys-chunked-too": (
            _same_place(False),
            _same_place(True),
            _same_share,
            shared.blocks_apart(False),
            shared.blocks_apart(True),
            _blocks_side_by_side,
            _last_block_only,
        ),
        **by_id(shared.no_scaling(shared.unscaled), *shared.wrong_scales()),
        "first-chunk-only": lambda query, key, value, size: shared.attention(query[..., :size, :], key, value),
        "chunks-overlap": (
            _overlapping(lambda length, size: range(length)),
            _overlapping(lambda length, size: range(length // size)),
            _overlapping(lambda length, size: range(length // size + 1)),
            _overlapping(lambda length, size: range(-(-length // size))),
        ),
        "joined-along-another-axis": When(_cannot_be_joined, (_joined(0), _joined(-1))),
        "softmax-over-queries": (_turned, _turned_axis_one),
        **by_id(shared.overflow("entries up to 50")),
        "number-of-chunks": When(_count),
        "batch-cut-instead": When(_batch_cut),
        "full-matrix-made": When(shared.makes_full_table(shared.LONG, shared.LONG_BATCH, shared.ONES)),
    },
    excluded=(FUSED_ATTENTION,),
    seconds=20,  # the largest case takes code that walks over small tiles a while
    memory=shared.MEMORY,
)
