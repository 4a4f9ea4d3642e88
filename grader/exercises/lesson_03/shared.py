"""What the exercises of lesson 03 share: sizes, cases and parts, a reference, and mistakes that many heads invite."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_01.attention_scores import key_reshaped
from grader.exercises.lesson_01.shared import mistake as shared_mistake
from grader.spec import compare, parts
from grader.spec.cases import LENGTH_ONE, Axes, Make, length_one, normal_entries, tensors
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Mistake, Part
from grader.spec.session import Session
from grader.spec.words import Words
from grader.tolerance import FLOAT32

mistake = Words(__file__)

TWO_LEADING = "two leading axes"


def head_sizes(draw: Draw, *others: str, but: int = 1) -> dict[str, int]:
    """Distinct sizes of B, G (a second leading axis), H, D, E = H * D and `others`. There are several heads, but not
    `but` many."""
    heads = _one_of(draw, [n for n in ((2, 3, 5, 6) if draw.larger else (2, 3, 5)) if n != but])
    width = _one_of(draw, [n for n in ((3, 5, 7, 8, 10) if draw.larger else (3, 5, 6)) if n != heads])
    return draw.sizes("B", "G", *others, H=heads, D=width, E=heads * width)


def two_head_sizes(draw: Draw, *others: str) -> tuple[dict[str, int], dict[str, int]]:
    """Two draws of `head_sizes` with different numbers of heads and different E, so that no fixed number fits both. The
    heads of one are even in width, those of the other odd, since half a head is wrong only there."""
    first = second = head_sizes(draw, *others)
    while second["E"] == first["E"] or second["D"] % 2 == first["D"] % 2:
        second = head_sizes(draw, *others, but=first["H"])
    return first, second


def _one_of(draw: Draw, numbers: Sequence[int]) -> int:
    return numbers[draw.integer(0, len(numbers))]


def numbered(_draw: Draw, _name: str, shape: tuple[int, ...]) -> Tensor:
    """The numbers 0, 1, 2, … in order, as float32: a learner sees where an entry went."""
    return torch.arange(torch.Size(shape).numel(), dtype=torch.float32).reshape(shape)


def with_leading_axes(
    draw: Draw,
    inputs: Axes,
    both: tuple[Mapping[str, int], Mapping[str, int]],
    make: Make = normal_entries,
    first: Make | None = None,
    numbers: Mapping[str, str] | None = None,
    square: bool = False,
) -> list[Case]:
    """Like `grader.spec.cases.standard`, in sizes drawn twice, `both`: leading axes in the second, the rest in the
    first. `first` makes the entries of the first case; `numbers` are the arguments after the tensors, each with the
    name of its size. `square` adds a diagnostic case with as many tokens as a head is wide: there a forgotten transpose
    runs."""
    sizes, others = both

    def fifty(draw: Draw, _name: str, shape: tuple[int, ...]) -> Tensor:
        return draw.uniform(shape, -50, 50)

    cases = [
        tensors(draw, "one sequence", inputs, sizes, (), first or make),
        tensors(draw, "a batch", inputs, others, (others["B"],), make),
        tensors(draw, TWO_LEADING, inputs, others, (others["B"], others["G"]), make),
        tensors(draw, "float64", inputs, sizes, (sizes["B"],), make, torch.float64),
        tensors(draw, "entries up to 50", inputs, sizes, (sizes["B"],), fifty, comparable=False),
        *length_one(draw, inputs, sizes, make),
    ]
    if square:
        cases.append(tensors(draw, "T = D", inputs, {**sizes, "T": sizes["D"]}, (), make, diagnostic=True))
    return [
        replace(case, args={**case.args, **{name: case.sizes[size] for name, size in (numbers or {}).items()}})
        for case in cases
    ]


def usual(title: str, weight: float, leading: float = 1, finite: bool = True) -> tuple[Part, ...]:
    """Like `grader.spec.parts.usual`, on the cases of `with_leading_axes`: `title` and `weight` are those of one
    sequence's values, `leading` is the weight of leading axes. `finite`: with a part for large entries."""
    large = (parts.finite("stays finite with large entries", 0.5, "entries up to 50"),) if finite else ()
    return (
        parts.shape(),
        parts.values(title, weight, "one sequence"),
        parts.values("takes any leading axes", leading, "a batch", TWO_LEADING, *LENGTH_ONE),
        *large,
        parts.float64(weight=0.5),
        parts.unchanged(weight=0.5),
        parts.gradients(),
    )


def split_by_view(x: Tensor, num_heads: int) -> Tensor:
    """(…, T, H*D) → (…, H, T, D), wrongly: reshaped at once, not transposed."""
    return x.reshape(*x.shape[:-2], num_heads, x.shape[-2], x.shape[-1] // num_heads)


def view_refused(session: Session) -> bool:
    """Whether `view` refused to run because a transpose came before it."""
    outcomes = (session.call(case) for case in session.real_cases())
    return any(o.raised is not None and "view size is not compatible" in o.raised.message for o in outcomes)


def filled_too_high(session: Session, cases: Sequence[Case], hidden: Callable[[Case], Tensor]) -> bool:
    """Whether hidden scores got one number that is not low enough: in each row hidden keys have the same weight, and
    the others share the rest as they should. `hidden` gives a bool mask, True where a key is hidden, that broadcasts to
    a case's weights, such as (…, H, T, T)."""
    most = 0.0
    for case in cases:
        values = compare.leaves(session.call(case).value, 2) or []
        if not values or compare.shapes(values, session.exercise, case) is not None:
            return False
        weights, right = values[1].double(), session.expected(case)[1]
        where = hidden(case).expand(weights.shape)
        visible = weights.masked_fill(where, 0.0)
        given = torch.where(where, weights, weights.masked_fill(~where, 0.0).amax(-1, keepdim=True))
        alike = FLOAT32.all_close(given, given.amax(-1, keepdim=True).expand_as(given))
        if not alike or not FLOAT32.all_close(visible / visible.sum(-1, keepdim=True), right):
            return False
        most = max(most, float(weights[where].max()))
    return most > 0


# --- wrong on purpose -------------------------------------------------------------------------------------------------

Pair = tuple[Tensor, Tensor]

# Attention on projected tensors: query, key, value, the output projection, the number of heads, a mask or None.
Core = Callable[[Tensor, Tensor, Tensor, Callable[[Tensor], Tensor], int, Tensor | None], Pair]


def split(x: Tensor, num_heads: int) -> Tensor:
    """(…, T, H*D) → (…, H, T, D), the right way: each head is a run of D columns."""
    return x.unflatten(-1, (num_heads, -1)).transpose(-3, -2)


def merge(x: Tensor) -> Tensor:
    """(…, H, T, D) → (…, T, H*D), the right way: the heads side by side."""
    return x.transpose(-3, -2).flatten(-2)


def split_heads_last(x: Tensor, num_heads: int) -> Tensor:
    """(…, T, H*D) → (…, H, T, D): wrongly, a head gets every `num_heads`-th column."""
    return x.unflatten(-1, (-1, num_heads)).movedim(-1, -3)


def merge_by_view(x: Tensor) -> Tensor:
    """(…, H, T, D) → (…, T, H*D): wrongly, without moving the heads behind the tokens first."""
    return x.reshape(*x.shape[:-3], x.shape[-2], -1)


def merge_interleaved(x: Tensor) -> Tensor:
    """(…, H, T, D) → (…, T, H*D): wrongly, the heads' columns alternate."""
    return x.movedim(-3, -1).flatten(-2)


def may_attend(scores: Tensor, mask: Tensor) -> Tensor:
    """The scores, (…, H, Tq, Tk), hidden the right way: minus infinity where the mask is False."""
    return scores.masked_fill(~mask, -math.inf)


def root_of_head_dim(head_dim: int, num_heads: int) -> float:
    """The right divisor of the scores, whatever the number of heads."""
    return math.sqrt(head_dim)


def core(
    split: Callable[[Tensor, int], Tensor] = split,
    merge: Callable[[Tensor], Tensor] = merge,
    divisor: Callable[[int, int], float] = root_of_head_dim,
    score: Callable[[Tensor, Tensor], Tensor] = lambda query, key: query @ key.mT,
    weigh: Callable[[Tensor], Tensor] = lambda scores: torch.softmax(scores, -1),
    mix: Callable[[Tensor, Tensor], Tensor] = lambda weights, value: weights @ value,
    hide: Callable[[Tensor, Tensor], Tensor] = may_attend,
    after: Callable[[Tensor, Tensor | None], Tensor] = lambda weights, mask: weights,
    shown: Callable[[Tensor, int], Tensor] = lambda weights, heads: weights,
    project: bool = True,
    one_head: bool = False,
) -> Core:
    """Attention in heads with the given parts changed. `divisor` gets head_dim and the number of heads. `after` changes
    the weights that the values meet, and gets the mask too; `shown` changes the returned ones alone. Without `project`
    the output isn't projected; with `one_head` there is one head, whatever the number asked for."""

    def attend(
        query: Tensor, key: Tensor, value: Tensor, out: Callable[[Tensor], Tensor], heads: int, mask: Tensor | None
    ) -> Pair:
        head_dim, used = query.shape[-1] // heads, 1 if one_head else heads
        q, k, v = (split(tensor, used) for tensor in (query, key, value))
        scores = score(q, k) / divisor(head_dim, heads)
        if mask is not None:
            scores = hide(scores, mask)
        weights = after(weigh(scores), mask)
        mixed = merge(mix(weights, v))
        return out(mixed) if project else mixed, shown(weights, heads)

    return attend


def _over(dim: int) -> Core:
    return core(weigh=lambda scores: torch.softmax(scores, dim))


def _scaled_late(
    query: Tensor, key: Tensor, value: Tensor, out: Callable[[Tensor], Tensor], heads: int, mask: Tensor | None
) -> Pair:
    """A wrong core: divides the weights by √head_dim, after the softmax, instead of the scores."""
    root = math.sqrt(query.shape[-1] // heads)
    attend = core(divisor=lambda head_dim, heads: 1.0, after=lambda weights, mask: weights / root)
    return attend(query, key, value, out, heads, mask)


def _output_scaled(
    query: Tensor, key: Tensor, value: Tensor, out: Callable[[Tensor], Tensor], heads: int, mask: Tensor | None
) -> Pair:
    """A wrong core: divides the output of the heads by √head_dim instead of the scores, and returns the weights
    undivided."""
    root = math.sqrt(query.shape[-1] // heads)
    attend = core(divisor=lambda head_dim, heads: 1.0, mix=lambda weights, value: weights @ value / root)
    return attend(query, key, value, out, heads, mask)


def _with_head_axis(weights: Tensor, heads: int) -> Tensor:
    return weights.expand(*weights.shape[:-3], heads, *weights.shape[-2:])


ONE_HEAD_SHOWN: tuple[Callable[[Tensor, int], Tensor], ...] = (
    lambda weights, heads: weights,
    lambda weights, heads: weights.squeeze(-3),
    _with_head_axis,
)

# With one head the width is d_model; the divisor may still be the root of d_model / num_heads.
ONE_HEAD = tuple(
    attend
    for divisor in (lambda head_dim, heads: math.sqrt(head_dim * heads), root_of_head_dim)
    for attend in (
        *(core(one_head=True, shown=shown, divisor=divisor) for shown in ONE_HEAD_SHOWN),
        core(split=lambda x, heads: x, merge=lambda x: x, divisor=divisor),
    )
)

# The function and the module share these. Their variants are cores, which `of_function` or `of_module` wraps.
SCALED_BY_D_MODEL = mistake("scaled-by-d_model", (core(divisor=lambda head_dim, heads: math.sqrt(head_dim * heads)),))

NO_SCALING = mistake("no-scaling", (core(divisor=lambda head_dim, heads: 1.0),))

NO_OUTPUT_PROJECTION = mistake("no-output-projection", (core(project=False),))

VIEW_WITHOUT_TRANSPOSE = mistake("view-without-transpose", (core(split_by_view), core(split_by_view, merge_by_view)))

MERGE_WITHOUT_TRANSPOSE = mistake("merge-without-transpose", (core(merge=merge_by_view),))

ONE_HEAD_ONLY = mistake("one-head-only", ONE_HEAD)

FURTHER = (
    mistake("heads-last", (core(split_heads_last), core(split_heads_last, merge_interleaved))),
    mistake("heads-interleaved", (core(merge=merge_interleaved),)),
    mistake("scale-multiplied", (core(divisor=lambda head_dim, heads: head_dim**-0.5),)),
    mistake(
        "scaled-by-head_dim",
        tuple(core(divisor=lambda head_dim, heads, n=n: n * head_dim) for n in (1, 2, 0.5)),  # type: ignore[misc]
    ),
    mistake("scaled-by-num_heads", (core(divisor=lambda head_dim, heads: math.sqrt(heads)),)),
    mistake("scaled-after-softmax", (_scaled_late, _output_scaled)),
    mistake("softmax-over-queries", (_over(-2), _over(-3), _over(1), _over(0))),
    mistake("attention-transposed", (core(mix=lambda weights, value: weights.mT @ value),)),
    mistake("scores-transposed", (core(score=lambda query, key: key @ query.mT),)),
    shared_mistake("transpose-forgotten", (core(score=lambda query, key: query @ key),)),
    shared_mistake("view-instead-of-transpose", (core(score=lambda query, key: query @ key_reshaped(key)),)),
    mistake("scores-returned", (lambda *args: (core()(*args)[0], core(weigh=lambda scores: scores)(*args)[1]),)),
    mistake("no-softmax", (core(weigh=lambda scores: scores),)),
    mistake("value-before-weights", (core(mix=lambda weights, value: value @ weights),)),
    mistake("output-and-weights-swapped", (lambda *args: core()(*args)[::-1],)),
    mistake(
        "weights-averaged",
        (
            core(shown=lambda weights, heads: weights.mean(-3)),
            core(shown=lambda weights, heads: weights.mean(-3, keepdim=True)),
        ),
    ),
)

VIEW_WITHOUT_CONTIGUOUS = mistake("view-without-contiguous", recognise=view_refused)


def wrapped(wrap: Callable[[Core], Callable[..., Any]], *mistakes: Mistake) -> tuple[Mistake, ...]:
    """The mistakes, whose variants are cores, with each core wrapped into a variant that takes the exercise's
    arguments."""
    return tuple(Mistake(m.id, m.symptom, m.hints, tuple(wrap(v) for v in m.variants)) for m in mistakes)


# --- reference --------------------------------------------------------------------------------------------------------


def pytorch_attention(
    inputs: tuple[Tensor, Tensor, Tensor],
    in_weight: Tensor,
    in_bias: Tensor,
    out_weight: Tensor,
    out_bias: Tensor,
    num_heads: int,
    mask: Tensor | None = None,
) -> Pair:
    """The output, (B, Tq, E), and the weights, (B, H, Tq, Tk), of PyTorch's own attention on query, key and value.
    `in_weight`, (3E, E), and `in_bias` stack their projections, as `nn.Linear` stores them. The mask is True where a
    query may attend; it is turned round, since PyTorch wants True where attention is not allowed."""
    query, key, value = (tensor.transpose(0, 1) for tensor in inputs)
    hidden = None
    if mask is not None:
        shape = (query.shape[1], num_heads, query.shape[0], key.shape[0])
        hidden = ~mask.expand(shape).flatten(0, 1)
    output, weights = F.multi_head_attention_forward(
        query,
        key,
        value,
        embed_dim_to_check=query.shape[-1],
        num_heads=num_heads,
        in_proj_weight=in_weight,
        in_proj_bias=in_bias,
        bias_k=None,
        bias_v=None,
        add_zero_attn=False,
        dropout_p=0.0,
        out_proj_weight=out_weight,
        out_proj_bias=out_bias,
        attn_mask=hidden,
        average_attn_weights=False,
    )
    assert weights is not None
    return output.transpose(0, 1), weights


def drawn_mask(draw: Draw, shape: tuple[int, ...]) -> Tensor:
    """A bool mask, True where a query may attend. Every row hides at least one key, so that inverting it leaves no row
    empty, and shows at least two (of two keys one): where only one is visible its weight is 1, whatever the query and
    the key. A single key is visible."""
    if shape[-1] == 1:
        return torch.ones(shape, dtype=torch.bool)
    mask = draw.uniform(shape) < 0.6
    order = draw.uniform(shape).argsort(-1)
    return mask.scatter(-1, order[..., :1], False).scatter(-1, order[..., 1:3], True)
