"""What the exercises of lesson 07 share: sizes, drawn parameters by name, masks, and parts that name their step."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from grader.exercises.lesson_03.module import drawn_mask
from grader.exercises.lesson_03.shared import head_sizes
from grader.spec.draw import Draw
from grader.spec.exclusions import MULTIHEAD_ATTENTION, TRANSFORMER_MODULES
from grader.spec.exercise import Case, Finding, Part, Setup, shape_of
from grader.spec.session import Session
from grader.subject import Request

LESSON = "07_transformer"
EXCLUDED = (TRANSFORMER_MODULES, MULTIHEAD_ATTENTION)

# Dropout so strong that nothing is left, without the 0 / 0 that a hand-written one makes of exactly 1.
ALL_DROPPED = 1 - 1e-9
SOME_DROPPED = 0.4  # for cases in eval mode, where it must make no difference
TRAIN = "train mode, everything dropped"

State = dict[str, Tensor]

# --- parameters by name -----------------------------------------------------------------------------------------------


def linear_state(draw: Draw, name: str, width: int, to: int) -> State:
    """Random weights and biases: with a bias of zero a forgotten one doesn't show."""
    return {f"{name}.weight": draw.normal((to, width), 1.2 * width**-0.5), f"{name}.bias": draw.normal((to,), 0.5)}


def norm_state(draw: Draw, name: str, width: int) -> State:
    """Not ones and zeros, which hide a norm used twice."""
    return {f"{name}.weight": draw.uniform((width,), 0.5, 1.5), f"{name}.bias": draw.normal((width,), 0.5)}


def attention_state(draw: Draw, name: str, width: int) -> State:
    """The parameters of a `MultiHeadAttention`."""
    state: State = {}
    for projection in ("q_proj", "k_proj", "v_proj", "out_proj"):
        state |= linear_state(draw, f"{name}.{projection}", width, width)
    return state


def feed_forward_state(draw: Draw, name: str, width: int, inner: int) -> State:
    """The parameters of a `FeedForward`; `name` ends in a dot or is empty."""
    return linear_state(draw, f"{name}linear1", width, inner) | linear_state(draw, f"{name}linear2", inner, width)


def block_state(draw: Draw, name: str, width: int, inner: int) -> State:
    """The parameters of a `TransformerBlock`; `name` ends in a dot or is empty."""
    return (
        attention_state(draw, f"{name}attention", width)
        | norm_state(draw, f"{name}norm1", width)
        | norm_state(draw, f"{name}norm2", width)
        | feed_forward_state(draw, f"{name}feed_forward.", width, inner)
    )


def decoder_block_state(draw: Draw, name: str, width: int, inner: int) -> State:
    """The parameters of a `DecoderBlock`; `name` ends in a dot or is empty."""
    first = attention_state(draw, f"{name}attention", width) | norm_state(draw, f"{name}norm", width)
    return first | block_state(draw, f"{name}block.", width, inner)


def stack_state(draw: Draw, name: str, sizes: Mapping[str, int], vocab: str, max_length: int, decoder: bool) -> State:
    """The parameters of an `Encoder` or a `Decoder` of `sizes["L"]` layers."""
    width, inner = sizes["E"], sizes["F"]
    state: State = {
        f"{name}token_embedding.weight": draw.normal((sizes[vocab], width)),
        f"{name}position_embedding.weight": draw.normal((max_length, width)),
    }
    make = decoder_block_state if decoder else block_state
    for layer in range(sizes["L"]):
        state |= make(draw, f"{name}layers.{layer}.", width, inner)
    return state | (linear_state(draw, f"{name}fc_out", width, sizes[vocab]) if decoder else {})


def silenced(state: Mapping[str, Tensor], *ends: str) -> State:
    """The same with zeros in the linear layers whose names end so: what they add is nothing then."""
    silent = tuple(f"{end}.{kind}" for end in ends for kind in ("weight", "bias"))
    return {name: torch.zeros_like(t) if name.endswith(silent) else t for name, t in state.items()}


def to_dtype(setup: Setup, dtype: torch.dtype) -> Setup:
    """The same with a state of another dtype."""
    return replace(setup, state={name: tensor.to(dtype) for name, tensor in setup.state.items()})


# --- sizes and masks --------------------------------------------------------------------------------------------------


def model_sizes(draw: Draw, *others: str, but: int = 1, **fixed: int) -> dict[str, int]:
    """Sizes that are all distinct, with a small batch; F is d_ff, L the number of layers."""
    sizes = head_sizes(draw, "F", *others, but=but)
    taken = set(sizes.values()) - {sizes["B"]}
    return {**sizes, "B": next(n for n in (2, 3, 4, 5, 6) if n not in taken), **fixed}


def two_sizes(draw: Draw, *others: str, **fixed: int) -> tuple[dict[str, int], dict[str, int]]:
    """Two draws with different numbers of heads."""
    first = model_sizes(draw, *others, **fixed)
    return first, model_sizes(draw, *others, but=first["H"], **fixed)


def mask_of(draw: Draw, axes: str, sizes: Mapping[str, int]) -> Tensor:
    """A mask in which every row shows a key and hides one."""
    return drawn_mask(draw, shape_of(axes, sizes))


def tokens_of(draw: Draw, axes: str, sizes: Mapping[str, int], vocab: str) -> Tensor:
    """Token ids, with two that are the same, so that a token's place matters beside its id."""
    tokens = draw.integers(shape_of(axes, sizes), 0, sizes[vocab])
    tokens[:, -1] = tokens[:, 0]
    return tokens


# --- parts ------------------------------------------------------------------------------------------------------------


def named(name: str, part: Part, weight: float | None = None) -> Part:
    """The same part under a name that says which of the nineteen steps it looks at."""
    return replace(part, name=name, weight=part.weight if weight is None else weight)


def refuses_long(case: str, longer: Callable[[Case], tuple[Any, ...]]) -> Part:
    """More tokens than `max_length`, which is the last number of the case's setup, raise `ValueError` naming both."""

    def judge(session: Session) -> Finding | None:
        name, one = session.exercise.name, session.cases[case]
        assert one.setup is not None
        args = longer(one)
        length, longest = args[0].shape[1], one.setup.init[-1]
        outcome = session.build(one.setup, "short", session.dtype(one))
        outcome = session.ask(Request("call", "@short", args)) if outcome.ok else outcome
        asked = f"`{name}` was made with max_length = {longest} and called with {length} tokens"
        raised = outcome.raised
        if (raised is None and not outcome.ok) or (raised is not None and "NotImplementedError" in raised.types):
            return Finding("not-judged", "Not judged: the module can't be made, or its `forward` does not run.")
        if raised is None:
            return Finding("wrong-error", f"{asked}. Expected a ValueError, got a result.")
        if "ValueError" not in raised.types:
            return Finding("wrong-error", f"{asked}. Expected a ValueError, got {raised.name}: {raised.message[:120]}")
        if not {str(length), str(longest)} <= set(re.findall(r"\d+", raised.message)):
            said = f"it says: {raised.message[:120]}"
            return Finding("wrong-error", f"{asked}. The message should name both, {length} and {longest}; {said}")
        return None

    return Part("step 5: raises ValueError for more tokens than max_length", 1, judge, compares_values=False)


def one_more(tokens: Tensor) -> Tensor:
    """The sentences with one token more."""
    return torch.cat([tokens, tokens[:, :1]], dim=1)


def all_visible(tokens: Tensor) -> Tensor:
    """A mask of keys, (B, 1, 1, T), that hides nothing."""
    return torch.ones(tokens.shape[0], 1, 1, tokens.shape[1], dtype=torch.bool)


def parameter_names(session: Session, setup: Setup) -> tuple[str, ...]:
    """The names of the parameters of a freshly made module; none if it can't be made."""

    def ask() -> tuple[str, ...]:
        built = session.build(replace(setup, state={}), "names")
        outcome = session.ask(Request("state", "@names")) if built.ok else built
        return tuple(outcome.value["parameters"]) if outcome.ok else ()

    return session.once("parameter names", ask)


def first_setup(session: Session) -> Setup:
    """The setup of the first case."""
    setup = next(iter(session.cases.values())).setup
    assert setup is not None
    return setup


def with_setup(
    name: str, args: Mapping[str, Any], sizes: Mapping[str, int], setup: Setup, double: bool = False
) -> Case:
    """A case. The one in train mode is not compared with mistakes that have nothing to do with dropout."""
    if double:
        setup = to_dtype(setup, torch.float64)
        args = {key: arg.double() if arg.is_floating_point() else arg for key, arg in args.items()}
    return Case(name, args, sizes, comparable=not setup.training, setup=setup)
