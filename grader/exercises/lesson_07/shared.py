"""What the exercises of lesson 07 share: sizes, parameters by name, masks, parts, and PyTorch's own Transformer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call

from grader.exercises.lesson_03.shared import drawn_mask, head_sizes
from grader.sentences import say
from grader.spec import compare, parts
from grader.spec.cases import LENGTH_ONE
from grader.spec.draw import Draw
from grader.spec.exclusions import MULTIHEAD_ATTENTION, TRANSFORMER_MODULES
from grader.spec.exercise import Case, Finding, Part, Setup, shape_of
from grader.spec.session import Session
from grader.subject import Request

EXCLUDED = (TRANSFORMER_MODULES, MULTIHEAD_ATTENTION)

# Dropout so strong that nothing is left. Exactly 1 would give 0 / 0 in a hand-written dropout.
ALL_DROPPED = 1 - 1e-9
SOME_DROPPED = 0.4  # for cases in eval mode, where it must make no difference
TRAIN = "train mode, everything dropped"
State = dict[str, Tensor]


# --- parameters by name -----------------------------------------------------------------------------------------------


def linear_state(draw: Draw, name: str, width: int, to: int) -> State:
    """The parameters of a linear layer, a weight (to, width) and a bias (to,) under `name`. The biases are random: with
    zeros a forgotten one doesn't show."""
    return {f"{name}.weight": draw.normal((to, width), 1.2 * width**-0.5), f"{name}.bias": draw.normal((to,), 0.5)}


def norm_state(draw: Draw, name: str, width: int) -> State:
    """The parameters of a LayerNorm, a weight (width,) and a bias (width,) under `name`. They aren't ones and zeros,
    which would hide a norm that is used twice."""
    return {f"{name}.weight": draw.uniform((width,), 0.5, 1.5), f"{name}.bias": draw.normal((width,), 0.5)}


def attention_state(draw: Draw, name: str, width: int) -> State:
    """The parameters of a `MultiHeadAttention` of this width, by name; `name` is the module's, without a dot at its
    end."""
    state: State = {}
    for projection in ("q_proj", "k_proj", "v_proj", "out_proj"):
        state |= linear_state(draw, f"{name}.{projection}", width, width)
    return state


def feed_forward_state(draw: Draw, name: str, width: int, inner: int) -> State:
    """The parameters of a `FeedForward`, by name; `inner` is d_ff, and `name` ends in a dot or is empty."""
    return linear_state(draw, f"{name}linear1", width, inner) | linear_state(draw, f"{name}linear2", inner, width)


def block_state(draw: Draw, name: str, width: int, inner: int) -> State:
    """The parameters of a `TransformerBlock`, by name; `inner` is d_ff, and `name` ends in a dot or is empty."""
    return (
        attention_state(draw, f"{name}attention", width)
        | norm_state(draw, f"{name}norm1", width)
        | norm_state(draw, f"{name}norm2", width)
        | feed_forward_state(draw, f"{name}feed_forward.", width, inner)
    )


def decoder_block_state(draw: Draw, name: str, width: int, inner: int) -> State:
    """The parameters of a `DecoderBlock`, by name; `inner` is d_ff, and `name` ends in a dot or is empty."""
    first = attention_state(draw, f"{name}attention", width) | norm_state(draw, f"{name}norm", width)
    return first | block_state(draw, f"{name}block.", width, inner)


def stack_state(draw: Draw, name: str, sizes: Mapping[str, int], vocab: str, max_length: int, decoder: bool) -> State:
    """The parameters of an `Encoder` or a `Decoder` of `sizes["L"]` layers, by name. `vocab` is the axis in `sizes`
    that is the vocabulary's; `name` ends in a dot or is empty."""
    width, inner = sizes["E"], sizes["F"]
    state: State = {
        f"{name}token_embedding.weight": draw.normal((sizes[vocab], width)),
        f"{name}position_embedding.weight": draw.normal((max_length, width)),
    }
    make = decoder_block_state if decoder else block_state
    for layer in range(sizes["L"]):
        state |= make(draw, f"{name}layers.{layer}.", width, inner)
    return state | (linear_state(draw, f"{name}fc_out", width, sizes[vocab]) if decoder else {})


def silenced(state: Mapping[str, Tensor], *ends: str, biases: bool = True) -> State:
    """The state with zeros in the linear layers whose names end in one of `ends`, so that they add nothing. Without
    `biases` only the weights become zero: then such a layer adds the same to every token, whatever comes in."""
    silent = tuple(f"{end}.{kind}" for end in ends for kind in ("weight", "bias")[: 1 + biases])
    return {name: torch.zeros_like(t) if name.endswith(silent) else t for name, t in state.items()}


def to_dtype(setup: Setup, dtype: torch.dtype) -> Setup:
    """The setup with its state in another dtype."""
    return replace(setup, state={name: tensor.to(dtype) for name, tensor in setup.state.items()})


# --- sizes and masks --------------------------------------------------------------------------------------------------


def model_sizes(draw: Draw, *others: str, but: int = 1, **fixed: int) -> dict[str, int]:
    """Distinct sizes by axis, `fixed` ones excepted; not `but` heads, F is d_ff, L the number of layers. The batch is
    small, and no length is two: where a mask hides one of two keys, nothing tells query from key."""
    sizes = head_sizes(draw, "F", *others, but=but)
    while any(sizes[name] == 2 for name in others):
        sizes = head_sizes(draw, "F", *others, but=but)
    taken = set(sizes.values()) - {sizes["B"]}
    return {**sizes, "B": next(n for n in (2, 3, 4, 5, 6) if n not in taken), **fixed}


def two_sizes(draw: Draw, *others: str, **fixed: int) -> tuple[dict[str, int], dict[str, int]]:
    """Two draws of sizes with different heads and widths, of heads once even and once odd; `fixed` sizes are in both.
    The first doesn't have two heads, since it may have two layers."""
    first = second = model_sizes(draw, *others, but=2, **fixed)
    while second["E"] == first["E"] or second["F"] == first["F"] or second["D"] % 2 == first["D"] % 2:
        second = model_sizes(draw, *others, but=first["H"], **fixed)
    return first, second


def mask_of(draw: Draw, axes: str, sizes: Mapping[str, int]) -> Tensor:
    """A mask of the sizes of `axes` (names, such as "B 1 Tq Tk") in which every row shows at least one key and hides at
    least one."""
    return drawn_mask(draw, shape_of(axes, sizes))


def tokens_of(draw: Draw, axes: str, sizes: Mapping[str, int], vocab: str) -> Tensor:
    """Token ids of the sizes of `axes` (names, such as "B T"), below `sizes[vocab]`. Each row's last token equals its
    first, so that positions matter as well as ids. The lowest id and the highest are among them, each in the middle of
    a row, since neither is padding here."""
    tokens = draw.integers(shape_of(axes, sizes), 0, sizes[vocab])
    tokens[0, tokens.shape[1] // 2], tokens[-1, tokens.shape[1] // 2 - 1] = 0, sizes[vocab] - 1
    tokens[:, -1] = tokens[:, 0]
    return tokens


# --- parts ------------------------------------------------------------------------------------------------------------


def named(name: str, part: Part, weight: float | None = None) -> Part:
    """The part under another name, that of the steps (of nineteen) which it checks, and with another weight unless that
    is None."""
    return replace(part, name=name, weight=part.weight if weight is None else weight)


TOO_LONG = (
    "Which axis of `tokens` runs along a sequence? Compare its size with `max_length` before you look anything up.",
    "`raise ValueError(...)` takes the message; an f-string puts the two numbers into it.",
)


def refuses_long(case: str, longer: Callable[[Case], tuple[Any, ...]]) -> Part:
    """A part that passes if more tokens than `max_length`, the last number of the case's setup, raise ValueError naming
    both. `longer` makes the arguments, the tokens first. The values on `case` have to be right."""

    def judge(session: Session) -> Finding | None:
        name, full = session.exercise.name, session.cases[case]
        assert full.setup is not None
        tokens, *rest = longer(full)
        # A message that holds all the tokens must not name the two numbers by chance.
        args = (torch.zeros_like(tokens), *rest)
        length, longest = tokens.shape[1], full.setup.init[-1]
        outcome = session.build(full.setup, "short", session.dtype(full))
        outcome = session.ask(Request("call", "@short", args)) if outcome.ok else outcome
        asked = say(
            "`{name}` was made with max_length = {longest} and called with {length} tokens.",
            name=name,
            longest=longest,
            length=length,
        )
        return compare.refused(outcome, asked, (length, longest), TOO_LONG)

    refuses = Part("step 5: raises ValueError for more tokens than max_length", 1, judge, compares_values=False)
    return parts.after_values(refuses, case)


def one_more(tokens: Tensor) -> Tensor:
    """The ids (B, T) with one more column, (B, T + 1): the first one again."""
    return torch.cat([tokens, tokens[:, :1]], dim=1)


def all_visible(tokens: Tensor) -> Tensor:
    """A mask of keys, (B, 1, 1, T), that hides nothing from ids (B, T)."""
    return torch.ones(tokens.shape[0], 1, 1, tokens.shape[1], dtype=torch.bool)


def parameter_names(session: Session, setup: Setup) -> tuple[str, ...]:
    """The names of the parameters of a freshly made module; empty if it can't be made."""

    def ask() -> tuple[str, ...]:
        built = session.build(replace(setup, state={}), "names")
        outcome = session.ask(Request("state", "@names")) if built.ok else built
        return tuple(outcome.value["parameters"]) if outcome.ok else ()

    return session.once(("parameter names", setup.init), ask)


def first_setup(session: Session) -> Setup:
    """The setup of the first case."""
    setup = next(iter(session.cases.values())).setup
    assert setup is not None
    return setup


def with_setup(
    name: str, args: Mapping[str, Any], sizes: Mapping[str, int], setup: Setup, double: bool = False
) -> Case:
    """A case with a setup, in float64 if `double`. It isn't compared with mistakes that have nothing to do with dropout
    if the module is in train mode, nor if an axis has length 1."""
    if double:
        setup = to_dtype(setup, torch.float64)
        args = {key: arg.double() if arg.is_floating_point() else arg for key, arg in args.items()}
    return Case(name, args, sizes, comparable=not setup.training and name not in LENGTH_ONE, setup=setup)


Parameters = Mapping[str, Tensor]
Mask = Tensor | None


# --- the same parameters under PyTorch's names ------------------------------------------------------------------------


def below(state: Parameters, prefix: str) -> dict[str, Tensor]:
    """The parameters whose names begin with `prefix`, under their names without it."""
    return {name.removeprefix(prefix): tensor for name, tensor in state.items() if name.startswith(prefix)}


def stacked(state: Parameters, kind: str) -> Tensor:
    """The three input projections, one below the other: `in_proj_weight` (3E, E) for `kind` "weight", `in_proj_bias`
    (3E,) for "bias"."""
    return torch.cat([state[f"{name}.{kind}"] for name in ("q_proj", "k_proj", "v_proj")])


def attention_names(state: Parameters, ours: str, theirs: str) -> dict[str, Tensor]:
    """The parameters of our `MultiHeadAttention` called `ours`, under the names of an `nn.MultiheadAttention` called
    `theirs`."""
    projections = below(state, f"{ours}.")
    inputs = {f"{theirs}.in_proj_{kind}": stacked(projections, kind) for kind in ("weight", "bias")}
    return inputs | {f"{theirs}.out_proj.{kind}": projections[f"out_proj.{kind}"] for kind in ("weight", "bias")}


def renamed(state: Parameters, **pairs: str) -> dict[str, Tensor]:
    """Weight and bias of each layer under another name; the pairs are `theirs="ours"`."""
    return {f"{t}.{kind}": state[f"{ours}.{kind}"] for t, ours in pairs.items() for kind in ("weight", "bias")}


def encoder_names(state: Parameters) -> dict[str, Tensor]:
    """The parameters of a `TransformerBlock` under the names of an `nn.TransformerEncoderLayer`."""
    layers = {"norm1": "norm1", "norm2": "norm2", "linear1": "feed_forward.linear1", "linear2": "feed_forward.linear2"}
    return attention_names(state, "attention", "self_attn") | renamed(state, **layers)


def decoder_names(state: Parameters) -> dict[str, Tensor]:
    """The parameters of a `DecoderBlock` under the names of an `nn.TransformerDecoderLayer`."""
    norms = {"norm1": "norm", "norm2": "block.norm1", "norm3": "block.norm2"}
    layers = {"linear1": "block.feed_forward.linear1", "linear2": "block.feed_forward.linear2"}
    attentions = attention_names(state, "attention", "self_attn")
    return attentions | attention_names(state, "block.attention", "multihead_attn") | renamed(state, **norms, **layers)


@cache
def _layer(decoder: bool, width: int, heads: int, inner: int, dropped: bool) -> nn.Module:
    """One of PyTorch's layers, only for its `forward`; it drops everything, or nothing. It is on the meta device, so
    that making it draws no random numbers from the learner's generator, and in train mode, since in eval mode it may
    take its fast path, which gives no gradients."""
    kind = nn.TransformerDecoderLayer if decoder else nn.TransformerEncoderLayer
    with torch.device("meta"):
        return kind(width, heads, inner, float(dropped), batch_first=True).train()


def hidden(mask: Mask, batch: int, heads: int, rows: int, columns: int) -> Mask:
    """Our mask in PyTorch's convention, (B * H, Tq, Tk): True where attention is not allowed, a table for each sequence
    and head. None stays None. `rows` is Tq, `columns` Tk."""
    return None if mask is None else ~mask.expand(batch, heads, rows, columns).flatten(0, 1)


# --- what each exercise should give -----------------------------------------------------------------------------------


def drops(setup: Setup, position: int) -> bool:
    """Whether the setup drops everything; `position` is dropout's among the constructor's arguments."""
    return setup.training and len(setup.init) > position and setup.init[position] >= ALL_DROPPED


def feed_forward(setup: Setup, x: Tensor) -> Tensor:
    """What `FeedForward` should give for `x` (..., E), in the same shape."""
    state = setup.state
    inner = F.relu(F.linear(x, state["linear1.weight"], state["linear1.bias"]))
    return F.linear(inner, state["linear2.weight"], state["linear2.bias"])


def decoder_block(setup: Setup, x: Tensor, memory: Tensor, src_mask: Mask, trg_mask: Mask) -> Tensor:
    """What `DecoderBlock` should give for `x` (B, Tt, E) and `memory` (B, Ts, E), in the shape of `x`."""
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
    embedded = F.embedding(tokens, state["token_embedding.weight"])
    embedded = embedded + state["position_embedding.weight"][: tokens.shape[1]]
    return torch.zeros_like(embedded) if drops(setup, 5) else embedded


def encoder(setup: Setup, tokens: Tensor, mask: Mask) -> Tensor:
    """What `Encoder` should give for ids (B, T): (B, T, E)."""
    _, width, layers, heads, inner, *_ = setup.init
    x, length = _embedded(setup, tokens), tokens.shape[1]
    layer = _layer(False, width, heads, inner, drops(setup, 5))
    masks = {"src_mask": hidden(mask, tokens.shape[0], heads, length, length)}
    for i in range(layers):
        x = functional_call(layer, encoder_names(below(setup.state, f"layers.{i}.")), (x,), masks)
    return x


def decoder(setup: Setup, tokens: Tensor, memory: Tensor, src_mask: Mask, trg_mask: Mask) -> Tensor:
    """What `Decoder` should give for ids (B, Tt) and `memory` (B, Ts, E): logits (B, Tt, V)."""
    _, width, layers, heads, inner, *_ = setup.init
    x = _embedded(setup, tokens)
    dropped = (ALL_DROPPED,) if drops(setup, 5) else ()
    for i in range(layers):
        block = Setup((width, heads, inner, *dropped), below(setup.state, f"layers.{i}."), setup.training)
        x = decoder_block(block, x, memory, src_mask, trg_mask)
    return F.linear(x, setup.state["fc_out.weight"], setup.state["fc_out.bias"])


def source_mask(src: Tensor, pad: int) -> Tensor:
    """A mask, (B, 1, 1, Ts), of ids `src` (B, Ts): True for tokens that are not padding, whose id is `pad`."""
    return src.ne(pad)[:, None, None, :]


def target_mask(trg: Tensor, pad: int) -> Tensor:
    """A mask, (B, 1, Tt, Tt), of ids `trg` (B, Tt): True for tokens that are neither padding, whose id is `pad`, nor
    later than the query."""
    return source_mask(trg, pad) & torch.ones(trg.shape[1], trg.shape[1]).tril().bool()
