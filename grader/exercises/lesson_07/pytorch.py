"""PyTorch's own Transformer under a student's parameter names: what lesson 07's checks compare with."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call

from grader.exercises.lesson_03.attention import pytorch_attention
from grader.exercises.lesson_07.shared import ALL_DROPPED
from grader.spec.exercise import Setup

State = Mapping[str, Tensor]
Mask = Tensor | None

# --- the same parameters under PyTorch's names ------------------------------------------------------------------------


def below(state: State, prefix: str) -> dict[str, Tensor]:
    """The parameters whose names begin so, without it."""
    return {name.removeprefix(prefix): tensor for name, tensor in state.items() if name.startswith(prefix)}


def stacked(state: State, kind: str) -> Tensor:
    """The three input projections, one below the other: `in_proj_weight` or `in_proj_bias`."""
    return torch.cat([state[f"{name}.{kind}"] for name in ("q_proj", "k_proj", "v_proj")])


def attention_names(state: State, ours: str, theirs: str) -> dict[str, Tensor]:
    """A `MultiHeadAttention` as `nn.MultiheadAttention`."""
    own = below(state, f"{ours}.")
    found = {f"{theirs}.in_proj_{kind}": stacked(own, kind) for kind in ("weight", "bias")}
    return found | {f"{theirs}.out_proj.{kind}": own[f"out_proj.{kind}"] for kind in ("weight", "bias")}


def renamed(state: State, **pairs: str) -> dict[str, Tensor]:
    """Weight and bias of each layer, `theirs="ours"`."""
    return {f"{t}.{kind}": state[f"{ours}.{kind}"] for t, ours in pairs.items() for kind in ("weight", "bias")}


def encoder_names(state: State) -> dict[str, Tensor]:
    """A `TransformerBlock` as `nn.TransformerEncoderLayer`."""
    layers = {"norm1": "norm1", "norm2": "norm2", "linear1": "feed_forward.linear1", "linear2": "feed_forward.linear2"}
    return attention_names(state, "attention", "self_attn") | renamed(state, **layers)


def decoder_names(state: State) -> dict[str, Tensor]:
    """A `DecoderBlock` as `nn.TransformerDecoderLayer`."""
    norms = {"norm1": "norm", "norm2": "block.norm1", "norm3": "block.norm2"}
    layers = {"linear1": "block.feed_forward.linear1", "linear2": "block.feed_forward.linear2"}
    attentions = attention_names(state, "attention", "self_attn")
    return attentions | attention_names(state, "block.attention", "multihead_attn") | renamed(state, **norms, **layers)


@cache
def _layer(decoder: bool, width: int, heads: int, inner: int, dropped: bool) -> nn.Module:
    """One of PyTorch's layers, only for its `forward`: on the device without numbers, so that no random ones are drawn
    from the learner's. In train mode, as in eval mode it may take its fast path, which gives no gradients. Everything
    is dropped, or nothing."""
    kind = nn.TransformerDecoderLayer if decoder else nn.TransformerEncoderLayer
    with torch.device("meta"):
        return kind(width, heads, inner, float(dropped), batch_first=True).train()


def hidden(mask: Mask, batch: int, heads: int, rows: int, columns: int) -> Mask:
    """Our mask as PyTorch's: True where nothing may be seen, a table for each sequence and head."""
    return None if mask is None else ~mask.expand(batch, heads, rows, columns).flatten(0, 1)


# --- what each exercise should give -----------------------------------------------------------------------------------


def drops(setup: Setup, position: int) -> bool:
    """Whether the setup drops everything; `position` is dropout's among the constructor's arguments."""
    return setup.training and len(setup.init) > position and setup.init[position] >= ALL_DROPPED


def feed_forward(setup: Setup, x: Tensor) -> Tensor:
    """`FeedForward`."""
    state = setup.state
    inner = F.relu(F.linear(x, state["linear1.weight"], state["linear1.bias"]))
    return F.linear(inner, state["linear2.weight"], state["linear2.bias"])


def transformer_block(setup: Setup, value: Tensor, key: Tensor, query: Tensor, mask: Mask = None) -> Tensor:
    """`TransformerBlock`: PyTorch's encoder layer has one input, so attention and norms are put together here."""
    state, heads, kept = setup.state, setup.init[1], 0.0 if drops(setup, 3) else 1.0
    own = below(state, "attention.")
    attended, _ = pytorch_attention(
        (query, key, value),
        stacked(own, "weight"),
        stacked(own, "bias"),
        own["out_proj.weight"],
        own["out_proj.bias"],
        heads,
        mask,
    )
    width = query.shape[-1:]
    x = F.layer_norm(query + kept * attended, width, state["norm1.weight"], state["norm1.bias"])
    forward = feed_forward(Setup((), below(state, "feed_forward.")), x)
    return F.layer_norm(x + kept * forward, width, state["norm2.weight"], state["norm2.bias"])


def decoder_block(setup: Setup, x: Tensor, memory: Tensor, src_mask: Mask, trg_mask: Mask) -> Tensor:
    """`DecoderBlock`."""
    width, heads, inner, *_ = setup.init
    layer = _layer(True, width, heads, inner, drops(setup, 3))
    size, sources = x.shape[:2], memory.shape[1]
    masks = {
        "tgt_mask": hidden(trg_mask, size[0], heads, size[1], size[1]),
        "memory_mask": hidden(src_mask, size[0], heads, size[1], sources),
    }
    return functional_call(layer, decoder_names(setup.state), (x, memory), masks)


def _embedded(setup: Setup, tokens: Tensor) -> Tensor:
    state = setup.state
    found = F.embedding(tokens, state["token_embedding.weight"])
    found = found + state["position_embedding.weight"][: tokens.shape[1]]
    return torch.zeros_like(found) if drops(setup, 5) else found


def encoder(setup: Setup, tokens: Tensor, mask: Mask) -> Tensor:
    """`Encoder`."""
    _, width, layers, heads, inner, *_ = setup.init
    x, length = _embedded(setup, tokens), tokens.shape[1]
    layer = _layer(False, width, heads, inner, drops(setup, 5))
    masks = {"src_mask": hidden(mask, tokens.shape[0], heads, length, length)}
    for i in range(layers):
        x = functional_call(layer, encoder_names(below(setup.state, f"layers.{i}.")), (x,), masks)
    return x


def decoder(setup: Setup, tokens: Tensor, memory: Tensor, src_mask: Mask, trg_mask: Mask) -> Tensor:
    """`Decoder`."""
    _, width, layers, heads, inner, *_ = setup.init
    x = _embedded(setup, tokens)
    dropped = (ALL_DROPPED,) if drops(setup, 5) else ()
    for i in range(layers):
        one = Setup((width, heads, inner, *dropped), below(setup.state, f"layers.{i}."), setup.training)
        x = decoder_block(one, x, memory, src_mask, trg_mask)
    return F.linear(x, setup.state["fc_out.weight"], setup.state["fc_out.bias"])


def source_mask(src: Tensor, pad: int) -> Tensor:
    """True for what is no padding, (B, 1, 1, Ts)."""
    return src.ne(pad)[:, None, None, :]


def target_mask(trg: Tensor, pad: int) -> Tensor:
    """True for what is neither padding nor to come, (B, 1, Tt, Tt)."""
    return source_mask(trg, pad) & torch.ones(trg.shape[1], trg.shape[1]).tril().bool()


def transformer(setup: Setup, src: Tensor, trg: Tensor) -> Tensor:
    """`Transformer`."""
    src_vocab, trg_vocab, src_pad, trg_pad, *sizes = setup.init
    halves = [
        Setup((vocab, *sizes), below(setup.state, name), setup.training)
        for vocab, name in ((src_vocab, "encoder."), (trg_vocab, "decoder."))
    ]
    visible = source_mask(src, src_pad)
    memory = encoder(halves[0], src, visible)
    return decoder(halves[1], trg, memory, visible, target_mask(trg, trg_pad))
