"""`BatchNorm`: a module with running statistics (Ioffe and Szegedy 2015, section 3.1), as `nn.BatchNorm1d`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_05.mistakes import (
    BETA_SCALED,
    MEAN_ALONE,
    NO_AFFINE,
    NO_ROOT,
    bare,
    fixed,
    inside,
    outside,
)
from grader.exercises.lesson_05.mistakes import mistake as shared_mistake
from grader.exercises.lesson_05.running_state import STATS, Update, drawn_state, first_wrong, named, observed
from grader.exercises.lesson_05.shared import EPS, OFFSET, ONE_FEATURE, batch_sizes, with_offset
from grader.sentences import say
from grader.spec import compare, parts
from grader.spec.cases import tensors
from grader.spec.draw import Draw
from grader.spec.exclusions import BATCHNORM_MODULES
from grader.spec.exercise import Case, Finding, Mistake, Part, Setup, not_judged
from grader.spec.session import Session
from grader.spec.spec import Spec, When, by_id
from grader.subject import Request
from grader.tolerance import COARSE, FLOAT32

spec = Spec(__name__, shared_mistake)

INITIAL = {"weight": 1.0, "bias": 0.0, "running_mean": 0.0, "running_var": 1.0}
TRAIN, EVAL = "train mode", "eval mode"


def reference(setup: Setup, x: Tensor) -> Tensor:
    """(B, E) → (B, E): PyTorch's own BatchNorm of one batch, with the batch's statistics in train mode and the running
    ones in eval mode. The statistics get no gradient: they are not parameters."""
    state, eps = setup.state, setup.init[1] if len(setup.init) > 1 else 1e-5
    mean, var = (None if setup.training else state[name].detach() for name in STATS)
    return F.batch_norm(x, mean, var, state["weight"], state["bias"], setup.training, 0.0, eps)


def _cases(draw: Draw) -> list[Case]:
    sizes = batch_sizes(draw)
    width, state = sizes["E"], drawn_state(draw, sizes["E"])

    def case(name: str, training: bool, rows: int = sizes["B"], *init: float, double: bool = False) -> Case:
        dtype = torch.float64 if double else torch.float32
        drawn = tensors(draw, name, {"x": "B E"}, {"B": rows, "E": width}, dtype=dtype)
        own_state = {key: tensor.to(dtype) for key, tensor in state.items()}
        return replace(drawn, setup=Setup((width, *init), own_state, training))

    offset, large = case(OFFSET, True), case("entries up to 50", True)
    feature = Setup((1,), {key: tensor[:1] for key, tensor in state.items()}, True)
    return [
        case(TRAIN, True),
        case("a batch of two", True, 2),
        case(EVAL, False),
        case("train mode, eps of 0.1", True, sizes["B"], EPS),
        case("eval mode, eps of 0.1", False, sizes["B"], EPS),
        case("float64", True, double=True),
        replace(offset, args={"x": with_offset(draw, offset.args["x"], 0)}, comparable=False),
        replace(tensors(draw, ONE_FEATURE, {"x": "B E"}, {**sizes, "E": 1}, comparable=False), setup=feature),
        replace(large, args={"x": draw.uniform(large.args["x"].shape, -50, 50)}, comparable=False),
    ]


# --- parts ------------------------------------------------------------------------------------------------------------


def fresh_state(session: Session) -> dict[str, Any]:
    """The state of a new module of 6 features: its "parameters" and "buffers" by name, and the names of what is
    "saved". Or, under "finding" alone, why there is none."""

    def ask() -> dict[str, Any]:
        built = session.build(Setup((6,)), "fresh")
        outcome = session.ask(Request("state", "@fresh")) if built.ok else built
        return outcome.value if outcome.ok else {"finding": compare.run_error(outcome, session.exercise)}

    return session.once("fresh", ask)


def _registers(session: Session) -> Finding | None:
    state = fresh_state(session)
    if "finding" in state:
        return state["finding"]
    places = {"weight": "parameters", "bias": "parameters", "running_mean": "buffers", "running_var": "buffers"}
    for name, place in places.items():
        other = "buffers" if place == "parameters" else "parameters"
        if name not in state[place]:
            template = PLACES[place] if name in state[other] else NOWHERE[place]
            return Finding("wrong-registration", say(template, name=name))
        if name not in state["saved"]:
            said = say(
                "`{name}` is missing from the module's `state_dict()`, so it is lost when the model is saved. "
                "`persistent=False` leaves a buffer out.",
                name=name,
            )
            return Finding("wrong-registration", said)
        value = state[place][name]
        if not isinstance(value, Tensor) or value.shape != (6,) or not bool((value == INITIAL[name]).all()):
            shown = compare.in_words(value)
            if isinstance(value, Tensor) and value.shape == (6,):
                shown = ", ".join(map(compare.in_digits, value.tolist()))
            said = say(
                "`{name}` of a new module of 6 features is {what}, expected {start} for every feature.",
                name=name,
                what=shown,
                start=f"{INITIAL[name]:g}",
            )
            return Finding("wrong-start", said)
    return None


PLACES = {
    "parameters": "`{name}` should be one of the module's parameters, but it is one of its buffers.",
    "buffers": "`{name}` should be one of the module's buffers, but it is one of its parameters.",
}
NOWHERE = {
    "parameters": "`{name}` should be one of the module's parameters, but the module has none with this name.",
    "buffers": "`{name}` should be one of the module's buffers, but the module has none with this name.",
}


def _keeps_no_graph(session: Session) -> Finding | None:
    """Judges whether no statistic holds a graph after a batch in train mode: it would grow with every batch."""
    case = session.cases[TRAIN]
    assert case.setup is not None
    outcome = session.build(case.setup, "graph")
    args, cotangents = tuple(case.args.values()), tuple(session.cotangents(case))
    for request in (Request("call", "@graph", args, cotangents=cotangents), Request("state", "@graph")):
        outcome = session.ask(request) if outcome.ok else outcome
    if not outcome.ok:
        return not_judged("gradients-first")
    held = [name for name in STATS if name in outcome.value["tracked"]]
    if not held:
        return None
    said = say(
        "After a batch in train mode `{name}` still holds the batch's graph. With every batch the graph grows, and "
        "the second `backward()` fails. Statistics aren't trained, so use `.detach()` or `torch.no_grad()`.",
        name=held[0],
    )
    return Finding("keeps-graph", said)


def _left_alone(session: Session) -> Finding | None:
    """Judges whether a batch in eval mode leaves the statistics as they were, once training moves them."""
    moved = False
    for run, seen, finding in observed(session):
        before = tuple(run.setup.state[name] for name in STATS)
        for step, now in zip(run.steps, seen, strict=False):
            after = (now.mean, now.var)
            same = all(torch.equal(a, b) for a, b in zip(before, after, strict=True))
            if not step.training and not same:
                return Finding("moves-in-eval", "A batch in eval mode changed the running statistics.")
            moved, before = moved or not same, after
        if finding is not None:
            return finding
    return None if moved else not_judged("statistics-first")


def _several(title: str, weight: float, which: Sequence[str], training: bool | None, upto: int | None = None) -> Part:
    return Part(title, weight, lambda session: first_wrong(session, which, training, upto))


def _gradients_in_eval(session: Session) -> Finding | None:
    """Judges the gradients in eval mode, once the statistics are no parameters: gradients of these are not asked
    for."""
    if _are_parameters(session):
        return not_judged("statistics-first")
    return parts.gradients(EVAL).judge(session)


# --- mistakes ---------------------------------------------------------------------------------------------------------


def _are_parameters(session: Session) -> bool:
    state = fresh_state(session)
    return any(name in state.get("parameters", ()) for name in STATS)


def _not_registered(session: Session) -> bool:
    state = fresh_state(session)
    return "finding" not in state and not all(n in state["buffers"] or n in state["parameters"] for n in STATS)


def _averages_batches(session: Session) -> bool:
    """Whether the running statistics are plain averages of all batches in train mode, whatever the momentum."""
    several = [(run, seen) for run, seen, finding in observed(session) if finding is None]
    for run, seen in several:
        means, variances = [], []
        for step, got in zip(run.steps, seen, strict=True):
            if step.training:
                means.append(step.x.mean(0))
                variances.append(step.x.var(0))
            expected = torch.stack(means).mean(0), torch.stack(variances).mean(0)
            if not all(FLOAT32.all_close(*pair) for pair in zip((got.mean, got.var), expected, strict=True)):
                return False
    return bool(several)


def _cancels(session: Session) -> bool:
    small, large = session.cases[TRAIN], session.cases[OFFSET]
    if parts.inspect_call(session, small, FLOAT32) or parts.inspect_call(session, large, None):
        return False
    return parts.inspect_call(session, large, COARSE) is not None


def updates(update: Update) -> tuple[dict[str, Any], ...]:
    """Changes for `BatchNormVariant`: the wrong update for both statistics, and for each alone."""
    return tuple({"update": update, "updated": which} for which in (("mean", "var"), ("mean",), ("var",)))


# What the variants of each mistake change, in order of precedence.
WRONG: dict[str, tuple[dict[str, Any], ...]] = {
    "eval-uses-batch-statistics": ({"eval_uses_batch": True}, {"eval_uses_batch": True, "moves_in_eval": "after"}),
    "modes-swapped": ({"modes_swapped": True},),
    "running-stats-not-updated": updates(lambda old, now, momentum: old),
    "running-stats-updated-in-eval": ({"moves_in_eval": "after"}, {"moves_in_eval": "before"}),
    "momentum-swapped": updates(lambda old, now, momentum: momentum * old + (1 - momentum) * now),
    "momentum-ignored": ({"update": lambda old, now, momentum: 0.9 * old + 0.1 * now},),
    "last-batch-only": updates(lambda old, now, momentum: now),
    "shares-not-one": (
        *updates(lambda old, now, momentum: old + momentum * now),
        *updates(lambda old, now, momentum: (1 - momentum) * old + now),
        *updates(lambda old, now, momentum: 1 - momentum * old + momentum * now),
    ),
    "running-var-biased": ({"biased": True},),
    "train-uses-running-statistics": ({"train_uses_running": "after"}, {"train_uses_running": "before"}),
    "unbiased-variance": ({"correction": 1},),
    "no-affine": tuple({"combine": combine} for combine in NO_AFFINE),
    "beta-scaled": tuple({"combine": combine} for combine in BETA_SCALED),
    "mean-alone-divided": tuple({"combine": combine} for combine in MEAN_ALONE),
    "divides-by-variance": tuple({"divide": divide} for divide in NO_ROOT),
    "eps-outside-root": ({"divide": outside},),
    "eps-ignored": tuple({"divide": divide} for divide in (bare, fixed(inside, 1e-5), fixed(outside, 1e-7))),
    "wrong-axis": ({"axis": -1},),
}


def _changed(name: str) -> Mistake:
    return spec.mistake(name, recognise=lambda session: named(session, WRONG) == name)


EXERCISE = spec.exercise(
    reference,
    points=5,
    signature=("num_features", "eps=1e-5", "momentum=0.1"),
    outputs={"result": "B E"},
    cases=_cases,
    parts=(
        parts.shape(TRAIN),
        parts.after_values(
            Part(
                "owns weight and bias as parameters and the statistics as buffers",
                2.5,
                _registers,
                compares_values=False,
            ),
            TRAIN,
        ),
        parts.values("normalises with the batch's statistics in train mode", 2.5, TRAIN, "a batch of two", ONE_FEATURE),
        parts.values("normalises with the running statistics in eval mode", 2.5, EVAL),
        parts.values("puts the given eps where it belongs", 1, "train mode, eps of 0.1", "eval mode, eps of 0.1"),
        _several("moves the running mean in train mode", 2, ("mean",), True, 2),
        _several("moves the running variance in train mode", 2, ("var",), True, 2),
        Part("leaves the running statistics alone in eval mode", 2, _left_alone),
        parts.after_values(
            Part("keeps no graph in the running statistics", 0.5, _keeps_no_graph, compares_values=False), TRAIN
        ),
        _several("does what nn.BatchNorm1d does over several batches", 1.5, ("output", "mean", "var"), None),
        parts.offsets("is unaffected by a common offset of 1000", 1, OFFSET),
        parts.finite("stays finite with large entries", 0.5, "entries up to 50", after=TRAIN),
        parts.float64(single=TRAIN, weight=0.5),
        parts.unchanged(TRAIN, weight=0.5),
        parts.gradients(TRAIN),
        Part("lets gradients flow in eval mode", 0.5, _gradients_in_eval),
    ),
    mistakes={
        "stats-are-parameters": When(_are_parameters),
        "stats-not-registered": When(_not_registered),
        "average-of-all-batches": When(_averages_batches),
        **by_id(*(_changed(name) for name in WRONG)),
        "cancellation": When(_cancels),
    },
    excluded=(BATCHNORM_MODULES,),
    builds_on=("batch_norm",),
)
