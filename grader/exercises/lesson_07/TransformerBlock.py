"""`TransformerBlock` (Vaswani et al. 2017, section 3.1): steps 6 to 14."""

from __future__ import annotations

from dataclasses import replace

import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_03.shared import pytorch_attention
from grader.exercises.lesson_07 import mistakes, shared
from grader.exercises.lesson_07.variants import Attention, Block, Layer, placed
from grader.spec import parts
from grader.spec.cases import LENGTH_ONE, length_one_sizes
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Setup, shape_of
from grader.spec.session import Session
from grader.spec.spec import Spec, When, by_id

spec = Spec(__name__)


def transformer_block(setup: Setup, value: Tensor, key: Tensor, query: Tensor, mask: shared.Mask = None) -> Tensor:
    """What `TransformerBlock` should give: value and key (B, Tk, E), query (B, Tq, E), result (B, Tq, E). PyTorch's
    encoder layer takes a single input, so attention and norms are combined here."""
    state, heads, kept = setup.state, setup.init[1], 0.0 if shared.drops(setup, 3) else 1.0
    attention = shared.below(state, "attention.")
    attended, _ = pytorch_attention(
        (query, key, value),
        shared.stacked(attention, "weight"),
        shared.stacked(attention, "bias"),
        attention["out_proj.weight"],
        attention["out_proj.bias"],
        heads,
        mask,
    )
    width = query.shape[-1:]
    x = F.layer_norm(query + kept * attended, width, state["norm1.weight"], state["norm1.bias"])
    forward = shared.feed_forward(Setup((), shared.below(state, "feed_forward.")), x)
    return F.layer_norm(x + kept * forward, width, state["norm2.weight"], state["norm2.bias"])


ARGS = ("value", "key", "query")
QUIET = "as many keys as queries, the feed-forward layers silent"
KEYS, HEADS = "a mask of keys", "a mask for each sequence and head"


def _cases(draw: Draw) -> list[Case]:
    sizes, others = shared.two_sizes(draw, "Tq", "Tk")
    equal = {**others, "Tk": others["Tq"]}
    states = {s["E"]: shared.block_state(draw, "", s["E"], s["F"]) for s in (sizes, others)}

    def case(name: str, sizes: dict[str, int], mask: str = "", *dropout: float, double: bool = False) -> Case:
        args = {arg: draw.normal(shape_of("B Tq E" if arg == "query" else "B Tk E", sizes)) for arg in ARGS}
        if mask:
            args["mask"] = shared.mask_of(draw, mask, sizes)
        state = states[sizes["E"]]
        state = shared.silenced(state, "linear2") if name == QUIET else state
        setup = Setup((sizes["E"], sizes["H"], sizes["F"], *dropout), state, training=name == shared.TRAIN)
        return shared.with_setup(name, args, sizes, setup, double)

    return [
        case("two sequences", sizes),
        case(QUIET, equal),
        case(KEYS, sizes, "B 1 1 Tk", shared.SOME_DROPPED),
        case(HEADS, equal, "B H Tq Tk", double=True),
        *(case(name, one) for name, one in length_one_sizes(sizes).items()),
        case(shared.TRAIN, sizes, "", shared.ALL_DROPPED),
    ]


def _one_norm(session: Session) -> bool:
    """Whether a new module has `norm1`, and no other LayerNorm."""
    names = shared.parameter_names(session, shared.first_setup(session))
    return "norm1.weight" in names and sum("norm" in name for name in names) == 2


RIGHT = Block()


def _norms(first: str, second: str) -> Block:
    return replace(RIGHT, first=Layer(first), second=Layer(second))


def _ordered(order: str) -> tuple[Block, ...]:
    """Blocks with another order of norm and addition, as in `Layer`: in both sub-layers, in the first, in the
    second."""
    both = replace(RIGHT, first=Layer("norm1", order), second=Layer("norm2", order))
    return both, replace(both, second=RIGHT.second), replace(both, first=RIGHT.first)


EXERCISE = spec.exercise(
    transformer_block,
    points=4,
    signature=("d_model", "num_heads", "d_ff", "dropout=0.0"),
    outputs={"output": "B Tq E"},
    cases=_cases,
    parts=(
        shared.named("steps 6 to 14: gives back the shape of the query", parts.shape("two sequences")),
        parts.values("steps 13 and 14: the attention, both additions and both norms", 2, QUIET),
        parts.values("step 14: the feed-forward layers", 2, "two sequences", *LENGTH_ONE),
        parts.values("step 9: hides what the mask hides", 2, KEYS, HEADS),
        parts.values(
            "steps 13 and 14: drops each sub-layer's output before it is added, in train mode", 1.5, shared.TRAIN
        ),
        parts.float64(HEADS, "two sequences", weight=0.5),
        parts.unchanged("two sequences", weight=0.5),
        parts.gradients("two sequences"),
        parts.defaults("two sequences"),
    ),
    mistakes={
        "residual-from-value": replace(RIGHT, adds=("value", "x")),
        "residual-from-key": replace(RIGHT, adds=("key", "x")),
        "residual-forgotten": tuple(replace(RIGHT, adds=adds) for adds in (("", "x"), ("query", ""), ("", ""))),
        "pre-norm-instead": tuple(
            replace(block, normed=normed)
            for order in ("pre", "first")
            for normed in (False, True)
            for block in _ordered(order)
        ),
        "norm-before-addition": _ordered("before"),
        "same-norm-twice": When(_one_norm, (_norms("norm1", "norm1"), _norms("norm2", "norm2"))),
        "norms-swapped": _norms("norm2", "norm1"),
        "second-residual-from-input": replace(RIGHT, adds=("query", "query")),
        "feed-forward-from-input": replace(RIGHT, feeds="query"),
        "norm-forgotten": _ordered("none"),
        "attends-to-itself": replace(RIGHT, attends=("query", "query", "query")),
        **by_id(
            mistakes.ATTENTION_NOT_UNPACKED,
            mistakes.mask_ignored(replace(RIGHT, attention=Attention(masked="no"))),
            mistakes.mask_inverted(replace(RIGHT, attention=Attention(masked="inverted"))),
        ),
        "key-used-as-value": replace(RIGHT, attends=("query", "key", "key")),
        "value-used-as-key": replace(RIGHT, attends=("query", "value", "value")),
        "argument-order": (
            replace(RIGHT, attends=ARGS),
            *(
                replace(RIGHT, attends=order)
                for order in (("query", "value", "key"), ("key", "query", "value"), ("key", "value", "query"))
            ),
            *(
                replace(RIGHT, given=order)
                for order in (("query", "key", "value"), ("key", "value", "query"), ("query", "value", "key"))
            ),
        ),
        "scaled-by-d_model": replace(RIGHT, attention=Attention(root="model")),
        **by_id(
            mistakes.dropout_after_norm(
                placed("norm", "norm"),
                placed("norm", "nowhere"),
                doubtful=(placed("norm", "output"), placed("twice", "output")),
            ),
            mistakes.dropout_on_the_sum(placed("sum", "sum"), placed("sum", "output"), placed("output", "sum")),
            mistakes.dropout_on_the_input(
                placed("output", "input"), placed("input", "output"), placed("input", "input")
            ),
            mistakes.dropout_forgotten(
                placed("nowhere", "nowhere"), placed("output", "nowhere"), placed("nowhere", "output")
            ),
            mistakes.DROPOUT_IN_EVAL_MODE,
            mistakes.DROPOUT_HARD_CODED,
        ),
    },
    excluded=shared.EXCLUDED,
    builds_on=("FeedForward",),
)
