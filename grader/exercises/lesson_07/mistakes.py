"""Mistakes that several exercises of lesson 07 share: where dropout stands, how layers are stacked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from grader.exercises.lesson_07.shared import ALL_DROPPED, SOME_DROPPED, TRAIN, first_setup, parameter_names
from grader.exercises.lesson_07.variants import Block, DecoderBlock, Stack
from grader.spec import parts
from grader.spec.diagnose import matches
from grader.spec.exercise import Mistake
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


def _random_in_eval_mode(session: Session) -> bool:
    """Whether a module with dropout gives other numbers with other random numbers, in eval mode."""
    case = next(c for c in session.real_cases() if c.setup and not c.setup.training and SOME_DROPPED in c.setup.init)
    assert case.setup is not None
    if not session.build(case.setup, "random", session.dtype(case)).ok:
        return False
    first, second = (session.ask(Request("call", "@random", tuple(case.args.values()), seed=seed)) for seed in (1, 2))
    return first.ok and second.ok and not same(first.value, second.value)


DROPOUT_IN_EVAL_MODE = Mistake(
    "dropout-in-eval-mode",
    "dropout acts in eval mode too.",
    ("`nn.Dropout` knows the mode of its module; `F.dropout` has to be told: what is its third argument?",),
    recognise=_random_in_eval_mode,
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
        ("Which of the two that are added should be dropped: the sub-layer's output, the input, or both?",),
        recognise=in_training(*variants),
    )


def dropout_forgotten(*variants: Variant) -> Mistake:
    """`variants` leave out a dropout."""
    return Mistake(
        "dropout-forgotten",
        "in train mode something is not dropped that should be.",
        (
            "Count: how many sub-layers has the module, and how often does `forward` call a dropout?",
            "A dropout that stands in `__init__` only does nothing, and `dropout` has to be passed on to inner parts.",
        ),
        recognise=in_training(*variants),
    )


# --- stacks -----------------------------------------------------------------------------------------------------------


def _layers_made(session: Session) -> int | None:
    """How many layers have parameters in a new module of the first setup; None if it can't be made."""
    names = parameter_names(session, first_setup(session))
    return sum(name.endswith("feed_forward.linear1.weight") for name in names) if names else None


def _in_python_list(session: Session) -> bool:
    """Whether a new module has parameters, but none as deep as those of a block, such as `layers.0.norm1.weight`."""
    names = parameter_names(session, first_setup(session))
    return bool(names) and all(name.count(".") <= 2 for name in names)


def _one_for_all(session: Session) -> bool:
    return _layers_made(session) == 1 < first_setup(session).init[2]


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
            "positions-forgotten",
            "no position is added: a token gives the same vector wherever it stands.",
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
            ("How far is your `return` indented? A `return` inside the loop ends it.",),
            (replace(right, walk="first"),),
        ),
        Mistake(
            "positions-along-batch",
            "the position is that of the sentence in the batch, not that of the token in its sentence.",
            ("Which axis of `tokens` counts the places in a sentence?",),
            (replace(right, positions="batch"),),
        ),
        Mistake(
            "positions-by-token-id",
            "the position embedding looks up the token's id instead of its place.",
            ("What numbers should the position embedding get for a sentence of three tokens?",),
            (replace(right, positions="ids"),),
        ),
        Mistake(
            "positions-from-one",
            "positions are counted from one.",
            ("Which row of the table does the first token get?",),
            (replace(right, positions="from one"),),
        ),
        Mistake(
            "embedding-scaled",
            "the token embedding is multiplied by the root of d_model, as the paper does it and this model does not.",
            ("Compare your embedding with steps 4 and 5, factor by factor.",),
            (replace(right, scale="root"),),
        ),
    )


def stack_dropout(layer: Block | DecoderBlock, quiet: Block | DecoderBlock) -> tuple[Mistake, ...]:
    """`quiet`: the layer without any dropout, as when `dropout` is not passed on."""
    right = Stack(layer)
    variants = (replace(right, drop=False), replace(right, layer=quiet), Stack(quiet, drop=False))
    return (dropout_forgotten(*variants), DROPOUT_IN_EVAL_MODE)


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
