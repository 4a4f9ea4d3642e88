"""`Decoder` (Vaswani et al. 2017, section 3.1): steps 4, 5 and 18."""

from __future__ import annotations

from dataclasses import replace

import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_07 import shared
from grader.exercises.lesson_07.mistakes import mask_ignored, mask_inverted, stack_dropout, stack_mistakes
from grader.exercises.lesson_07.mistakes import mistake as shared_mistake
from grader.exercises.lesson_07.variants import INVERTED, DecoderBlock, Stack, decoder_placed
from grader.spec import parts
from grader.spec.cases import LENGTH_ONE, length_one_sizes
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Setup, shape_of
from grader.spec.session import Session
from grader.spec.spec import Spec, When, by_id
from grader.subject import Request
from grader.subject.values import same

spec = Spec(__name__, shared_mistake)

ONE_QUIET = "one layer whose sub-layers add the same to every token"
FULL = "as many tokens in the source as in the target, and as max_length"
BOTH_EQUAL = "two layers, as many tokens in the source as in the target"
MAX_LENGTH = 100  # where it isn't given
RIGHT = DecoderBlock()
STACKED = Stack(RIGHT)


def _cases(draw: Draw) -> list[Case]:
    two_layers, one_layer = shared.two_sizes(draw, "Tq", "Tk", "V")
    two_layers, one_layer = {**two_layers, "L": 2}, {**one_layer, "L": 1}
    equal = {**one_layer, "Tk": one_layer["Tq"]}
    states = {
        (s["L"], longest): shared.stack_state(draw, "", s, "V", longest, decoder=True)
        for s, longest in ((two_layers, MAX_LENGTH), (one_layer, one_layer["Tq"]), (one_layer, MAX_LENGTH))
    }

    def case(name: str, sizes: dict[str, int], src_mask: str, *extra: float, double: bool = False) -> Case:
        longest = int(extra[1]) if len(extra) > 1 else MAX_LENGTH
        state = states[sizes["L"], longest]
        state = shared.silenced(state, "out_proj", "linear2", biases=False) if name == ONE_QUIET else state
        init = (sizes["V"], sizes["E"], sizes["L"], sizes["H"], sizes["F"], *extra)
        args = {
            "tokens": shared.tokens_of(draw, "B Tq", sizes, "V"),
            "memory": draw.normal(shape_of("B Tk E", sizes)),
            "src_mask": shared.mask_of(draw, src_mask, sizes),
            "trg_mask": shared.mask_of(draw, "B 1 Tq Tq", sizes),
        }
        return shared.with_setup(name, args, sizes, Setup(init, state, training=name == shared.TRAIN), double)

    return [
        case("two layers", two_layers, "B 1 1 Tk"),
        case(ONE_QUIET, one_layer, "B 1 1 Tk"),
        case(FULL, equal, "B 1 Tq Tk", shared.SOME_DROPPED, one_layer["Tq"], double=True),
        *(case(name, one, "B 1 1 Tk") for name, one in length_one_sizes(one_layer).items()),
        case(shared.TRAIN, one_layer, "B 1 1 Tk", shared.ALL_DROPPED),
        replace(case(BOTH_EQUAL, {**two_layers, "Tk": two_layers["Tq"]}, "B 1 Tq Tk"), diagnostic=True),
    ]


def _tied(session: Session) -> bool:
    """Whether a new module's `fc_out` has the weights of its token embedding."""
    built = session.build(replace(shared.first_setup(session), state={}), "tied")
    state = session.ask(Request("state", "@tied")) if built.ok else built
    parameters = state.value["parameters"] if state.ok else {}
    tables = [parameters.get(f"{name}.weight") for name in ("fc_out", "token_embedding")]
    return all(isinstance(table, Tensor) for table in tables) and same(*tables)


def _longer(case: Case) -> tuple[object, ...]:
    tokens, args = shared.one_more(case.args["tokens"]), case.args
    return tokens, args["memory"], shared.all_visible(args["tokens"]), shared.all_visible(tokens)


EXERCISE = spec.exercise(
    shared.decoder,
    points=3,
    signature=("vocab_size", "d_model", "num_layers", "num_heads", "d_ff", "dropout=0.0", "max_length=100"),
    outputs={"logits": "B Tq V"},
    cases=_cases,
    parts=(
        shared.named("step 18: a score for every word at every position", parts.shape("two layers")),
        parts.values("steps 4, 5 and 18: from embedding and position to logits", 2, ONE_QUIET),
        parts.values("step 18: each layer works on what the one before it gave", 3, "two layers", *LENGTH_ONE),
        parts.values("step 18: every layer has memory and both masks", 1.5, FULL),
        parts.values("steps 5 and 18: dropout acts on the embedding and in the layers, in train mode", 1, shared.TRAIN),
        shared.refuses_long(FULL, _longer),
        parts.float64(FULL, "two layers", weight=0.5),
        parts.unchanged("two layers", weight=0.5),
        parts.gradients("two layers"),
        parts.defaults("two layers"),
    ),
    mistakes={
        "softmax-applied": (
            replace(STACKED, finish=lambda logits: F.softmax(logits, -1)),
            replace(STACKED, finish=lambda logits: F.log_softmax(logits, -1)),
            replace(STACKED, finish=lambda logits: F.softmax(logits, 1)),
        ),
        **by_id(*stack_mistakes(RIGHT)),
        "target-and-memory-exchanged": replace(STACKED, exchanged=True),
        "masks-swapped": replace(STACKED, swapped=True),
        "memory-overwritten": (replace(STACKED, walk="memory"), replace(STACKED, walk="memory only")),
        "memory-ignored": tuple(
            Stack(replace(RIGHT, attends=("x", "x", "query"), masks=("trg", m))) for m in ("src", "trg", "none")
        ),
        "weights-tied": When(_tied, (replace(STACKED, head="tokens"), replace(STACKED, head="table"))),
        **by_id(
            mask_ignored(
                *(Stack(replace(RIGHT, masks=masks)) for masks in (("none", "src"), ("trg", "none"), ("none", "none")))
            ),
            mask_inverted(*(Stack(replace(RIGHT, masks=masks)) for masks in INVERTED)),
            *stack_dropout(RIGHT, decoder_placed("nowhere", ("nowhere", "nowhere"))),
        ),
    },
    excluded=shared.EXCLUDED,
    builds_on=("DecoderBlock",),
)
