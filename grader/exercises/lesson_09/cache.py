"""`attend_with_cache`: causal attention that goes on where it stopped, with the keys and values kept so far."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_09.cache_parts import (
    ALL,
    KEPT,
    ONE,
    OUTPUT,
    OUTPUTS,
    PROMPT,
    SEVERAL,
    finite,
    float64,
    gradients,
    inspect,
    part,
    unchanged,
)
from grader.exercises.lesson_09.shared import LESSON, one_of
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Exercise, Mistake, Part
from grader.spec.session import Session
from grader.tolerance import FLOAT32

Cache = tuple[Tensor, Tensor] | None
Three = tuple[Tensor, Tensor, Tensor]


def reference(query: Tensor, key: Tensor, value: Tensor, cache: Cache) -> Three:
    """PyTorch's own attention to all keys, told by a mask which of them come later."""
    keys, values = (
        (key, value) if cache is None else (torch.cat(pair, 2) for pair in zip(cache, (key, value), strict=True))
    )
    new, held = query.shape[2], keys.shape[2]
    may_attend = torch.ones(new, held, dtype=torch.bool).tril(held - new)
    return F.scaled_dot_product_attention(query, keys, values, attn_mask=may_attend), keys, values


def _case(draw: Draw, name: str, new: int, past: int, heads: int, make: Callable[..., Tensor], **more: Any) -> Case:
    sizes = draw.sizes("D", B=5 - heads, H=heads, T=new, S=new + past)
    shape = (sizes["B"], sizes["H"])
    dtype = more.pop("dtype", torch.float32)
    fresh = {arg: make((*shape, new, sizes["D"])).to(dtype) for arg in ("query", "key", "value")}
    kept = tuple(make((*shape, past, sizes["D"])).to(dtype) for _ in range(2)) if past else None
    return Case(name, {**fresh, "cache": kept}, sizes, **more)


def _cases(draw: Draw) -> list[Case]:
    def fifty(shape: tuple[int, ...]) -> Tensor:
        return draw.uniform(shape, -50, 50)

    heads = one_of(draw, 2, 3)
    past, new = one_of(draw, 7, 8), one_of(draw, 5, 6)
    return [
        _case(draw, PROMPT, new, 0, heads, draw.normal),
        _case(draw, ONE, 1, past, heads, draw.normal),
        _case(draw, SEVERAL, new, past, 5 - heads, draw.normal),
        _case(draw, "float64", 3, past, heads, draw.normal, dtype=torch.float64),
        _case(draw, "entries up to 50", 3, past, heads, fifty, comparable=False),
        _case(draw, "as many new tokens as old ones", new, new, heads, draw.normal, diagnostic=True),
    ]


# --- wrong on purpose -------------------------------------------------------------------------------------------------

Visible = Callable[[int, int], Tensor]


def _past_and_present(new: int, held: int) -> Tensor:
    return torch.ones(new, held, dtype=torch.bool).tril(held - new)


def variant(
    visible: Callable[[bool], Visible] = lambda first: _past_and_present,
    joined: Callable[[Tensor, Tensor], Tensor] = lambda past, new: torch.cat((past, new), 2),
    kept: Callable[[Cache, Three], Any] = lambda cache, new: new[1:],
    seen: Callable[[Three, Three], Three] = lambda new, all_: all_,
    scale: float | None = None,
) -> Callable[..., Any]:
    """A cached attention that differs from the right one in what is named. `visible` is told whether it is the first
    call; `kept` makes the cache, and `seen` what is attended to, from the new tensors and from all."""

    def wrong(query: Tensor, key: Tensor, value: Tensor, cache: Cache) -> Any:
        new = (query, key, value)
        all_ = new if cache is None else (query, joined(cache[0], key), joined(cache[1], value))
        _, keys, values = seen(new, all_)
        mask = visible(cache is None)(query.shape[2], keys.shape[2])
        return F.scaled_dot_product_attention(query, keys, values, attn_mask=mask, scale=scale), kept(cache, all_)

    return wrong


def _everything(new: int, held: int) -> Tensor:
    return torch.ones(new, held, dtype=torch.bool)


def _top_left(new: int, held: int) -> Tensor:
    return torch.ones(new, held, dtype=torch.bool).tril()


def _only_new(query: Tensor, key: Tensor, value: Tensor, cache: Cache) -> Any:
    """All is attended to, the new part is kept."""
    return variant()(query, key, value, cache)[0], (key, value)


def _forgets(query: Tensor, key: Tensor, value: Tensor, cache: Cache) -> Any:
    """The cache is neither looked at nor extended."""
    return variant()(query, key, value, None)[0], (key, value)


def _looks_at_new(query: Tensor, key: Tensor, value: Tensor, cache: Cache) -> Any:
    """The cache is extended but not looked at."""
    return variant()(query, key, value, None)[0], variant()(query, key, value, cache)[1]


def _old_only(query: Tensor, key: Tensor, value: Tensor, cache: Cache) -> Any:
    """What came in as cache goes out."""
    return variant()(query, key, value, cache)[0], cache if cache is not None else (key, value)


def _old_or_none(query: Tensor, key: Tensor, value: Tensor, cache: Cache) -> Any:
    return variant()(query, key, value, cache)[0], cache


def _looks_at_old(query: Tensor, key: Tensor, value: Tensor, cache: Cache) -> Any:
    """Behind a cache, the new keys and values are neither looked at nor kept."""
    if cache is None:
        return variant()(query, key, value, None)
    return F.scaled_dot_product_attention(query, *cache), cache


def _new_seen_old_kept(query: Tensor, key: Tensor, value: Tensor, cache: Cache) -> Any:
    return variant()(query, key, value, None)[0], cache if cache is not None else (key, value)


EXCEPT = re.compile(r"Sizes of tensors must match except in dimension (\d)")


def _joined_elsewhere(session: Session) -> bool:
    """`torch.cat` refused, and the axis that it was told isn't the tokens'."""
    outcomes = (session.call(session.cases[name]) for name in (ONE, SEVERAL))
    said = [o.raised.message for o in outcomes if o.raised is not None]
    found = [EXCEPT.search(message) for message in said]
    return any(match is not None and match[1] != "2" for match in found) or any(
        "stack expects each tensor to be equal size" in message for message in said
    )


def _square_mask(session: Session) -> bool:
    """Right in a prompt; behind a cache, a mask of new by new tokens doesn't fit the table of new by all."""
    case = session.cases[SEVERAL]
    raised, new, past = session.call(case).raised, case.args["query"].shape[2], case.args["cache"][0].shape[2]
    unfit = raised is not None and all(f"({size})" in raised.message for size in (new, past + new))
    return unfit and inspect(session, PROMPT, OUTPUT, FLOAT32) is None


ATTEND_WITH_CACHE = Exercise(
    name="attend_with_cache",
    lesson=LESSON,
    points=4,
    signature=("query", "key", "value", "cache"),
    outputs=OUTPUTS,
    cases=_cases,
    reference=reference,
    parts=(
        part("returns an output and a cache of the right shapes", 1, ALL, PROMPT, ONE, tolerance=None),
        part("attends causally in a prompt", 3, OUTPUT, PROMPT),
        part("attends to all that came before, one token at a time", 3, OUTPUT, ONE),
        part("attends causally with several tokens behind a cache", 3, OUTPUT, SEVERAL),
        part("keeps old and new keys and values, in order", 3, KEPT, PROMPT, ONE, SEVERAL),
        Part("stays finite at large entries", 0.5, finite, compares_values=False),
        Part("keeps the dtype, float32 and float64", 0.5, float64),
        Part("leaves its arguments as they were", 0.5, unchanged, compares_values=False),
        Part("lets gradients flow", 1, gradients),
    ),
    mistakes=(
        Mistake(
            "not-causal-behind-cache",
            "a prompt is causal, but of several tokens that come behind a cache the earlier see the later ones.",
            (
                "When do you hide anything? Does it depend on whether there is a cache?",
                "Write down, for 3 new tokens behind 2 old ones, which of the 5 keys each of them may see.",
            ),
            (variant(lambda first: _past_and_present if first else _everything),),
        ),
        Mistake(
            "prompt-not-causal",
            "several tokens come at once, and the earlier of them see the later ones.",
            (
                "A token alone has nothing behind it. What about the first of five that come together?",
                "Write down, for 3 new tokens behind 2 old ones, which of the 5 keys each of them may see.",
            ),
            (
                variant(lambda first: _everything),
                variant(lambda first: _everything if first else _past_and_present),
            ),
        ),
        Mistake(
            "mask-aligned-to-top-left",
            "the mask counts the new tokens from 0, as if nothing came before them.",
            (
                "Print your mask for one new token behind four old ones. How many True should its only row hold?",
                "The first new token is not token 0. Which position has it, and by how many columns is the triangle "
                "shifted?",
            ),
            (variant(lambda first: _top_left),),
            recognise=_square_mask,
        ),
        Mistake(
            "cache-not-extended",
            "the cache doesn't grow: old or new keys and values are missing from it.",
            (
                "Call it three times, one token each, and print the shape of the cache after each call.",
                "What you attend to and what you hand back are the same two tensors, all tokens so far.",
            ),
            (_only_new, _forgets, _looks_at_new, _old_only, _old_or_none, _looks_at_old, _new_seen_old_kept),
        ),
        Mistake(
            "wrong-axis",
            "old and new are joined along an axis that isn't the tokens'.",
            (
                "The shapes are (B, H, T, D). Which of the four grows by one when one more token comes?",
                "Count that axis: from the front it is the third, and the first is number 0.",
            ),
            recognise=_joined_elsewhere,
        ),
        Mistake(
            "new-before-old",
            "the new keys and values are put in front of the old ones.",
            ("Tokens stand in the order in which they came. Look at the order in your `torch.cat`.",),
            (
                variant(joined=lambda past, new: torch.cat((new, past), 2)),
                variant(lambda first: _everything, joined=lambda past, new: torch.cat((new, past), 2)),
            ),
        ),
        Mistake(
            "key-and-value-swapped",
            "the cache holds the values where the keys should be.",
            ("The cache is (key, value), in this order. Look at your `return` line, and at where you unpack it.",),
            (variant(kept=lambda cache, all_: (all_[2], all_[1])),),
        ),
        Mistake(
            "no-scaling",
            "the scores go into the softmax without being divided by the square root of head_dim.",
            ("Compare with the formula of lesson 01, factor by factor: what stands under the fraction line?",),
            (variant(scale=1.0),),
        ),
    ),
)
