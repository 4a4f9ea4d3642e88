"""The layers of a Transformer for lesson 07, wrong on purpose: each is right except for the fields that are changed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_07.shared import below, drops, source_mask, target_mask
from grader.spec.exercise import Setup

State = Mapping[str, Tensor]
Mask = Tensor | None
Function = Callable[[Tensor], Tensor]

# What is dropped: the sub-layer's output, its sum with the residual, the norm's output, what goes into the sub-layer;
# "twice": its output and the norm's.
Where = Literal["output", "sum", "norm", "twice", "input", "nowhere"]


def linear(state: State, name: str, x: Tensor) -> Tensor:
    """The linear layer whose weight and bias are in the state under `name`: `x` (..., in) gives (..., out)."""
    return F.linear(x, state[f"{name}.weight"], state[f"{name}.bias"])


def norm(state: State, name: str, x: Tensor) -> Tensor:
    """The LayerNorm whose weight and bias are in the state under `name`, over the last axis of `x`; the shape stays."""
    return F.layer_norm(x, x.shape[-1:], state[f"{name}.weight"], state[f"{name}.bias"])


def dropper(setup: Setup, position: int) -> Function:
    """The dropout of a setup, as a function of a tensor: zeros where everything is dropped. `position` is its place
    among the constructor's arguments."""
    if drops(setup, position):
        return torch.zeros_like
    strength = setup.init[position] if setup.training and len(setup.init) > position else 0.0
    return lambda x: F.dropout(x, strength)


@dataclass(frozen=True)
class Attention:
    """A multi-head attention, right unless a field is changed. `masked`: what becomes of the mask, "yes" (obeyed), "no"
    (ignored) or "inverted"; `root`: the width whose root divides the scores, "head" or "model"."""

    masked: str = "yes"
    root: str = "head"

    def __call__(self, state: State, heads: int, query: Tensor, key: Tensor, value: Tensor, mask: Mask) -> Tensor:
        inputs = {"q_proj": query, "k_proj": key, "v_proj": value}
        q, k, v = (linear(state, name, x).unflatten(-1, (heads, -1)).transpose(1, 2) for name, x in inputs.items())
        scores = q @ k.mT / math.sqrt(q.shape[-1] if self.root == "head" else query.shape[-1])
        if mask is not None and self.masked != "no":
            scores = scores.masked_fill(mask if self.masked == "inverted" else ~mask, -math.inf)
        return linear(state, "out_proj", (scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


@dataclass(frozen=True)
class Layer:
    """A sub-layer with its norm (`norm` is the norm's name), residual and dropout. `order`: "post", "pre", "first"
    (like "pre", but the normalised input is added), "before" (norm before the addition) or "none" (no norm). `drop`:
    what is dropped, the sub-layer's "output" or "input", the "sum", the "norm"'s output, "twice" (output and norm's) or
    "nowhere"."""

    norm: str
    order: str = "post"
    drop: Where = "output"

    def __call__(self, state: State, residual: Tensor | None, x: Tensor, run: Function, drop: Function) -> Tensor:
        """The output, (B, T, E) as `x`, the sub-layer's input. `run` is the sub-layer, `drop` its dropout, and
        `residual` is added unless it is None."""
        x = drop(x) if self.drop == "input" else x
        output = run(norm(state, self.norm, x) if self.order in ("pre", "first") else x)
        if self.order == "first" and residual is not None:
            residual = norm(state, self.norm, residual)
        if self.order == "before":
            output = norm(state, self.norm, output)
        total = drop(output) if self.drop in ("output", "twice") else output
        total = total if residual is None else residual + total
        total = drop(total) if self.drop == "sum" else total
        total = norm(state, self.norm, total) if self.order == "post" else total
        return drop(total) if self.drop in ("norm", "twice") else total


Inputs = tuple[str, str, str]


@dataclass(frozen=True)
class Block:
    """A `TransformerBlock`, right unless a field is changed."""

    attends: Inputs = ("query", "key", "value")  # the attention's query, key and value
    given: Inputs = ("value", "key", "query")  # the order of the arguments
    adds: tuple[str, str] = ("query", "x")  # what each sub-layer's output is added to; "": nothing
    feeds: str = "x"  # what goes into the second sub-layer
    first: Layer = Layer("norm1")
    second: Layer = Layer("norm2")
    normed: bool = False  # pre-norm for key and value too
    attention: Attention = Attention()
    activation: Function = F.relu
    at_end: Function | None = None  # after the last linear layer

    def __call__(self, setup: Setup, value: Tensor, key: Tensor, query: Tensor, mask: Mask = None) -> Tensor:
        return self.run(setup.state, setup.init[1], dropper(setup, 3), value, key, query, mask)

    def run(self, state: State, heads: int, drop: Function, *args: Any) -> Tensor:
        """The output with the parameters of `state`; `drop` is the dropout. `args` are value, key and query, (B, T, E)
        each, and perhaps a mask."""
        tensors = dict(zip(self.given, args[:3], strict=True))
        mask, attention_state = args[3] if len(args) > 3 else None, below(state, "attention.")

        def attend(query: Tensor) -> Tensor:
            keys_and_values = (tensors[name] for name in self.attends[1:])
            key, value = (norm(state, self.first.norm, x) if self.normed else x for x in keys_and_values)
            return self.attention(attention_state, heads, query, key, value, mask)

        def forward(x: Tensor) -> Tensor:
            output = linear(state, "feed_forward.linear2", self.activation(linear(state, "feed_forward.linear1", x)))
            return output if self.at_end is None else self.at_end(output)

        first = tensors.get(self.adds[0])
        tensors["x"] = self.first(state, first, tensors[self.attends[0]], attend, drop)
        return self.second(state, tensors.get(self.adds[1]), tensors[self.feeds], forward, drop)


@dataclass(frozen=True)
class DecoderBlock:
    """A `DecoderBlock`, right unless a field is changed."""

    # Those of the first attention and of the block: "src", "trg", "none", "not src" or "not trg".
    masks: tuple[str, str] = ("trg", "src")
    looks_at: str = "x"  # the first attention's key and value, or "memory"
    # The block's value, key and query, each "memory", "query" (the first attention's output) or "x".
    attends: Inputs = ("memory", "memory", "query")
    adds: bool = True  # whether `x` is added to the first attention's output
    first: Layer = Layer("norm")  # the sub-layer of `attention`
    attention: Attention = Attention()
    block: Block = field(default_factory=Block)  # what comes after it

    def __call__(self, setup: Setup, x: Tensor, memory: Tensor, src_mask: Mask, trg_mask: Mask) -> Tensor:
        return self.run(setup.state, setup.init[1], dropper(setup, 3), x, memory, src_mask, trg_mask)

    def run(self, state: State, heads: int, drop: Function, *args: Any) -> Tensor:
        """The output with the parameters of `state`; `drop` is the dropout. `args` are x (B, Tt, E), memory (B, Ts, E)
        and the masks of source and target."""
        x, memory, src_mask, trg_mask = args
        masks = {"src": src_mask, "trg": trg_mask, "none": None}
        masks |= {f"not {name}": None if mask is None else ~mask for name, mask in masks.items()}
        attention_state = below(state, "attention.")

        def attend(y: Tensor) -> Tensor:
            looked_at = y if self.looks_at == "x" else memory
            return self.attention(attention_state, heads, y, looked_at, looked_at, masks[self.masks[0]])

        query = self.first(state, x if self.adds else None, x, attend, drop)
        known = {"memory": memory, "query": query, "x": x}
        inputs = (known[name] for name in self.attends)
        return self.block.run(below(state, "block."), heads, drop, *inputs, masks[self.masks[1]])


# The masks of the two attentions, one of them inverted or both.
INVERTED = (("not trg", "src"), ("trg", "not src"), ("not trg", "not src"))


@dataclass(frozen=True)
class Stack:
    """An `Encoder` or a `Decoder`, right unless a field is changed."""

    layer: Block | DecoderBlock
    # Whose rows of the position table are added: of "tokens", "batch" (by sentence), "from one", "ids", "same" (the
    # first for all) or "none".
    positions: str = "tokens"
    # What the embedding is multiplied by, "one" or "root" (of its width); "root of the sum": the positions too.
    scale: str = "one"
    shared: int | None = None  # the number of the layer whose parameters all layers use; None: each has its own
    # "chain" (right), "last" (each layer starts from the embedding), "first" (only the first runs), "none", "added"
    # (each layer's output is added to its input), "memory" (each layer's output is the next one's memory too) or
    # "memory only".
    walk: str = "chain"
    # What dropout acts on: "embedded" (tokens with positions), "tokens", "nothing" or "end" (the last output too).
    dropped: str = "embedded"
    last: Function = lambda x: x  # what becomes of the last layer's output
    finish: Function = lambda logits: logits  # and of the logits
    head: str = (
        "fc_out"  # what makes the logits, or "tokens" (their table, with fc_out's bias), or "table" (without it)
    )
    swapped: bool = False  # the two masks change places
    exchanged: bool = False  # what each layer works on and its memory do

    def __call__(self, setup: Setup, tokens: Tensor, *args: Any) -> Tensor:
        state, (_, width, layers, heads, *_) = setup.state, setup.init
        drop = dropper(setup, 5)
        embedded = F.embedding(tokens, state["token_embedding.weight"]) * (width**0.5 if self.scale == "root" else 1)
        embedded = drop(embedded) if self.dropped == "tokens" else embedded
        embedded = embedded + self._positions(tokens, state["position_embedding.weight"])
        embedded = embedded * (width**0.5 if self.scale == "root of the sum" else 1)
        x = embedded = drop(embedded) if self.dropped in ("embedded", "end") else embedded
        for i in range({"first": 1, "none": 0}.get(self.walk, layers)):
            start = embedded if self.walk == "last" else x
            layer_state = below(state, f"layers.{i if self.shared is None else self.shared % layers}.")
            output = self._layer(layer_state, heads, drop, start, *args)
            x = start + output if self.walk == "added" else output
            args = (output, *args[1:]) if self.walk.startswith("memory") else args
            x = embedded if self.walk == "memory only" and i < layers - 1 else x
        x = self.last(drop(x) if self.dropped == "end" else x)
        if "fc_out.weight" not in state:
            return x
        table = state["fc_out.weight" if self.head == "fc_out" else "token_embedding.weight"]
        return self.finish(F.linear(x, table, None if self.head == "table" else state["fc_out.bias"]))

    def _layer(self, state: State, heads: int, drop: Function, x: Tensor, *args: Any) -> Tensor:
        if isinstance(self.layer, Block):
            return self.layer.run(state, heads, drop, x, x, x, *args)
        memory, *masks = args
        x, memory = (memory, x) if self.exchanged else (x, memory)
        return self.layer.run(state, heads, drop, x, memory, *(masks[::-1] if self.swapped else masks))

    def _positions(self, tokens: Tensor, table: Tensor) -> Tensor | float:
        batch, length = tokens.shape
        if self.positions == "none":
            return 0.0
        if self.positions == "batch":
            return table[:batch, None]
        if self.positions == "same":
            return table[:1]
        if self.positions == "ids":
            return F.embedding(tokens, table)
        start = int(self.positions == "from one")
        return table[start : start + length]


def _source(src: Tensor, trg: Tensor, src_pad: int, trg_pad: int) -> Mask:
    return source_mask(src, src_pad)


def _target(src: Tensor, trg: Tensor, src_pad: int, trg_pad: int) -> Mask:
    return target_mask(trg, trg_pad)


MakeMask = Callable[[Tensor, Tensor, int, int], Mask]


@dataclass(frozen=True)
class Model:
    """A `Transformer`, right unless a field is changed."""

    source: MakeMask = _source  # the mask of the encoder
    cross: MakeMask | None = None  # of cross-attention, by default the source's
    target: MakeMask = _target  # of the decoder
    drops: tuple[bool, bool] = (True, True)  # whether encoder and decoder get the dropout
    finish: Function = lambda logits: logits  # what becomes of the logits

    def __call__(self, setup: Setup, src: Tensor, trg: Tensor) -> Tensor:
        src_vocab, trg_vocab, src_pad, trg_pad, *sizes = setup.init
        encoder, decoder = (
            Setup((vocab, *sizes), below(setup.state, name), setup.training and drops)
            for vocab, name, drops in zip((src_vocab, trg_vocab), ("encoder.", "decoder."), self.drops, strict=True)
        )
        inputs = (src, trg, src_pad, trg_pad)
        memory = Stack(Block())(encoder, src, self.source(*inputs))
        cross = (self.cross or self.source)(*inputs)
        return self.finish(Stack(DecoderBlock())(decoder, trg, memory, cross, self.target(*inputs)))


def placed(first: Where, second: Where) -> Block:
    """A `TransformerBlock` that drops at other places in its first and in its second sub-layer."""
    right = Block()
    return replace(right, first=replace(right.first, drop=first), second=replace(right.second, drop=second))


def lower_triangle(length: int) -> Tensor:
    """A boolean matrix, (length, length), that is True on and below the diagonal."""
    return torch.ones(length, length).tril().bool()


def decoder_placed(where: Where, block: tuple[Where, Where] = ("output", "output")) -> DecoderBlock:
    """A `DecoderBlock` that drops at other places: in its first sub-layer, and in the two of its `block`."""
    return replace(DecoderBlock(), first=Layer("norm", drop=where), block=placed(*block))
