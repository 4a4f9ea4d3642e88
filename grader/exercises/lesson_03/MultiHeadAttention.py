"""`MultiHeadAttention` (Vaswani et al. 2017, section 3.2.2): a module that attends to another sequence, with a mask."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_03 import shared
from grader.sentences import say
from grader.spec import compare, parts
from grader.spec.cases import LENGTH_ONE, length_one_sizes
from grader.spec.draw import Draw
from grader.spec.exclusions import MULTIHEAD_ATTENTION
from grader.spec.exercise import Case, Finding, Part, Setup, not_judged, shape_of
from grader.spec.session import Session
from grader.spec.spec import Spec, When, by_id
from grader.subject import Request
from grader.subject.values import same
from grader.tolerance import FLOAT32

spec = Spec(__name__)

PROJECTIONS = ("q_proj", "k_proj", "v_proj", "out_proj")
INPUTS = {"query": "B Tq E", "key": "B Tk E", "value": "B Tk E"}
OUTPUTS = {"output": "B Tq E", "weights": "B H Tq Tk"}


# --- reference --------------------------------------------------------------------------------------------------------


def reference(setup: Setup, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> shared.Pair:
    """The output, (B, Tq, E), and the weights, (B, H, Tq, Tk), of PyTorch's own attention, which stacks the three input
    projections. The mask is bool, True where a query may attend to a key."""
    state = setup.state
    return shared.pytorch_attention(
        (query, key, value),
        torch.cat([state[f"{name}.weight"] for name in PROJECTIONS[:3]]),
        torch.cat([state[f"{name}.bias"] for name in PROJECTIONS[:3]]),
        state["out_proj.weight"],
        state["out_proj.bias"],
        setup.init[1],
        mask,
    )


# --- cases ------------------------------------------------------------------------------------------------------------


def drawn_state(draw: Draw, width: int) -> dict[str, Tensor]:
    """Random weights, (width, width), and biases, (width,), of the four projections, by name: with a bias of zero a
    forgotten one doesn't show."""
    state = {}
    for name in PROJECTIONS:
        state[f"{name}.weight"] = draw.normal((width, width), 1.2 * width**-0.5)
        state[f"{name}.bias"] = draw.normal((width,), 0.5)
    return state


MASKS = {
    "a mask for all": "Tq Tk",
    "a mask of keys": "B 1 1 Tk",
    "a mask for each sequence and head": "B H Tq Tk",
}

FAR_BELOW = "a mask, and scores of -200 and below"  # what is hidden has to be lower still
SQUARE = "as many queries and keys as a head is wide"  # factors in the wrong order run here
ONE_LENGTH = "a mask for each sequence, as many keys as queries"  # code that confuses query and key runs here


def _cases(draw: Draw) -> list[Case]:
    sizes, others = shared.two_head_sizes(draw, "Tq", "Tk")
    same = others | {"Tk": others["Tq"]}
    states = {width: drawn_state(draw, width) for width in (sizes["E"], others["E"])}

    def case(
        name: str,
        sizes: Mapping[str, int],
        mask: str = "",
        scale: float = 0,
        double: bool = False,
        training: bool = False,
        diagnostic: bool = False,
    ) -> Case:
        dtype = torch.float64 if double else torch.float32
        shapes = {arg: shape_of(axes, sizes) for arg, axes in INPUTS.items()}
        args: dict[str, Any] = {
            arg: (draw.uniform(shape, -scale, scale) if scale else draw.normal(shape)).to(dtype)
            for arg, shape in shapes.items()
        }
        if mask:
            args["mask"] = shared.drawn_mask(draw, shape_of(mask, sizes))
        state = {key: tensor.to(dtype) for key, tensor in states[sizes["E"]].items()}
        setup = Setup((sizes["E"], sizes["H"]), state, training)
        return Case(
            name, args, sizes, diagnostic=diagnostic, comparable=not scale and name not in LENGTH_ONE, setup=setup
        )

    return [
        case("two sequences", sizes),
        case("train mode", others, training=True),
        *(case(name, sizes, axes) for name, axes in MASKS.items()),
        case(ONE_LENGTH, same, "B 1 Tq Tk"),
        case("float64", sizes, double=True),
        case("entries up to 50", sizes, scale=50),
        *(case(name, single) for name, single in length_one_sizes(sizes).items()),
        _far_below(case(FAR_BELOW, others, "B 1 1 Tk", double=True)),
        case(SQUARE, sizes | dict.fromkeys(("Tq", "Tk"), sizes["D"]), diagnostic=True),
    ]


def _far_below(case: Case) -> Case:
    """The case with biases that make every score about -144 * √head_dim, so that what is hidden has to be lower
    still."""
    assert case.setup is not None
    state = dict(case.setup.state)
    for name, bias in (("q_proj.bias", 12.0), ("k_proj.bias", -12.0)):
        state[name] = torch.full_like(state[name], bias)
    return replace(case, comparable=False, setup=replace(case.setup, state=state))


# --- wrong on purpose -------------------------------------------------------------------------------------------------

Source = tuple[int, str]  # which of query, key and value is projected, and by what


def of_module(
    attend: shared.Core,
    query: Source = (0, "q_proj"),
    key: Source = (1, "k_proj"),
    value: Source = (2, "v_proj"),
    without_bias: tuple[str, ...] = (),
) -> Callable[..., shared.Pair]:
    """A variant of `MultiHeadAttention` that attends by `attend`. `query`, `key` and `value`: the argument that each is
    made from (0 query, 1 key, 2 value) and the projection that makes it. `without_bias`: projections without theirs."""

    def forward(setup: Setup, *args: Any) -> shared.Pair:
        def project(x: Tensor, name: str) -> Tensor:
            bias = None if name in without_bias else setup.state[f"{name}.bias"]
            return F.linear(x, setup.state[f"{name}.weight"], bias)

        q, k, v = (project(args[position], name) for position, name in (query, key, value))
        mask = args[3] if len(args) > 3 else None
        return attend(q, k, v, lambda merged: project(merged, "out_proj"), setup.init[1], mask)

    return forward


def _added(scores: Tensor, mask: Tensor) -> Tensor:
    return scores + mask


def _multiplied(scores: Tensor, mask: Tensor) -> Tensor:
    return scores * mask


def _struck_out(weights: Tensor, mask: Tensor | None) -> Tensor:
    return weights if mask is None else weights * mask


def _unmasked(scores: Tensor, mask: Tensor) -> Tensor:
    return scores


def _minus_infinity_late(weights: Tensor, mask: Tensor | None) -> Tensor:
    return weights if mask is None else weights.masked_fill(~mask, -math.inf)


def _raised_message(session: Session, name: str) -> str:
    """The message of the exception on a case; empty if none was raised."""
    raised = session.call(session.cases[name]).raised
    return raised.message if raised is not None else ""


def _leaks(session: Session) -> bool:
    if parts.inspect_call(session, session.cases["two sequences"], FLOAT32) is not None:
        return False
    masked = [session.cases[name] for name in (*MASKS, ONE_LENGTH)]
    return shared.filled_too_high(session, masked, lambda case: ~case.args["mask"])


def _mask_expected(session: Session) -> bool:
    said = _raised_message(session, "two sequences")
    return ("NoneType" in said or "'mask'" in said) and session.call(session.cases[ONE_LENGTH]).ok


def _mask_as_condition(session: Session) -> bool:
    return session.call(session.cases["two sequences"]).ok and "more than one value is ambiguous" in _raised_message(
        session, "a mask for all"
    )


def _mask_reshaped(session: Session) -> bool:
    """Whether masks of four axes give right values, and a mask of two raises."""
    right = (
        parts.inspect_call(session, session.cases[name], FLOAT32) is None for name in (*list(MASKS)[1:], ONE_LENGTH)
    )
    return all(right) and session.call(session.cases["a mask for all"]).raised is not None


def _one_length(session: Session) -> bool:
    """Whether the values are right where there are as many keys as queries, and the call raises where there aren't."""
    right = parts.inspect_call(session, session.cases[ONE_LENGTH], FLOAT32) is None
    return right and session.call(session.cases["two sequences"]).raised is not None


def _one_layer(session: Session) -> bool:
    """Whether the numbers that were given to one of the projections are found in another as well."""
    setup = session.cases["two sequences"].setup
    assert setup is not None
    built = session.build(setup, "layers")
    state = session.ask(Request("state", "@layers")) if built.ok else built
    held = [state.value["parameters"].get(f"{name}.weight") for name in PROJECTIONS] if state.ok else []
    return any(isinstance(a, Tensor) and same(a, b) for a, b in itertools.combinations(held, 2))


# --- the exercise -----------------------------------------------------------------------------------------------------


def _leaves_no_trace(session: Session) -> Finding | None:
    """Calls one module with a mask and then without: the second result must not depend on the first call."""
    masked, plain = session.cases["a mask for all"], session.cases["two sequences"]
    finding = parts.inspect_call(session, plain, FLOAT32)
    if finding is not None or not session.call(masked).ok:
        return not_judged("values-first")
    assert plain.setup is not None
    name = session.exercise.name
    outcome = session.build(plain.setup, name)
    for case in (masked, plain):
        if outcome.ok:
            outcome = session.ask(Request("call", "@" + name, tuple(case.args.values())))
    values = compare.leaves(outcome.value, len(OUTPUTS)) or []
    if not outcome.ok or not values or compare.shapes(values, session.exercise, plain) is not None:
        return Finding("remembers", say("`{name}` fails on its second call, after a call with a mask.", name=name))
    if compare.values_close(values, session.expected(plain), session.exercise, plain, FLOAT32) is not None:
        said = say(
            "`{name}` was called with a mask and then without one, and the second result differs from that of a "
            "fresh module. Keep nothing from a call in `self`.",
            name=name,
        )
        return Finding("remembers", said)
    return None


EXERCISE = spec.exercise(
    reference,
    points=5,
    signature=("d_model", "num_heads"),
    outputs=OUTPUTS,
    cases=_cases,
    parts=(
        parts.shape("two sequences"),
        parts.values("attends from one sequence to another", 4, "two sequences", "train mode", *LENGTH_ONE),
        parts.values("hides what the mask hides", 3, *MASKS, ONE_LENGTH, FAR_BELOW),
        Part("keeps nothing from an earlier call", 0.5, _leaves_no_trace),
        parts.keeps("num_heads", 1, "two sequences"),
        parts.finite("stays finite with large entries", 0.5, "entries up to 50", after="two sequences"),
        parts.float64(single="two sequences", weight=0.5),
        parts.unchanged("a mask for all", weight=0.5),
        parts.gradients("two sequences"),
        replace(parts.gradients("a mask for all", weight=0.5), name="lets gradients flow where a mask hides keys"),
    ),
    mistakes={
        "one-layer-for-all": When(_one_layer),
        "mask-inverted": tuple(
            of_module(shared.core(hide=lambda scores, mask, fill=fill: scores.masked_fill(mask, fill)))  # type: ignore[misc]
            for fill in (-math.inf, -1e9)
        ),
        "mask-ignored": of_module(shared.core(hide=_unmasked)),
        "key-used-as-value": tuple(
            of_module(shared.core(), value=source) for source in ((1, "v_proj"), (2, "k_proj"), (1, "k_proj"))
        ),
        "query-used-as-key": tuple(
            of_module(shared.core(), key=source) for source in ((0, "k_proj"), (1, "q_proj"), (0, "q_proj"))
        ),
        **by_id(
            *shared.wrapped(of_module, shared.SCALED_BY_D_MODEL, shared.NO_SCALING),
            *shared.wrapped(
                of_module,
                shared.NO_OUTPUT_PROJECTION,
                shared.VIEW_WITHOUT_TRANSPOSE,
                shared.MERGE_WITHOUT_TRANSPOSE,
                shared.ONE_HEAD_ONLY,
                *shared.FURTHER,
            ),
        ),
        "self-attention-only": tuple(
            of_module(shared.core(), (i, "q_proj"), (i, "k_proj"), (i, "v_proj")) for i in (0, 1, 2)
        ),
        "value-used-as-key": tuple(
            of_module(shared.core(), key=source) for source in ((2, "k_proj"), (1, "v_proj"), (2, "v_proj"))
        ),
        "arguments-in-another-order": tuple(
            of_module(shared.core(), (q, "q_proj"), (k, "k_proj"), (v, "v_proj"))
            for q, k, v in ((2, 1, 0), (1, 0, 2), (1, 2, 0), (0, 2, 1), (2, 0, 1))
        ),
        "mask-after-softmax": tuple(
            of_module(shared.core(hide=_unmasked, after=late)) for late in (_struck_out, _minus_infinity_late)
        ),
        "zero-instead-of-minus-infinity": (
            of_module(shared.core(hide=_multiplied)),
            of_module(shared.core(hide=lambda scores, mask: scores.masked_fill(mask, 0.0))),
        ),
        "mask-added": (
            of_module(shared.core(hide=_added)),
            of_module(shared.core(hide=lambda scores, mask: scores - mask.logical_not().to(scores))),
        ),
        "zero-times-infinity": of_module(shared.core(hide=lambda scores, mask: scores + ~mask * -math.inf)),
        "small-negative-fill": When(_leaks),
        "mask-as-condition": When(_mask_as_condition),
        "mask-always-expected": When(_mask_expected),
        "mask-reshaped": When(_mask_reshaped),
        **by_id(shared.VIEW_WITHOUT_CONTIGUOUS),
        "biases-forgotten": tuple(
            of_module(shared.core(), without_bias=names) for names in (PROJECTIONS, PROJECTIONS[:3], PROJECTIONS[3:])
        ),
        "one-length-only": When(_one_length),
        "num-heads-not-kept": When(parts.not_kept("num_heads", 1, "two sequences")),
    },
    excluded=(MULTIHEAD_ATTENTION,),
    builds_on=("split_heads", "merge_heads"),
)
