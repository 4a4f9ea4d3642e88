"""Mistakes that several exercises of lesson 07 share: where dropout belongs, how layers are stacked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_07.shared import ALL_DROPPED, SOME_DROPPED, TRAIN, first_setup, parameter_names
from grader.exercises.lesson_07.variants import Block, DecoderBlock, Stack
from grader.spec import parts
from grader.spec.diagnose import matches
from grader.spec.exercise import Case, Mistake, Setup
from grader.spec.session import Session
from grader.subject import Request
from grader.subject.values import same
from grader.tolerance import FLOAT32

Variant = Callable[..., Tensor]


# --- dropout: recognised by the case in train mode, once eval mode is right -------------------------------------------


def in_training(*variants: Variant) -> Callable[[Session], bool]:
    """Whether the module is right in eval mode and gives what one of `variants` gives in train mode."""

    def recognise(session: Session) -> bool:
        in_eval = (case for case in session.real_cases() if case.comparable)
        if any(parts.inspect_call(session, case, FLOAT32) is not None for case in in_eval):
            return False
        return any(matches(session, variant, [session.cases[TRAIN]]) for variant in variants)

    return recognise


def _same_half_dropped(session: Session, variant: Variant) -> bool:
    """Whether module and variant agree when one half is dropped, both with the same random numbers."""
    case, seed = session.cases[TRAIN], 1
    assert case.setup is not None
    half = replace(case.setup, init=tuple(0.5 if number == ALL_DROPPED else number for number in case.setup.init))
    if not session.build(half, "half").ok:
        return False
    outcome = session.ask(Request("call", "@half", tuple(case.args.values()), seed=seed))
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        wrong = variant(half, *case.args.values())
    got = outcome.value
    return isinstance(got, Tensor) and got.shape == wrong.shape and torch.allclose(got, wrong, atol=1e-3)


def _random(session: Session, case: Case, setup: Setup) -> bool:
    """Whether a module of this setup gives other numbers with other random numbers, on the arguments of a case."""
    if not session.build(setup, "random", session.dtype(case)).ok:
        return False
    first, second = (session.ask(Request("call", "@random", tuple(case.args.values()), seed=seed)) for seed in (1, 2))
    return first.ok and second.ok and not same(first.value, second.value)


def _random_in_eval_mode(session: Session) -> bool:
    """Whether a module with dropout is random in eval mode."""
    case = next(c for c in session.real_cases() if c.setup and not c.setup.training and SOME_DROPPED in c.setup.init)
    assert case.setup is not None
    return _random(session, case, case.setup)


def _random_without_dropout(session: Session) -> bool:
    """Whether a module that is made with a dropout of 0 is random in train mode."""
    case = session.cases[TRAIN]
    assert case.setup is not None
    init = tuple(0.0 if number == ALL_DROPPED else number for number in case.setup.init)
    return _random(session, case, replace(case.setup, init=init))


DROPOUT_IN_EVAL_MODE = Mistake(
    "dropout-in-eval-mode",
    "dropout acts in eval mode too.",
    (
        "Call your module twice with the same input after `.eval()`. Should the results differ?",
        "`nn.Dropout` knows the mode of its module; `F.dropout` has to be told: what is its third argument?",
    ),
    recognise=_random_in_eval_mode,
)

DROPOUT_HARD_CODED = Mistake(
    "dropout-hard-coded",
    "with a dropout of 0 numbers are dropped in train mode: somewhere a fixed number is in its place.",
    (
        "Make the module with dropout = 0, and call it twice with the same input. Should the results differ?",
        "Which strength does each of your dropouts get, in this class and in those that it makes?",
    ),
    recognise=_random_without_dropout,
)


def dropout_after_norm(*variants: Variant, doubtful: tuple[Variant, ...] = ()) -> Mistake:
    """`variants` drop the norm's output. `doubtful` ones do too, but look like dropping the sum where everything is
    dropped."""
    certain, perhaps = in_training(*variants), in_training(*doubtful)

    def recognise(session: Session) -> bool:
        return certain(session) or (
            perhaps(session) and any(_same_half_dropped(session, variant) for variant in doubtful)
        )

    return Mistake(
        "dropout-after-norm",
        "dropout acts on what the norm gives, so it wipes out the input together with the sub-layer's output.",
        (
            "Read your line from the inside out: which is called last, the norm or the dropout?",
            "Only the sub-layer's own output is dropped: before it is added, and before anything is normalised.",
        ),
        recognise=recognise,
    )


def dropout_on_the_sum(*variants: Variant) -> Mistake:
    """`variants` drop the sum, before the norm."""
    return Mistake(
        "dropout-on-the-sum",
        "dropout acts on the sum, so the input that should get past the sub-layer is dropped as well.",
        (
            "Imagine that dropout drops everything: what should be left after the addition?",
            "Which of the two that are added should be dropped: the sub-layer's output, the input, or both?",
        ),
        recognise=in_training(*variants),
    )


def dropout_on_the_input(*variants: Variant) -> Mistake:
    """`variants` drop what goes into a sub-layer."""
    return Mistake(
        "dropout-on-the-input",
        "dropout acts on what goes into a sub-layer; it should act on what comes out.",
        (
            "Imagine that dropout drops everything: what should be left after the addition?",
            "Read your line from the inside out: which is called first, the sub-layer or the dropout?",
        ),
        recognise=in_training(*variants),
    )


def dropout_forgotten(*variants: Variant) -> Mistake:
    """`variants` leave out a dropout."""
    return Mistake(
        "dropout-forgotten",
        "in train mode something is not dropped that should be.",
        (
            "Count the places where the lesson drops something, and those where your `forward` calls a dropout.",
            "A dropout that is only in `__init__` does nothing, and `dropout` has to be passed on to inner parts.",
        ),
        recognise=in_training(*variants),
    )


# --- stacks -----------------------------------------------------------------------------------------------------------


def layers_made(session: Session, setup: Setup, part: str = "") -> int | None:
    """How many layers have parameters of their own in a new module, or in its `part`; None if it can't be made."""
    names = parameter_names(session, setup)
    return sum(n.startswith(part) and n.endswith("feed_forward.linear1.weight") for n in names) if names else None


def _layers_of_two_and_three(session: Session) -> tuple[int | None, ...]:
    """The layers made where two are asked for, and three."""
    setup = first_setup(session)
    return tuple(layers_made(session, replace(setup, init=(*setup.init[:2], n, *setup.init[3:]))) for n in (2, 3))


def _in_python_list(session: Session) -> bool:
    """Whether a new module has parameters, but none as deep as those of a block, such as `layers.0.norm1.weight`."""
    names = parameter_names(session, first_setup(session))
    return bool(names) and all(name.count(".") <= 2 for name in names)


def _one_for_all(session: Session) -> bool:
    return _layers_of_two_and_three(session) == (1, 1)


def _miscounted(session: Session) -> bool:
    made = _layers_of_two_and_three(session)
    return None not in made and 0 not in made and made not in ((1, 1), (2, 3))


def _full_length_refused(session: Session) -> bool:
    """ValueError where there are exactly as many tokens as `max_length`."""
    cases = [c for c in session.real_cases() if c.setup and c.args["tokens"].shape[1] == c.setup.init[-1]]
    raised = [session.call(case).raised for case in cases]
    return any(error is not None and "ValueError" in error.types for error in raised)


def _plain_norm(x: Tensor) -> Tensor:
    """A new LayerNorm."""
    return F.layer_norm(x, x.shape[-1:])


def stack_mistakes(layer: Block | DecoderBlock) -> tuple[Mistake, ...]:
    """Mistakes with layers and positions, in an encoder or a decoder."""
    right = Stack(layer)
    return (
        Mistake(
            "layers-in-python-list",
            "the layers stand in a plain Python list, where PyTorch finds no parameters: they would not be trained, "
            "saved or loaded.",
            (
                "Print `[name for name, _ in model.named_parameters()]`. Which parts are missing?",
                "A module registers modules that are its attributes. Which kind of list is itself a module?",
            ),
            recognise=_in_python_list,
        ),
        Mistake(
            "layers-shared",
            "all layers are one and the same: they share their parameters.",
            (
                "How many different blocks does your code make? Count the calls of the block's class.",
                "`[block] * 3` is a list that holds one block three times.",
            ),
            tuple(replace(right, shared=i) for i in (-1, 0)),
            recognise=_one_for_all,
        ),
        Mistake(
            "layers-miscounted",
            "the module has another number of layers than `num_layers` says.",
            (
                "Make one with num_layers = 2 and one with num_layers = 5, and print `len(model.layers)` of each.",
                "What does the loop in your constructor count? Compare it with the names of the arguments.",
            ),
            recognise=_miscounted,
        ),
        Mistake(
            "positions-forgotten",
            "no position is added: a token gives the same vector wherever it is.",
            (
                "Swap two tokens of a sentence. Should the two vectors only change places?",
                "Two embeddings are added. Which numbers does the second one look up?",
            ),
            (replace(right, positions="none"), replace(right, positions="same")),
        ),
        Mistake(
            "only-last-layer",
            "every layer starts from the embedding again, so only the last one counts.",
            (
                "Which variable goes into each layer, and which one takes its output?",
                "Write down for two layers what the second one gets.",
            ),
            (replace(right, walk="last"),),
        ),
        Mistake(
            "only-first-layer",
            "the loop ends after the first layer.",
            (
                "Print something in the loop. How often does it appear for a module of two layers?",
                "How far is your `return` indented? A `return` inside the loop ends it.",
            ),
            (replace(right, walk="first"),),
        ),
        Mistake(
            "layers-lost",
            "the layers run, but what they give is lost: the result is made from the embedding alone.",
            (
                "Which line takes what a layer returns, and under which name?",
                "A layer changes nothing in place. Calling it without keeping its result does nothing.",
            ),
            (replace(right, walk="none"),),
        ),
        Mistake(
            "residual-around-layers",
            "each layer's output is added to its input; the block has done that inside already.",
            (
                "How many additions has a layer? Count those inside the block, too.",
                "What one layer gives, the next takes, as it is.",
            ),
            (replace(right, walk="added"),),
        ),
        Mistake(
            "norm-at-the-end",
            "what the last layer gives is normalised once more; each layer of this model ends with a norm.",
            (
                "Which step is the last in a layer? What comes after the last layer in the lesson?",
                "A norm at the end belongs to pre-norm models (lesson 05). Is this one of them?",
            ),
            (replace(right, last=_plain_norm),),
        ),
        Mistake(
            "full-length-refused",
            "a sequence of exactly `max_length` tokens is refused.",
            (
                "Make one with max_length = 5 and give it 5 tokens. Should it raise?",
                "A table of 5 rows has rows 0 to 4. How many tokens find a row?",
            ),
            recognise=_full_length_refused,
        ),
        Mistake(
            "positions-along-batch",
            "the position is that of the sentence in the batch, not that of the token in its sentence.",
            (
                "Give it the same sentence twice in one batch. Should the two results differ?",
                "Which axis of `tokens` counts the places in a sentence?",
            ),
            (replace(right, positions="batch"),),
        ),
        Mistake(
            "positions-by-token-id",
            "the position embedding looks up the token's id instead of its place.",
            (
                "Two equal tokens at different places: should they get the same position?",
                "What numbers should the position embedding get for a sentence of three tokens?",
            ),
            (replace(right, positions="ids"),),
        ),
        Mistake(
            "positions-from-one",
            "positions are counted from one; they should be counted from zero.",
            (
                "Print the positions that you look up for a sentence of three tokens.",
                "Which row of the table does the first token get?",
            ),
            (replace(right, positions="from one"),),
        ),
        Mistake(
            "embedding-scaled",
            "the token embedding, or its sum with the position, is multiplied by the root of d_model; the paper "
            "multiplies the embedding, this model nothing.",
            (
                "Compare your embedding with steps 4 and 5, factor by factor.",
                "Which numbers are the token's vector, and its sum with the position, multiplied with?",
            ),
            (replace(right, scale="root"), replace(right, scale="root of the sum")),
        ),
    )


def stack_dropout(layer: Block | DecoderBlock, quiet: Block | DecoderBlock) -> tuple[Mistake, ...]:
    """`quiet`: the layer without any dropout, as when `dropout` is not passed on."""
    right = Stack(layer)
    forgotten = (
        replace(right, dropped="nothing"),
        replace(right, dropped="tokens"),
        Stack(quiet, dropped="nothing"),
    )
    not_passed_on = Mistake(
        "dropout-not-passed-on",
        "the layers don't get `dropout`: only what is embedded is dropped.",
        (
            "Make one with dropout = 0.5, and print `model.layers[0].dropout`.",
            "Which dropout does a layer use if you pass none?",
        ),
        recognise=in_training(replace(right, layer=quiet)),
    )
    at_the_end = Mistake(
        "dropout-at-the-end",
        "dropout acts on what the layers give; here only the embedding is dropped, and inside the layers.",
        (
            "Compare the places of dropout in your `forward` with step 5.",
            "Imagine that dropout drops everything: what should the last layer's norm still give?",
        ),
        recognise=in_training(replace(right, dropped="end"), Stack(quiet, dropped="end")),
    )
    return dropout_forgotten(*forgotten), not_passed_on, at_the_end, DROPOUT_IN_EVAL_MODE, DROPOUT_HARD_CODED


def mask_inverted(*variants: Variant) -> Mistake:
    """`variants` see what a mask forbids, and hide what it allows."""
    return Mistake(
        "mask-inverted",
        "a mask is read inverted: what it allows is hidden, what it forbids is seen.",
        (
            "Print a row of the mask. Which of its entries should get a weight: those that are True, or the others?",
            "True means: may attend. Where does your code, or what it calls, invert the mask?",
        ),
        variants,
    )


def _tuple_taken_for_a_tensor(session: Session) -> bool:
    raised = [session.call(case).raised for case in session.real_cases()]
    return any(error is not None and "TypeError" in error.types and "tuple" in error.message for error in raised)


ATTENTION_NOT_UNPACKED = Mistake(
    "attention-not-unpacked",
    "the attention returns two things, output and weights; they go on together, as a tuple.",
    (
        "Print the type of what `self.attention(...)` returns.",
        "Which of the two things goes on, and how do you take it out of a tuple?",
    ),
    recognise=_tuple_taken_for_a_tensor,
)


def mask_ignored(*variants: Variant) -> Mistake:
    """`variants` don't pass a mask on."""
    return Mistake(
        "mask-ignored",
        "the mask makes no difference: hidden keys are looked at.",
        (
            "Call it twice, with a mask and without. Does anything change?",
            "Follow the mask from the argument of `forward` to the attention: who passes it on?",
        ),
        variants,
    )
