"""`DecoderBlock` (Vaswani et al. 2017, section 3.1): steps 16 and 17."""

from __future__ import annotations

from dataclasses import replace

from grader.exercises.lesson_07.mistakes import (
    ATTENTION_NOT_UNPACKED,
    DROPOUT_HARD_CODED,
    DROPOUT_IN_EVAL_MODE,
    dropout_after_norm,
    dropout_forgotten,
    dropout_on_the_sum,
    mask_ignored,
    mask_inverted,
)
from grader.exercises.lesson_07.shared import (
    ALL_DROPPED,
    EXCLUDED,
    LESSON,
    SOME_DROPPED,
    TRAIN,
    decoder_block,
    decoder_block_state,
    mask_of,
    named,
    silenced,
    two_sizes,
    with_setup,
)
from grader.exercises.lesson_07.variants import INVERTED, DecoderBlock, Layer, decoder_placed
from grader.spec import parts
from grader.spec.cases import LENGTH_ONE, length_one_sizes
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Exercise, Mistake, Output, Setup, shape_of

RIGHT = DecoderBlock()
QUIET = "as many tokens in the source as in the target, the block silent"
EQUAL = "as many tokens in the source as in the target"


def _cases(draw: Draw) -> list[Case]:
    sizes, others = two_sizes(draw, "Tq", "Tk")
    equal = {**others, "Tk": others["Tq"]}
    states = {s["E"]: decoder_block_state(draw, "", s["E"], s["F"]) for s in (sizes, others)}

    def case(name: str, sizes: dict[str, int], src_mask: str, *dropout: float, double: bool = False) -> Case:
        args = {
            "x": draw.normal(shape_of("B Tq E", sizes)),
            "memory": draw.normal(shape_of("B Tk E", sizes)),
            "src_mask": mask_of(draw, src_mask, sizes),
            "trg_mask": mask_of(draw, "B 1 Tq Tq", sizes),
        }
        state = states[sizes["E"]]
        state = silenced(state, "block.attention.out_proj", "linear2") if name == QUIET else state
        setup = Setup((sizes["E"], sizes["H"], sizes["F"], *dropout), state, training=name == TRAIN)
        return with_setup(name, args, sizes, setup, double)

    return [
        case("two sequences", sizes, "B 1 1 Tk"),
        case(QUIET, equal, "B 1 Tq Tk"),
        case(EQUAL, equal, "B 1 Tq Tk", SOME_DROPPED, double=True),
        *(case(name, one, "B 1 1 Tk") for name, one in length_one_sizes(sizes).items()),
        case(TRAIN, equal, "B 1 1 Tk", ALL_DROPPED),
    ]


def _norm_elsewhere(order: str) -> DecoderBlock:
    return replace(RIGHT, first=Layer("norm", order))


EXERCISE = Exercise(
    name="DecoderBlock",
    lesson=LESSON,
    points=4,
    kind="module",
    signature=("d_model", "num_heads", "d_ff", "dropout=0.0"),
    outputs=(Output("output", "B Tq E"),),
    cases=_cases,
    reference=decoder_block,
    parts=(
        named("step 17: gives back the shape of the target", parts.shape("two sequences")),
        parts.values("step 16: the target looks at itself, adds, normalises", 2, QUIET),
        parts.values(
            "step 17: then it looks at the source, and the block does the rest", 3, "two sequences", *LENGTH_ONE
        ),
        parts.values("step 17: the second attention has the source's mask", 1.5, EQUAL),
        parts.values("step 16: drops the attention's output before it is added, in train mode", 1.5, TRAIN),
        parts.float64(EQUAL, "two sequences", weight=0.5),
        parts.unchanged("two sequences", weight=0.5),
        parts.gradients("two sequences"),
        parts.defaults("two sequences"),
    ),
    mistakes=(
        Mistake(
            "cross-attention-to-itself",
            "the block's keys and values come from the target, so the source is never looked at.",
            (
                "Change `memory` and call it again. Does the result change?",
                "Who asks in the second attention, and whose words are looked through?",
            ),
            tuple(
                replace(RIGHT, attends=attends, masks=("trg", mask))
                for attends in (("query", "query", "query"), ("x", "x", "query"), ("query", "query", "x"))
                for mask in ("src", "trg", "none")
            ),
        ),
        Mistake(
            "query-and-memory-swapped",
            "in the second attention the source asks and the target is looked through.",
            (
                "The result should have a row for every token of the target. Who must be the query then?",
                "Compare the order in your call with the block's: `forward(value, key, query, mask)`.",
            ),
            tuple(
                replace(RIGHT, attends=attends, masks=("trg", mask))
                for attends in (
                    ("query", "query", "memory"),
                    ("query", "memory", "memory"),
                    ("memory", "query", "memory"),
                    ("x", "x", "memory"),
                )
                for mask in ("src", "trg", "none")
            ),
        ),
        Mistake(
            "value-from-target",
            "keys or values of the second attention come from the target: both belong to the source.",
            (
                "Change `memory` and call it again: both the scores and what is averaged should change.",
                "Scores and average are about the same words. Where do the keys come from, and where the values?",
            ),
            tuple(
                replace(RIGHT, attends=attends)
                for attends in (
                    ("query", "memory", "query"),
                    ("x", "memory", "query"),
                    ("memory", "query", "query"),
                    ("memory", "x", "query"),
                )
            ),
        ),
        Mistake(
            "masks-swapped",
            "a mask has gone to the wrong attention.",
            (
                "The target's mask has a row and a column for each token of the target. In which attention do its "
                "tokens look at each other?",
                "Padding in the source is hidden where the source is looked at.",
            ),
            tuple(
                replace(RIGHT, masks=masks)
                for masks in (("src", "trg"), ("src", "src"), ("trg", "trg"), ("src", "none"), ("none", "trg"))
            ),
        ),
        mask_ignored(*(replace(RIGHT, masks=masks) for masks in (("none", "src"), ("trg", "none"), ("none", "none")))),
        mask_inverted(*(replace(RIGHT, masks=masks) for masks in INVERTED)),
        ATTENTION_NOT_UNPACKED,
        Mistake(
            "first-attention-to-memory",
            "the first attention looks at the source; there the target should look at itself.",
            (
                "Read steps 16 and 17 again: who looks at whom in each of them?",
                "In step 16 query, key and value are one and the same. Which tensor is it?",
            ),
            tuple(
                replace(RIGHT, looks_at="memory", attends=attends, masks=masks)
                for attends in (("memory", "memory", "query"), ("query", "query", "query"))
                for masks in (("src", "src"), ("src", "trg"), ("none", "src"))
            ),
        ),
        Mistake(
            "residual-forgotten",
            "the first attention's output goes on alone: x isn't added.",
            (
                "If the first attention gave only zeros, what should come out of its norm?",
                "Step 16 has the same three parts as step 13. Which one is missing?",
            ),
            (replace(RIGHT, adds=False),),
        ),
        Mistake(
            "first-attention-lost",
            "the block gets x as its query, and what the first attention found is lost.",
            (
                "What does your code do with the result of the first attention?",
                "Into which variable does step 16 put its result, and which one does step 17 take?",
            ),
            (replace(RIGHT, attends=("memory", "memory", "x")),),
        ),
        Mistake(
            "pre-norm-instead",
            "the norm acts on what goes into the attention; this model adds first and then normalises.",
            (
                "Lesson 05 had both orders. Which one is LayerNorm(x + sublayer(x))?",
                "What comes last in step 16, the addition or the norm?",
            ),
            (_norm_elsewhere("pre"),),
        ),
        Mistake(
            "norm-before-addition",
            "the attention's output is normalised and then added; this model adds first.",
            (
                "Compare with step 13: which two things are added before the norm?",
                "Read your line from the inside out: what comes first, the addition or the norm?",
            ),
            (_norm_elsewhere("before"),),
        ),
        Mistake(
            "norm-forgotten",
            "nothing is normalised between the two attentions.",
            (
                "Which of the module's parts does `forward` never call?",
                "Step 16 has the same three parts as step 13. Which one is missing?",
            ),
            (_norm_elsewhere("none"),),
        ),
        dropout_after_norm(*(decoder_placed("norm", (where, where)) for where in ("output", "nowhere", "norm"))),
        dropout_on_the_sum(decoder_placed("sum"), decoder_placed("sum", ("nowhere", "nowhere"))),
        dropout_forgotten(
            decoder_placed("nowhere"),
            decoder_placed("output", ("nowhere", "nowhere")),
            decoder_placed("nowhere", ("nowhere", "nowhere")),
        ),
        DROPOUT_IN_EVAL_MODE,
        DROPOUT_HARD_CODED,
    ),
    excluded=EXCLUDED,
    builds_on=("TransformerBlock",),
)
