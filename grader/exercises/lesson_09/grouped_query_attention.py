"""`grouped_query_attention`: several query heads read one head of keys and values (Ainslie et al. 2023, 2.2)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_01.shared import BATCH_ONLY, two_axes_only
from grader.exercises.lesson_03.shared import usual, with_leading_axes
from grader.exercises.lesson_09 import shared
from grader.sentences import say
from grader.spec import compare, parts
from grader.spec.cases import tensors
from grader.spec.draw import Draw
from grader.spec.exclusions import FUSED_ATTENTION
from grader.spec.exercise import Case, Finding, Part
from grader.spec.session import Session
from grader.spec.spec import Spec, When, by_id
from grader.subject import Request

spec = Spec(__name__)

INPUTS = {"query": "... Hq Tq D", "key": "... Hkv Tk D", "value": "... Hkv Tk d_v"}
ONE_FOR_ALL, ONE_EACH = "one head of keys for all query heads", "a head of keys for each query head"
AS_MANY = "as many groups as heads in one"

# Heads of queries and of keys that don't fit, 2 and 6 among them: the queries' number is the one to be divided.
MISFITS = ((6, 4), (5, 2), (2, 6))


def reference(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """The right `grouped_query_attention`, by PyTorch: query (..., Hq, Tq, D), key (..., Hkv, Tk, D) and value (...,
    Hkv, Tk, d_v) give (..., Hq, Tq, d_v)."""
    return F.scaled_dot_product_attention(query, key, value, enable_gqa=True)


def _cases(draw: Draw) -> list[Case]:
    def sizes(heads: int, kv_heads: int) -> dict[str, int]:
        batch, more, *_ = (n for n in (2, 3, 5, 7) if n not in (heads, kv_heads))  # small: code may loop over all heads
        return draw.sizes("Tq", "Tk", "D", "d_v", B=batch, G=more, Hq=heads, Hkv=kv_heads)

    # In the first the heads of a group are more than the groups, in the second fewer.
    first, second = sizes(shared.one_of(draw, 6, 10), 2), sizes(*((6, 3), (15, 5))[draw.integer(0, 2)])
    ends = [
        tensors(draw, ONE_FOR_ALL, INPUTS, sizes(shared.one_of(draw, 3, 5), 1)),
        tensors(draw, ONE_EACH, INPUTS, sizes(5, 5)),
    ]
    as_many = tensors(draw, AS_MANY, INPUTS, sizes(9, 3), diagnostic=True)
    return [*with_leading_axes(draw, INPUTS, (first, second)), *ends, as_many]


def _refuses(session: Session) -> Finding | None:
    for heads, kv_heads in MISFITS:
        shapes = ((heads, 7, 3), (kv_heads, 5, 3), (kv_heads, 5, 2))
        outcome = session.ask(Request("call", session.exercise.name, tuple(map(session.draw.normal, shapes))))
        asked = say(
            "`{name}` was called with query {query} and key {key}: {heads} is not a multiple of {kv_heads}.",
            name=session.exercise.name,
            query=shapes[0],
            key=shapes[1],
            heads=heads,
            kv_heads=kv_heads,
        )
        finding = compare.refused(outcome, asked, (heads, kv_heads))
        if finding is not None:
            return finding
    return None


# --- wrong on purpose -------------------------------------------------------------------------------------------------


def reads(head: Callable[[int, int, int], int]) -> shared.Attend:
    """An attention in which query head h reads the key and value head `head(h, heads, kv_heads)`, numbers from 0."""

    def wrong(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        heads, kv_heads = query.shape[-3], key.shape[-3]
        read = torch.tensor([head(h, heads, kv_heads) for h in range(heads)])
        return shared.attention(query, key.index_select(-3, read), value.index_select(-3, read))

    return wrong


def _one_interleaved(keys: bool) -> shared.Attend:
    """A wrong attention that takes the heads of the keys in turn, h % Hkv, if `keys`, else those of the values. The
    other of both is grouped rightly."""

    def wrong(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        group = query.shape[-3] // key.shape[-3]
        in_turn, in_groups = torch.arange(query.shape[-3]) % key.shape[-3], torch.arange(query.shape[-3]) // group
        read = (in_turn, in_groups) if keys else (in_groups, in_turn)
        return shared.attention(query, key.index_select(-3, read[0]), value.index_select(-3, read[1]))

    return wrong


def _repeated_on_axis_one(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """A wrong attention that repeats keys and values as a whole along axis 1, so that groups are interleaved. It
    expects exactly one leading axis: without a batch, `repeat` adds one."""
    times = (1, query.shape[-3] // key.shape[-3], 1, 1)
    return shared.by_hand()(query, key.repeat(times), value.repeat(times), 0)


def _groups_apart(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """The right output with the groups and their heads left as two axes, (..., Hkv, Hq / Hkv, Tq, d_v)."""
    return reference(query, key, value).unflatten(-3, (key.shape[-3], -1))


def _of_groups(attend: Callable[[Tensor, Tensor, Tensor, int], Tensor]) -> shared.Attend:
    """Keys and values grouped rightly, then `attend` in place of attention; its last argument, a size, is 1."""

    def wrong(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        group = query.shape[-3] // key.shape[-3]
        return attend(query, key.repeat_interleave(group, -3), value.repeat_interleave(group, -3), 1)

    return wrong


def _one_head(merge: Callable[[Tensor], Tensor], keys: bool = True, values: bool = True) -> shared.Attend:
    """A wrong attention in which `merge` makes one head, (..., 1, Tk, D), of all those of keys, of values or both. All
    query heads read it."""

    def wrong(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        group = query.shape[-3] // key.shape[-3]
        key = merge(key) if keys else key.repeat_interleave(group, -3)
        value = merge(value) if values else value.repeat_interleave(group, -3)
        key, value = (t.expand(*query.shape[:-2], *t.shape[-2:]) for t in (key, value))
        return shared.attention(query, key, value)

    return wrong


def _mean(heads: Tensor) -> Tensor:
    return heads.mean(-3, keepdim=True)


def _sum(heads: Tensor) -> Tensor:
    return heads.sum(-3, keepdim=True)


def _queries_merged(repeated: bool, mean: bool) -> shared.Attend:
    """A wrong attention that merges the query heads of a group, by their mean or else their sum. The output comes for
    each of them if `repeated`, else once for a group."""

    def wrong(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        groups = query.unflatten(-3, (key.shape[-3], -1))
        output = shared.attention(groups.mean(-3) if mean else groups.sum(-3), key, value)
        return output.repeat_interleave(groups.shape[-3], -3) if repeated else output

    return wrong


def _first_heads_only(count: Callable[[int, int], int], padded: bool = False) -> shared.Attend:
    """A wrong attention in which only the first `count(heads, kv_heads)` query heads are answered, by the first head of
    keys. The others are zeros if `padded`, else they are missing."""

    def wrong(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        answered = count(query.shape[-3], key.shape[-3])
        output = shared.attention(query[..., :answered, :, :], key[..., :1, :, :], value[..., :1, :, :])
        rest = output.new_zeros(*query.shape[:-3], query.shape[-3] - answered, *output.shape[-2:])
        return torch.cat((output, rest), -3) if padded else output

    return wrong


def _output_regrouped(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """The right output with its heads in the order of a transposed (Hkv, Hq / Hkv) matrix of heads."""
    groups = reference(query, key, value).unflatten(-3, (key.shape[-3], -1))
    return groups.transpose(-4, -3).flatten(-4, -3)


# --- recognised by more than their values -----------------------------------------------------------------------------


def _heads_do_not_meet(session: Session) -> bool:
    """Whether the output is right where there are as many key heads as query heads, while elsewhere torch says that
    their numbers differ."""
    raised = session.call(session.cases["one sequence"]).raised
    words = ("must match", "broadcast", "same batch size", "Expected size for first two dimensions")
    unfit = raised is not None and any(word in raised.message for word in words)
    return unfit and shared.right_on(session, ONE_EACH) and not _runs(session, AS_MANY)


def _repeated_by_another_number(session: Session) -> bool:
    """Whether the output is right only where a group has as many heads as there are groups."""
    right = shared.right_on(session, AS_MANY)
    return right and not any(shared.right_on(session, name) for name in ("one sequence", "a batch"))


def _runs(session: Session, name: str) -> bool:
    return session.call(session.cases[name]).ok


EXERCISE = spec.exercise(
    reference,
    points=3,
    outputs={"output": "... Hq Tq d_v"},
    cases=_cases,
    parts=(
        *usual("lets each group of query heads read its head of keys", 4, leading=1.5),
        parts.values("takes one head of keys for all query heads, and one for each", 1.5, ONE_FOR_ALL, ONE_EACH),
        parts.after_values(
            Part("raises ValueError where the heads don't divide", 1, _refuses, compares_values=False),
        ),
    ),
    mistakes={
        "groups-interleaved": (
            reads(lambda h, heads, kv_heads: h % kv_heads),
            _repeated_on_axis_one,
            *map(_one_interleaved, (True, False)),
        ),
        "first-group-only": (
            reads(lambda h, heads, kv_heads: 0),
            _first_heads_only(lambda heads, kv_heads: heads // kv_heads),
            _first_heads_only(lambda heads, kv_heads: heads // kv_heads, padded=True),
        ),
        "keys-averaged": tuple(
            _one_head(merge, *which)
            for merge in (_mean, _sum)
            for which in ((True, True), (True, False), (False, True))
        ),
        "queries-averaged": tuple(
            _queries_merged(repeated, mean) for repeated in (True, False) for mean in (True, False)
        ),
        "groups-left-apart": _groups_apart,
        "heads-reordered": _output_regrouped,
        "group-count-for-group-size": When(
            _repeated_by_another_number, reads(lambda h, heads, kv_heads: min(h // kv_heads, kv_heads - 1))
        ),
        "heads-not-shared": When(_heads_do_not_meet),
        **by_id(
            shared.no_scaling(_of_groups(shared.by_hand(lambda query, key, size: 1.0))),
            *(
                replace(mistake, variants=tuple(_of_groups(variant) for variant in mistake.variants))
                for mistake in shared.wrong_scales(
                    lambda query, key, size: math.sqrt(query.shape[-3]),
                    lambda query, key, size: math.sqrt(query.shape[-3] * query.shape[-1]),
                )
            ),
        ),
        "softmax-over-queries": (
            _of_groups(shared.by_hand(softmax=lambda scores: scores.softmax(-2))),
            _of_groups(shared.by_hand(softmax=lambda scores: scores.softmax(1))),
        ),
        **by_id(shared.overflow("entries up to 50")),
        "no-batch-axis": When(two_axes_only),
        **by_id(BATCH_ONLY),
    },
    excluded=(FUSED_ATTENTION,),
)
