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
from grader.spec.words import Words
from grader.subject import Request
from grader.subject.values import same
from grader.tolerance import FLOAT32

mistake = Words(__file__)

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
    """Whether module and `variant` agree when half of the entries are dropped, both with the same random numbers."""
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
    return first.ok and second.ok and not _same_but_for_rounding(first.value, second.value)


def _same_but_for_rounding(left: object, right: object) -> bool:
    """Whether two results are the same. Sums in another order, as for another place in memory, round differently."""
    if isinstance(left, Tensor) and isinstance(right, Tensor) and left.shape == right.shape:
        return torch.allclose(left, right, rtol=1e-4, atol=1e-6, equal_nan=True)
    return same(left, right)


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


DROPOUT_IN_EVAL_MODE = mistake("dropout-in-eval-mode", recognise=_random_in_eval_mode)

DROPOUT_HARD_CODED = mistake("dropout-hard-coded", recognise=_random_without_dropout)


def dropout_after_norm(*variants: Variant, doubtful: tuple[Variant, ...] = ()) -> Mistake:
    """The mistake of dropping the norm's output, as all of the variants do. Where everything is dropped the `doubtful`
    ones look like dropping the sum before the norm, so they are tried with half of it dropped as well."""
    certain, perhaps = in_training(*variants), in_training(*doubtful)

    def recognise(session: Session) -> bool:
        return certain(session) or (
            perhaps(session) and any(_same_half_dropped(session, variant) for variant in doubtful)
        )

    return mistake("dropout-after-norm", recognise=recognise)


def dropout_on_the_sum(*variants: Variant) -> Mistake:
    """The mistake of dropping the sum, before the norm, as `variants` do."""
    return mistake("dropout-on-the-sum", recognise=in_training(*variants))


def dropout_on_the_input(*variants: Variant) -> Mistake:
    """The mistake of dropping what goes into a sub-layer, as `variants` do."""
    return mistake("dropout-on-the-input", recognise=in_training(*variants))


def dropout_forgotten(*variants: Variant) -> Mistake:
    """The mistake of leaving out a dropout, as `variants` do."""
    return mistake("dropout-forgotten", recognise=in_training(*variants))


# --- stacks -----------------------------------------------------------------------------------------------------------


def layers_made(session: Session, setup: Setup, part: str = "") -> int | None:
    """How many layers have parameters of their own in a new module, or in the part of it whose names begin with `part`;
    None if it can't be made."""
    names = parameter_names(session, setup)
    return sum(n.startswith(part) and n.endswith("feed_forward.linear1.weight") for n in names) if names else None


def _layers_of_two_and_three(session: Session) -> tuple[int | None, ...]:
    """How many layers are made where two are asked for, and where three are; None where the module can't be made."""
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
    """Whether ValueError is raised where there are exactly as many tokens as `max_length`."""
    cases = [c for c in session.real_cases() if c.setup and c.args["tokens"].shape[1] == c.setup.init[-1]]
    raised = [session.call(case).raised for case in cases]
    return any(error is not None and "ValueError" in error.types for error in raised)


def _plain_norm(x: Tensor) -> Tensor:
    """A LayerNorm without parameters over the last axis of `x`; the shape stays."""
    return F.layer_norm(x, x.shape[-1:])


def stack_mistakes(layer: Block | DecoderBlock) -> tuple[Mistake, ...]:
    """The mistakes with layers and positions that an encoder or a decoder of such layers can have. `layer` is a right
    one."""
    right = Stack(layer)
    return (
        mistake("layers-in-python-list", recognise=_in_python_list),
        mistake("layers-shared", tuple(replace(right, shared=i) for i in (-1, 0)), recognise=_one_for_all),
        mistake("layers-miscounted", recognise=_miscounted),
        mistake("positions-forgotten", (replace(right, positions="none"), replace(right, positions="same"))),
        mistake("only-last-layer", (replace(right, walk="last"),)),
        mistake("only-first-layer", (replace(right, walk="first"),)),
        mistake("layers-lost", (replace(right, walk="none"),)),
        mistake("residual-around-layers", (replace(right, walk="added"),)),
        mistake("norm-at-the-end", (replace(right, last=_plain_norm),)),
        mistake("full-length-refused", recognise=_full_length_refused),
        mistake("positions-along-batch", (replace(right, positions="batch"),)),
        mistake("positions-by-token-id", (replace(right, positions="ids"),)),
        mistake("positions-from-one", (replace(right, positions="from one"),)),
        mistake("embedding-scaled", (replace(right, scale="root"), replace(right, scale="root of the sum"))),
    )


def stack_dropout(layer: Block | DecoderBlock, quiet: Block | DecoderBlock) -> tuple[Mistake, ...]:
    """The mistakes with dropout that an encoder or a decoder can have. `layer` is a right layer, and `quiet` one
    without any dropout, as when `dropout` is not passed on."""
    right = Stack(layer)
    forgotten = (
        replace(right, dropped="nothing"),
        replace(right, dropped="tokens"),
        Stack(quiet, dropped="nothing"),
    )
    not_passed_on = mistake("dropout-not-passed-on", recognise=in_training(replace(right, layer=quiet)))
    at_the_end = mistake(
        "dropout-at-the-end", recognise=in_training(replace(right, dropped="end"), Stack(quiet, dropped="end"))
    )
    return dropout_forgotten(*forgotten), not_passed_on, at_the_end, DROPOUT_IN_EVAL_MODE, DROPOUT_HARD_CODED


def mask_inverted(*variants: Variant) -> Mistake:
    """The mistake of seeing what a mask forbids and hiding what it allows, as `variants` do."""
    return mistake("mask-inverted", variants)


def _tuple_taken_for_a_tensor(session: Session) -> bool:
    raised = [session.call(case).raised for case in session.real_cases()]
    return any(error is not None and "TypeError" in error.types and "tuple" in error.message for error in raised)


ATTENTION_NOT_UNPACKED = mistake("attention-not-unpacked", recognise=_tuple_taken_for_a_tensor)


def mask_ignored(*variants: Variant) -> Mistake:
    """The mistake of not passing a mask on, as `variants` do."""
    return mistake("mask-ignored", variants)
