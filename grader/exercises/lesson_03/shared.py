"""What the exercises of lesson 03 share: sizes, cases and parts, a reference, and mistakes that many heads invite."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.spec import parts
from grader.spec.cases import Axes, Make, normal_entries, tensors
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Mistake, Part
from grader.spec.session import Session

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
) -> list[Case]:
    """Like `grader.spec.cases.standard`: one sequence in the first sizes, leading axes in the second. `first` makes the
    entries of the first case; `numbers` are the arguments after the tensors, each with the name of its size."""
    sizes, others = both

    def fifty(draw: Draw, _name: str, shape: tuple[int, ...]) -> Tensor:
        return draw.uniform(shape, -50, 50)

    cases = [
        tensors(draw, "one sequence", inputs, sizes, (), first or make),
        tensors(draw, "a batch", inputs, others, (others["B"],), make),
        tensors(draw, TWO_LEADING, inputs, others, (others["B"], others["G"]), make),
        tensors(draw, "float64", inputs, sizes, (sizes["B"],), make, torch.float64),
        tensors(draw, "entries up to 50", inputs, sizes, (sizes["B"],), fifty, comparable=False),
    ]
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
        parts.values("takes any leading axes", leading, "a batch", TWO_LEADING),
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
    dim: int = -1,
    hide: Callable[[Tensor, Tensor], Tensor] = may_attend,
    after: Callable[[Tensor, Tensor | None], Tensor] = lambda weights, mask: weights,
    shown: Callable[[Tensor, int], Tensor] = lambda weights, heads: weights,
    project: bool = True,
    one_head: bool = False,
    transposed: bool = False,
) -> Core:
    """Attention in heads with the given parts changed."""

    def attend(
        query: Tensor, key: Tensor, value: Tensor, out: Callable[[Tensor], Tensor], heads: int, mask: Tensor | None
    ) -> Pair:
        head_dim, used = query.shape[-1] // heads, 1 if one_head else heads
        q, k, v = (split(tensor, used) for tensor in (query, key, value))
        scores = q @ k.mT / divisor(head_dim, heads)
        if mask is not None:
            scores = hide(scores, mask)
        weights = after(torch.softmax(scores, dim), mask)
        mixed = merge((weights.mT if transposed else weights) @ v)
        return out(mixed) if project else mixed, shown(weights, heads)

    return attend


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
        "Take the width from the split query's last axis, and the right number comes by itself.",
    ),
    (core(divisor=lambda head_dim, heads: math.sqrt(head_dim * heads)),),
)

NO_SCALING = Mistake(
    "no-scaling",
    "the scores go into the softmax without being divided by the square root of head_dim.",
    (
        "Compare with the formula of lesson 01, factor by factor: what stands under the fraction line?",
        "Dot products grow with the width of the vectors; the division by sqrt(head_dim) undoes that.",
    ),
    (core(divisor=lambda head_dim, heads: 1.0),),
)

NO_OUTPUT_PROJECTION = Mistake(
    "no-output-projection",
    "the merged heads are returned as they are: the last projection is missing.",
    (
        "Four weights came in. Is every one of them used?",
        "After merging, one more linear map mixes what the heads found.",
    ),
    (core(project=False),),
)

VIEW_WITHOUT_TRANSPOSE = Mistake(
    "view-without-transpose",
    "the heads were made by `view` alone, so each holds pieces of several tokens.",
    (
        "Try your split on a numbered tensor: does row t of every head come from token t?",
        "Cut the last axis into heads where it stands, then swap the head and token axes.",
    ),
    (core(split_by_view), core(split_by_view, merge_by_view)),
)

MERGE_WITHOUT_TRANSPOSE = Mistake(
    "merge-without-transpose",
    "the heads were flattened where they stood, in front of the tokens, so a token's row holds pieces of "
    "several tokens.",
    (
        "The weights are right, the output isn't: look at what happens between the two.",
        "Bring the head axis next to head_dim before you join them.",
    ),
    (core(merge=merge_by_view),),
)

ONE_HEAD_ONLY = Mistake(
    "one-head-only",
    "the whole width is treated as one head: num_heads changes nothing.",
    (
        "Where in your code does num_heads matter?",
        "Split query, key and value into heads before you take any dot product.",
    ),
    ONE_HEAD,
)

FURTHER = (
    Mistake(
        "heads-last",
        "the last axis is cut as (head_dim, num_heads), so each head takes every num_heads-th feature.",
        (
            "Which features should head 0 have: 0, 1, 2, … or every second or third one?",
            "In the cut the heads are the slow axis, head_dim the fast one.",
        ),
        (core(split_heads_last), core(split_heads_last, merge_interleaved)),
    ),
    Mistake(
        "heads-interleaved",
        "the heads are merged number by number; each should stay in one piece.",
        ("The weights are right, the output isn't. Does your merge undo your split, on a numbered tensor?",),
        (core(merge=merge_interleaved),),
    ),
    Mistake(
        "scale-multiplied",
        "the scores are multiplied by the square root of head_dim where they should be divided.",
        (
            "Your weights are far too sharp. In which direction does your scale work?",
            "`x / d ** -0.5` multiplies: the two minus signs cancel.",
        ),
        (core(divisor=lambda head_dim, heads: head_dim**-0.5),),
    ),
    Mistake(
        "scaled-by-head_dim",
        "the scores are divided by head_dim itself, not by its square root.",
        ("Look at the divisor once more: a square root is missing.",),
        (core(divisor=lambda head_dim, heads: float(head_dim)),),
    ),
    Mistake(
        "softmax-over-queries",
        "the softmax runs over the wrong axis: the weights of one query don't sum to one.",
        (
            "Sum your weights over the last axis. Every query should have 1 to share out among the keys.",
            "Four axes now: count from the end, and the keys are always the last.",
        ),
        (core(dim=-2), core(dim=-3), core(dim=1), core(dim=0)),
    ),
    Mistake(
        "attention-transposed",
        "the transposed weights are multiplied with the values.",
        ("Write the shapes under your last product: which axis is summed over? It should be the keys'.",),
        (core(transposed=True),),
    ),
    Mistake(
        "weights-averaged",
        "the weights are averaged over the heads; here each head's own table is asked for.",
        (
            "The output is right. Which axis is missing in the weights?",
            "`nn.MultiheadAttention` averages by default, too; here every head's table is wanted.",
        ),
        (
            core(shown=lambda weights, heads: weights.mean(-3)),
            core(shown=lambda weights, heads: weights.mean(-3, keepdim=True)),
        ),
    ),
)

VIEW_WITHOUT_CONTIGUOUS = Mistake(
    "view-without-contiguous",
    "`view` refuses to run after a transpose: the numbers don't lie in memory in the order of the axes.",
    (
        "The transpose is right, so keep it. It is the `view` that needs something first.",
        "`.contiguous()` copies the numbers into the order of the axes; `.reshape` does so if it must.",
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
    keys one): where only one is visible its weight is 1, whatever the query and the key."""
    mask = draw.uniform(shape) < 0.6
    order = draw.uniform(shape).argsort(-1)
    return mask.scatter(-1, order[..., :1], False).scatter(-1, order[..., 1:3], True)
