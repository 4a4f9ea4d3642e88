"""`Encoder` (Vaswani et al. 2017, section 3.1): steps 4, 5 and 15."""

from __future__ import annotations

from dataclasses import replace

from grader.exercises.lesson_07 import shared
from grader.exercises.lesson_07.mistakes import mask_ignored, mask_inverted, stack_dropout, stack_mistakes
from grader.exercises.lesson_07.variants import Attention, Block, Stack, placed
from grader.spec import parts
from grader.spec.cases import LENGTH_ONE, length_one_sizes
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Setup
from grader.spec.spec import Spec

spec = Spec(__name__)

# A norm hides by what its input was multiplied, unless something is added first.
QUIET = "one layer whose sub-layers add the same to every token"
FULL = "a mask for every query, as many tokens as max_length"
MAX_LENGTH = 100  # where it isn't given
QUIET_LAYERS = ("out_proj", "linear2")


def _cases(draw: Draw) -> list[Case]:
    two_layers, one_layer = shared.two_sizes(draw, "T", "V")
    two_layers, one_layer = {**two_layers, "L": 2}, {**one_layer, "L": 1}
    states = {
        (s["L"], longest): shared.stack_state(draw, "", s, "V", longest, decoder=False)
        for s, longest in ((two_layers, MAX_LENGTH), (one_layer, one_layer["T"]), (one_layer, MAX_LENGTH))
    }

    def case(name: str, sizes: dict[str, int], mask: str, *extra: float, double: bool = False) -> Case:
        longest = int(extra[1]) if len(extra) > 1 else MAX_LENGTH
        state = states[sizes["L"], longest]
        state = shared.silenced(state, *QUIET_LAYERS, biases=False) if name == QUIET else state
        init = (sizes["V"], sizes["E"], sizes["L"], sizes["H"], sizes["F"], *extra)
        args = {"tokens": shared.tokens_of(draw, "B T", sizes, "V"), "mask": shared.mask_of(draw, mask, sizes)}
        return shared.with_setup(name, args, sizes, Setup(init, state, training=name == shared.TRAIN), double)

    return [
        case("two layers", two_layers, "B 1 1 T"),
        case(QUIET, one_layer, "B 1 1 T"),
        case(FULL, one_layer, "B 1 T T", shared.SOME_DROPPED, one_layer["T"], double=True),
        *(case(name, one, "B 1 1 T") for name, one in length_one_sizes(one_layer).items()),
        case(shared.TRAIN, one_layer, "B 1 1 T", shared.ALL_DROPPED),
    ]


EXERCISE = spec.exercise(
    shared.encoder,
    points=4,
    signature=("vocab_size", "d_model", "num_layers", "num_heads", "d_ff", "dropout=0.0", "max_length=100"),
    outputs={"output": "B T E"},
    cases=_cases,
    parts=(
        shared.named("steps 4, 5 and 15: a vector of d_model components for every token", parts.shape("two layers")),
        parts.values("steps 4 and 5: adds its position to every token", 2, QUIET),
        parts.values("step 15: each layer works on what the one before it gave", 3, "two layers", *LENGTH_ONE),
        parts.values("steps 9 and 15: hides what the mask hides", 1.5, FULL),
        parts.values("steps 5 and 15: dropout acts on the embedding and in the layers, in train mode", 1, shared.TRAIN),
        shared.refuses_long(
            FULL,
            lambda case: (
                shared.one_more(case.args["tokens"]),
                shared.all_visible(shared.one_more(case.args["tokens"])),
            ),
        ),
        parts.float64(FULL, "two layers", weight=0.5),
        parts.unchanged("two layers", weight=0.5),
        parts.gradients("two layers"),
        parts.defaults("two layers"),
    ),
    mistakes=(
        *stack_mistakes(Block()),
        mask_ignored(Stack(replace(Block(), attention=Attention(masked="no")))),
        mask_inverted(Stack(replace(Block(), attention=Attention(masked="inverted")))),
        *stack_dropout(Block(), placed("nowhere", "nowhere")),
    ),
    excluded=shared.EXCLUDED,
    builds_on=("TransformerBlock",),
)
