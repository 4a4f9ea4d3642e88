"""`DecoderBlock` (Vaswani et al. 2017, section 3.1): steps 16 and 17."""

from __future__ import annotations

from dataclasses import replace

from grader.exercises.lesson_07 import mistakes, shared
from grader.exercises.lesson_07.variants import INVERTED, DecoderBlock, Layer, decoder_placed
from grader.spec import parts
from grader.spec.cases import LENGTH_ONE, length_one_sizes
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Setup, shape_of
from grader.spec.spec import Spec, by_id

spec = Spec(__name__)

RIGHT = DecoderBlock()
QUIET = "as many tokens in the source as in the target, the block silent"
EQUAL = "as many tokens in the source as in the target"


def _cases(draw: Draw) -> list[Case]:
    sizes, others = shared.two_sizes(draw, "Tq", "Tk")
    equal = {**others, "Tk": others["Tq"]}
    states = {s["E"]: shared.decoder_block_state(draw, "", s["E"], s["F"]) for s in (sizes, others)}

    def case(name: str, sizes: dict[str, int], src_mask: str, *dropout: float, double: bool = False) -> Case:
        args = {
            "x": draw.normal(shape_of("B Tq E", sizes)),
            "memory": draw.normal(shape_of("B Tk E", sizes)),
            "src_mask": shared.mask_of(draw, src_mask, sizes),
            "trg_mask": shared.mask_of(draw, "B 1 Tq Tq", sizes),
        }
        state = states[sizes["E"]]
        state = shared.silenced(state, "block.attention.out_proj", "linear2") if name == QUIET else state
        setup = Setup((sizes["E"], sizes["H"], sizes["F"], *dropout), state, training=name == shared.TRAIN)
        return shared.with_setup(name, args, sizes, setup, double)

    return [
        case("two sequences", sizes, "B 1 1 Tk"),
        case(QUIET, equal, "B 1 Tq Tk"),
        case(EQUAL, equal, "B 1 Tq Tk", shared.SOME_DROPPED, double=True),
        *(case(name, one, "B 1 1 Tk") for name, one in length_one_sizes(sizes).items()),
        case(shared.TRAIN, equal, "B 1 1 Tk", shared.ALL_DROPPED),
    ]


def _norm_elsewhere(order: str) -> DecoderBlock:
    return replace(RIGHT, first=Layer("norm", order))


EXERCISE = spec.exercise(
    shared.decoder_block,
    points=4,
    signature=("d_model", "num_heads", "d_ff", "dropout=0.0"),
    outputs={"output": "B Tq E"},
    cases=_cases,
    parts=(
        shared.named("step 17: gives back the shape of the target", parts.shape("two sequences")),
        parts.values("step 16: the target looks at itself, adds, normalises", 2, QUIET),
        parts.values(
            "step 17: then the target looks at the source, and the block does the rest", 3, "two sequences", *LENGTH_ONE
        ),
        parts.values("step 17: the second attention layer has the source's mask", 1.5, EQUAL),
        parts.values("step 16: drops the attention's output before it is added, in train mode", 1.5, shared.TRAIN),
        parts.float64(EQUAL, "two sequences", weight=0.5),
        parts.unchanged("two sequences", weight=0.5),
        parts.gradients("two sequences"),
        parts.defaults("two sequences"),
    ),
    mistakes={
        "cross-attention-to-itself": tuple(
            replace(RIGHT, attends=attends, masks=("trg", mask))
            for attends in (("query", "query", "query"), ("x", "x", "query"), ("query", "query", "x"))
            for mask in ("src", "trg", "none")
        ),
        "query-and-memory-swapped": tuple(
            replace(RIGHT, attends=attends, masks=("trg", mask))
            for attends in (
                ("query", "query", "memory"),
                ("query", "memory", "memory"),
                ("memory", "query", "memory"),
                ("x", "x", "memory"),
            )
            for mask in ("src", "trg", "none")
        ),
        "value-from-target": tuple(
            replace(RIGHT, attends=attends)
            for attends in (
                ("query", "memory", "query"),
                ("x", "memory", "query"),
                ("memory", "query", "query"),
                ("memory", "x", "query"),
            )
        ),
        "masks-swapped": tuple(
            replace(RIGHT, masks=masks)
            for masks in (("src", "trg"), ("src", "src"), ("trg", "trg"), ("src", "none"), ("none", "trg"))
        ),
        **by_id(
            mistakes.mask_ignored(
                *(replace(RIGHT, masks=masks) for masks in (("none", "src"), ("trg", "none"), ("none", "none")))
            ),
            mistakes.mask_inverted(*(replace(RIGHT, masks=masks) for masks in INVERTED)),
            mistakes.ATTENTION_NOT_UNPACKED,
        ),
        "first-attention-to-memory": tuple(
            replace(RIGHT, looks_at="memory", attends=attends, masks=masks)
            for attends in (("memory", "memory", "query"), ("query", "query", "query"))
            for masks in (("src", "src"), ("src", "trg"), ("none", "src"))
        ),
        "residual-forgotten": replace(RIGHT, adds=False),
        "first-attention-lost": replace(RIGHT, attends=("memory", "memory", "x")),
        "pre-norm-instead": _norm_elsewhere("pre"),
        "norm-before-addition": _norm_elsewhere("before"),
        "norm-forgotten": _norm_elsewhere("none"),
        **by_id(
            mistakes.dropout_after_norm(
                *(decoder_placed("norm", (where, where)) for where in ("output", "nowhere", "norm"))
            ),
            mistakes.dropout_on_the_sum(decoder_placed("sum"), decoder_placed("sum", ("nowhere", "nowhere"))),
            mistakes.dropout_forgotten(
                decoder_placed("nowhere"),
                decoder_placed("output", ("nowhere", "nowhere")),
                decoder_placed("nowhere", ("nowhere", "nowhere")),
            ),
            mistakes.DROPOUT_IN_EVAL_MODE,
            mistakes.DROPOUT_HARD_CODED,
        ),
    },
    excluded=shared.EXCLUDED,
    builds_on=("TransformerBlock",),
)
