"""What the exercises of lesson 03 share: sizes, cases and parts, a reference, and mistakes that many heads invite."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_01.attention_scores import TRANSPOSE_FORGOTTEN, VIEW_INSTEAD_OF_TRANSPOSE, key_reshaped
from grader.spec import compare, parts
from grader.spec.cases import LENGTH_ONE, Axes, Make, length_one, normal_entries, tensors
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Mistake, Part
from grader.spec.session import Session
from grader.tolerance import FLOAT32

LESSON = "03_multi_head_attention"
TWO_LEADING = "two leading axes"


def head_sizes(draw: Draw, *others: str, but: int = 1) -> dict[str, int]:
    """Distinct sizes with E = H * D and several heads, but not `but` many; G is a second leading axis."""
    heads = _one_of(draw, [n for n in ((2, 3, 5, 6) if draw.larger else (2, 3, 5)) if n != but])
    width = _one_of(draw, [n for n in ((3, 5, 7, 8, 10) if draw.larger else (3, 5, 6)) if n != heads])
    return draw.sizes("B", "G", *others, H=heads, D=width, E=heads * width)


def two_head_sizes(draw: Draw, *others: str) -> tuple[dict[str, int], dict[str, int]]:
    """Two draws with different numbers of heads and widths, so that no fixed number fits both."""
    first = second = head_sizes(draw, *others)
    while second["E"] == first["E"]:
        second = head_sizes(draw, *others, but=first["H"])
    return first, second


def _one_of(draw: Draw, numbers: Sequence[int]) -> int:
    return numbers[draw.integer(0, len(numbers))]


def numbered(_draw: Draw, _name: str, shape: tuple[int, ...]) -> Tensor:
    """0, 1, 2, … in order: a learner sees where an entry went."""
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
    """Like `grader.spec.cases.standard`: one sequence in the first sizes, leading axes in the second. `first` makes the
    entries of the first case; `numbers` are the arguments after the tensors, each with the name of its size. `square`
    adds a diagnostic case with as many tokens as a head is wide: there a forgotten transpose runs."""
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
    """Like `grader.spec.parts.usual`, on the cases of `with_leading_axes`. `finite`: with a part for large entries."""
    large = (parts.finite("stays finite at large entries", 0.5, "entries up to 50"),) if finite else ()
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
    """Wrongly: straight to (num_heads, seq_len, head_dim)."""
    return x.reshape(*x.shape[:-2], num_heads, x.shape[-2], x.shape[-1] // num_heads)


def view_refused(session: Session) -> bool:
    """Whether `view` refused to run because a transpose came before it."""
    outcomes = (session.call(case) for case in session.real_cases())
    return any(o.raised is not None and "view size is not compatible" in o.raised.message for o in outcomes)


def filled_too_high(session: Session, cases: Sequence[Case], hidden: Callable[[Case], Tensor]) -> bool:
    """Whether hidden scores got one number that is not low enough: in each row hidden keys have the same weight, and
    the others share the rest as they should. `hidden` tells where keys are hidden."""
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
    """Rightly: runs of columns."""
    return x.unflatten(-1, (num_heads, -1)).transpose(-3, -2)


def merge(x: Tensor) -> Tensor:
    """Rightly: the heads side by side."""
    return x.transpose(-3, -2).flatten(-2)


def split_heads_last(x: Tensor, num_heads: int) -> Tensor:
    """Wrongly: every num_heads-th column."""
    return x.unflatten(-1, (-1, num_heads)).movedim(-1, -3)


def merge_by_view(x: Tensor) -> Tensor:
    """Wrongly: straight to (seq_len, d_model)."""
    return x.reshape(*x.shape[:-3], x.shape[-2], -1)


def merge_interleaved(x: Tensor) -> Tensor:
    """Wrongly: the heads alternate."""
    return x.movedim(-3, -1).flatten(-2)


def may_attend(scores: Tensor, mask: Tensor) -> Tensor:
    """Rightly: minus infinity where the mask is False."""
    return scores.masked_fill(~mask, -math.inf)


def root_of_head_dim(head_dim: int, num_heads: int) -> float:
    """The right divisor of the scores."""
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
    """Attention in heads with the given parts changed."""

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
    """Wrongly: divided after the softmax."""
    root = math.sqrt(query.shape[-1] // heads)
    attend = core(divisor=lambda head_dim, heads: 1.0, after=lambda weights, mask: weights / root)
    return attend(query, key, value, out, heads, mask)


def _output_scaled(
    query: Tensor, key: Tensor, value: Tensor, out: Callable[[Tensor], Tensor], heads: int, mask: Tensor | None
) -> Pair:
    """Wrongly: the output of the heads is divided, the weights are shown as they were."""
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
SCALED_BY_D_MODEL = Mistake(
    "scaled-by-d_model",
    "the scores are divided by the square root of d_model; each head's vectors are only head_dim wide.",
    (
        "How wide are the vectors whose dot product you take inside one head?",
        "Print the shape of your query after the split. Over which axis does the dot product sum?",
    ),
    (core(divisor=lambda head_dim, heads: math.sqrt(head_dim * heads)),),
)

NO_SCALING = Mistake(
    "no-scaling",
    "the scores go into the softmax without being divided by the square root of head_dim.",
    (
        "Compare with the formula of lesson 01, factor by factor: what is under the fraction line?",
        "Dot products grow with the width of the vectors; the division by sqrt(head_dim) undoes that.",
    ),
    (core(divisor=lambda head_dim, heads: 1.0),),
)

NO_OUTPUT_PROJECTION = Mistake(
    "no-output-projection",
    "the merged heads are returned as they are: the last projection is missing.",
    (
        "There are four weight matrices. Is every one of them used?",
        "Up to the merge no head knows of the others. What lets them mix?",
    ),
    (core(project=False),),
)

VIEW_WITHOUT_TRANSPOSE = Mistake(
    "view-without-transpose",
    "the heads were made by `view` alone, so each holds pieces of several tokens.",
    (
        "Try your split on a numbered tensor: does row t of every head come from token t?",
        "`view` may only cut the last axis into heads. Which step brings the heads in front of the tokens?",
    ),
    (core(split_by_view), core(split_by_view, merge_by_view)),
)

MERGE_WITHOUT_TRANSPOSE = Mistake(
    "merge-without-transpose",
    "the heads were joined while they were in front of the tokens, so a token's row holds pieces of several tokens.",
    (
        "The weights are right, the output isn't: look at what happens between the two.",
        "Only neighbouring axes can be joined. Which axis must be next to head_dim before you join?",
    ),
    (core(merge=merge_by_view),),
)

ONE_HEAD_ONLY = Mistake(
    "one-head-only",
    "the whole width is treated as one head: num_heads changes nothing.",
    (
        "Where in your code does num_heads matter?",
        "Print the shape of your scores: is there an axis for the heads?",
    ),
    ONE_HEAD,
)

FURTHER = (
    Mistake(
        "heads-last",
        "the last axis is cut as (head_dim, num_heads), so each head takes every num_heads-th feature.",
        (
            "Which features should head 0 have: 0, 1, 2, … or every second or third one?",
            "Head 0 owns neighbouring features. In which order must the two new axes come?",
        ),
        (core(split_heads_last), core(split_heads_last, merge_interleaved)),
    ),
    Mistake(
        "heads-interleaved",
        "the heads are merged number by number; each should stay in one piece.",
        (
            "The weights are right, the output isn't. Look at what happens between the two.",
            "Does your merge undo your split, on a numbered tensor?",
        ),
        (core(merge=merge_interleaved),),
    ),
    Mistake(
        "scale-multiplied",
        "the scores are multiplied by the square root of head_dim; they should be divided.",
        (
            "Your weights are far too sharp. In which direction does your scale work?",
            "Watch the sign of an exponent: `x / d ** -0.5` makes x larger.",
        ),
        (core(divisor=lambda head_dim, heads: head_dim**-0.5),),
    ),
    Mistake(
        "scaled-by-head_dim",
        "the scores are divided by head_dim itself, or by twice or half of it, not by its square root.",
        (
            "Print your divisor, or follow it: is it the square root of head_dim? And is there only one division?",
            "A square root is missing, or the division happens twice: once before the product, once after it. And "
            "Python takes powers before it divides: what is `9 ** 1/2`?",
        ),
        tuple(core(divisor=lambda head_dim, heads, n=n: n * head_dim) for n in (1, 2, 0.5)),  # type: ignore[misc]
    ),
    Mistake(
        "scaled-by-num_heads",
        "the scores are divided by the square root of num_heads; it is the width of a head that counts.",
        (
            "Why are scores divided at all? Which number makes dot products grow?",
            "Over how many products does one dot product inside a head sum?",
        ),
        (core(divisor=lambda head_dim, heads: math.sqrt(heads)),),
    ),
    Mistake(
        "scaled-after-softmax",
        "the division by the square root of head_dim comes after the softmax, where it spoils the sums.",
        (
            "Add up one row of the weights that you multiply with the values. What should the sum be?",
            "The softmax makes every row sum to one. Which of your steps after it changes that sum?",
        ),
        (_scaled_late, _output_scaled),
    ),
    Mistake(
        "softmax-over-queries",
        "the softmax runs over the wrong axis: the weights of one query don't sum to one.",
        (
            "Sum your weights over the last axis. What should each row give?",
            "With heads there is one axis more. Counted from the end, which one is always the keys'?",
        ),
        (_over(-2), _over(-3), _over(1), _over(0)),
    ),
    Mistake(
        "attention-transposed",
        "the transposed weights are multiplied with the values.",
        (
            "Write the shapes under that product: which axis is summed over? It should be the keys'.",
            "Row i of the weights belongs to query i and has an entry for every key. What do the rows of the values "
            "belong to?",
        ),
        (core(mix=lambda weights, value: weights.mT @ value),),
    ),
    Mistake(
        "scores-transposed",
        "rows and columns of the scores are swapped: in each head a row belongs to a key.",
        (
            "With 3 queries and 5 keys, how many rows should a head's scores have?",
            "Which factor gives a product its rows? And if you call a function of your own: in which order does it "
            "take query and key?",
        ),
        (core(score=lambda query, key: key @ query.mT),),
    ),
    Mistake(*TRANSPOSE_FORGOTTEN, (core(score=lambda query, key: query @ key),)),
    Mistake(*VIEW_INSTEAD_OF_TRANSPOSE, (core(score=lambda query, key: query @ key_reshaped(key)),)),
    Mistake(
        "scores-returned",
        "the output is right, but the second result holds the scores, not the weights.",
        (
            "What does a row of your second result sum to? What should it?",
            "Look at your `return` line: which of your variables holds what the softmax gave?",
        ),
        (lambda *args: (core()(*args)[0], core(weigh=lambda scores: scores)(*args)[1]),),
    ),
    Mistake(
        "no-softmax",
        "the scores are used as weights: no softmax acts between them and the values.",
        (
            "What do the rows that you multiply with the values sum to? Is every entry positive?",
            "Which step of lesson 01 turns scores into weights?",
        ),
        (core(weigh=lambda scores: scores),),
    ),
    Mistake(
        "value-before-weights",
        "in each head the values come before the weights in the product.",
        (
            "Write the shapes under that product: which axes meet, and which are left?",
            "One row of weights mixes the rows of the values. The rows of a product come from its left factor.",
        ),
        (core(mix=lambda weights, value: value @ weights),),
    ),
    Mistake(
        "output-and-weights-swapped",
        "both results are right, but in the wrong order.",
        ("In which order does the docstring list the two results?", "Look at your `return` line: what comes first?"),
        (lambda *args: core()(*args)[::-1],),
    ),
    Mistake(
        "weights-averaged",
        "the weights are averaged over the heads; here each head's own table is asked for.",
        (
            "The output is right. Which axis is missing in the weights?",
            "`nn.MultiheadAttention` averages by default, too. Here every head's table is asked for.",
        ),
        (
            core(shown=lambda weights, heads: weights.mean(-3)),
            core(shown=lambda weights, heads: weights.mean(-3, keepdim=True)),
        ),
    ),
)

VIEW_WITHOUT_CONTIGUOUS = Mistake(
    "view-without-contiguous",
    "`view` can't run right after a transpose: the numbers in memory are not in the order of the axes.",
    (
        "The transpose is right, so keep it. It is the `view` that needs something first.",
        "Section 3 of lesson 03 shows two ways: one copies the numbers before the `view`, one replaces the `view`.",
    ),
    recognise=view_refused,
)


def wrapped(wrap: Callable[[Core], Callable[..., Any]], *mistakes: Mistake) -> tuple[Mistake, ...]:
    """The mistakes with each core wrapped into a variant that takes the exercise's arguments."""
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
    """PyTorch's own, for (B, T, E). It gets a mask for each batch and head, True where attention is not allowed."""
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
    """Every row hides at least one key, so that inverting the mask leaves no row empty, and shows at least two (of two
    keys one): where only one is visible its weight is 1, whatever the query and the key. A single key is visible."""
    if shape[-1] == 1:
        return torch.ones(shape, dtype=torch.bool)
    mask = draw.uniform(shape) < 0.6
    order = draw.uniform(shape).argsort(-1)
    return mask.scatter(-1, order[..., :1], False).scatter(-1, order[..., 1:3], True)
