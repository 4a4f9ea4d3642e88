"""What the exercises of lesson 11 share: sizes and parameters of a GPT, its block right and wrong, parts for ids."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_06.apply_rope import reference as turned
from grader.exercises.lesson_07.shared import below, block_state, norm_state
from grader.exercises.lesson_07.variants import Attention, Block, Layer
from grader.spec import compare, parts
from grader.spec.draw import Draw
from grader.spec.exercise import Finding, Part, Setup, not_judged
from grader.spec.session import Session
from grader.tolerance import FLOAT32

State = dict[str, Tensor]


def whole_numbers(case: str, weight: float = 0.5) -> Part:
    """A part that passes if the case's tensors are int64: an embedding and a cross-entropy take nothing else. It waits
    until the values are right."""

    def judge(session: Session) -> Finding | None:
        if parts.inspect_call(session, session.cases[case], FLOAT32) is not None:
            return not_judged("values-first")
        return compare.dtypes(list(session.call(session.cases[case]).value), session.exercise, torch.int64)

    return Part("keeps the integer dtype", weight, judge, compares_values=False)


# --- a model: sizes and parameters ------------------------------------------------------------------------------------


def rotary_sizes(draw: Draw, *others: str, but: int) -> dict[str, int]:
    """Distinct sizes by axis, with E = H * D, an even D (rotary positions turn pairs), 6 tokens or more and not `but`
    heads. `others` are further axes."""
    heads = [n for n in (2, 3, 5) if n != but][draw.integer(0, 2)]
    width = (6, 8, 10)[draw.integer(0, 3)]
    length = (7, 11, 13)[draw.integer(0, 3)]
    return draw.sizes("B", "F", *others, H=heads, D=width, E=heads * width, T=length)


def two_sizes(draw: Draw, *others: str) -> tuple[dict[str, int], dict[str, int]]:
    """Two draws of sizes with different heads and widths, so that no fixed number fits both. `others` are further
    axes."""
    first = second = rotary_sizes(draw, *others, but=2)
    while second["E"] == first["E"] or second["F"] == first["F"]:
        second = rotary_sizes(draw, *others, but=first["H"])
    return first, second


def gpt_state(draw: Draw, sizes: Mapping[str, int]) -> State:
    """The parameters of a `GPT` of `sizes["L"]` blocks, by name; its embedding is also the weight of its head."""
    table = draw.normal((sizes["V"], sizes["E"]), sizes["E"] ** -0.5)
    state = {"token_embedding.weight": table, "head.weight": table}
    for block in range(sizes["L"]):
        state |= block_state(draw, f"blocks.{block}.", sizes["E"], sizes["F"])
    return state | norm_state(draw, "norm", sizes["E"])


# --- what a block and a model should give -----------------------------------------------------------------------------


def _linear(state: Mapping[str, Tensor], name: str, x: Tensor) -> Tensor:
    return F.linear(x, state[f"{name}.weight"], state[f"{name}.bias"])


def _norm(state: Mapping[str, Tensor], name: str, x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], state[f"{name}.weight"], state[f"{name}.bias"])


def block(state: Mapping[str, Tensor], heads: int, x: Tensor, kept: float = 1.0) -> Tensor:
    """A pre-norm block (Xiong et al. 2020, figure 1b) with PyTorch's attention, for `x` (B, T, E), in the same shape.
    `kept` is the share that dropout leaves of what a sub-layer adds."""
    normed = _norm(state, "norm1", x)
    query, key, value = (
        _linear(state, f"attention.{name}_proj", normed).unflatten(-1, (heads, -1)).transpose(1, 2) for name in "qkv"
    )
    places = torch.arange(x.shape[1])
    attended = F.scaled_dot_product_attention(turned(query, places), turned(key, places), value, is_causal=True)
    x = x + kept * _linear(state, "attention.out_proj", attended.transpose(1, 2).flatten(2))
    inner = F.relu(_linear(state, "feed_forward.linear1", _norm(state, "norm2", x)))
    return x + kept * _linear(state, "feed_forward.linear2", inner)


# --- wrong on purpose -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rotary(Attention):
    """The attention of a block, (B, T, E), with query, key and value all made from its query. `turns`: whether
    queries and keys get their positions; `causal`: "yes" hides later tokens, "no" nothing, "too much" the token
    itself as well."""

    turns: bool = True
    causal: str = "yes"

    def __call__(
        self, state: Mapping[str, Tensor], heads: int, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
    ) -> Tensor:
        q, k, v = (_linear(state, f"{name}_proj", query).unflatten(-1, (heads, -1)).transpose(1, 2) for name in "qkv")
        length = query.shape[1]
        if self.turns:
            q, k = turned(q, torch.arange(length)), turned(k, torch.arange(length))
        visible = torch.ones(length, length, dtype=torch.bool)
        visible = visible.tril(-1 if self.causal == "too much" else 0) if self.causal != "no" else visible
        scores = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~visible, -math.inf)
        return _linear(state, "out_proj", (scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


PRE_NORM = Block(first=Layer("norm1", "pre"), second=Layer("norm2", "pre"), attention=Rotary())


@dataclass(frozen=True)
class Alone:
    """A block of one input, `x` (B, T, E), as `GPTBlock` is: it is value, key and query."""

    block: Block = PRE_NORM

    def __call__(self, setup: Setup, x: Tensor) -> Tensor:
        return self.block(setup, x, x, x)


def blocks_of(state: Mapping[str, Tensor], layers: int) -> list[dict[str, Tensor]]:
    """The parameters of each of the `layers` blocks of a model, in order."""
    return [below(state, f"blocks.{layer}.") for layer in range(layers)]
