"""`GPTBlock`: a pre-norm block with causal attention (Radford et al. 2019, section 2.3; Su et al. 2021)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch.nn.functional as F
from torch import Tensor

from grader.exercises.lesson_07 import mistakes
from grader.exercises.lesson_07 import shared as lesson_07
from grader.exercises.lesson_07.variants import Layer
from grader.exercises.lesson_11.shared import PRE_NORM, Alone, Rotary, block, two_sizes
from grader.sentences import say
from grader.spec import compare, parts
from grader.spec.cases import LENGTH_ONE, length_one_sizes
from grader.spec.diagnose import right
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Finding, Part, Setup, shape_of
from grader.spec.session import Session
from grader.spec.spec import Spec, When, by_id
from grader.subject import Outcome, Request
from grader.tolerance import FLOAT32

spec = Spec(__name__)


def gpt_block(setup: Setup, x: Tensor) -> Tensor:
    """What `GPTBlock` should give for `x` (B, T, E), in the same shape. Where everything is dropped the sub-layers add
    nothing."""
    return block(setup.state, setup.init[1], x, 0.0 if lesson_07.drops(setup, 3) else 1.0)


QUIET, OTHER = "silent feed-forward layers", "another width, float64"


def _cases(draw: Draw) -> list[Case]:
    sizes, others = two_sizes(draw)
    states = {s["E"]: lesson_07.block_state(draw, "", s["E"], s["F"]) for s in (sizes, others)}

    def case(name: str, sizes: dict[str, int], *dropout: float, double: bool = False) -> Case:
        state = states[sizes["E"]]
        state = lesson_07.silenced(state, "linear2") if name == QUIET else state
        setup = Setup((sizes["E"], sizes["H"], sizes["F"], *dropout), state, training=name == lesson_07.TRAIN)
        return lesson_07.with_setup(name, {"x": draw.normal(shape_of("B T E", sizes))}, sizes, setup, double)

    return [
        case("two sequences", sizes),
        case(QUIET, others),
        case(OTHER, others, lesson_07.SOME_DROPPED, double=True),
        *(case(name, one) for name, one in length_one_sizes(sizes).items()),
        case(lesson_07.TRAIN, sizes, lesson_07.ALL_DROPPED),
    ]


def _another_attention(session: Session) -> bool:
    """Whether the attention was given arguments that it doesn't have, or too few."""
    words = (
        "unexpected keyword argument 'is_causal'",
        "unexpected keyword argument 'cache'",
        "'key' and 'value'",
        "positional arguments but",
    )
    first = next(iter(session.raised), None)
    if first is None or "TypeError" not in first.types or "forward" not in first.message:
        return False
    return any(word in first.message for word in words)


def _with_empty_cache(session: Session) -> Outcome | None:
    """What a call with an empty cache gives; None if the block takes no `cache` or returns anything but a tensor."""

    def ask() -> Outcome | None:
        x = session.cases["two sequences"].args["x"]
        session.build(lesson_07.first_setup(session), "cached")
        by_name = session.ask(Request("call", "@cached", (x,), keywords={"cache": {}}))
        outcome = session.ask(Request("call", "@cached", (x, {}))) if by_name.ok else by_name
        return outcome if outcome.ok and isinstance(outcome.value, Tensor) else None

    return session.once("an empty cache", ask)


def _same_with_cache(session: Session) -> Finding | None:
    """Why an empty cache changes the result, None if it doesn't or no cache is taken: nothing came before."""
    outcome, case = _with_empty_cache(session), session.cases["two sequences"]
    if outcome is None:
        return None
    finding = compare.shapes([outcome.value], session.exercise, case) or compare.values_close(
        [outcome.value], session.expected(case), session.exercise, case, FLOAT32
    )
    if finding is None:
        return None
    return replace(finding, message=say("With an empty cache, {}: {message}", message=finding.message))


def _not_causal_with_cache(session: Session) -> bool:
    """Whether the block is right without a cache, and sees later tokens with an empty one."""
    outcome, case = _with_empty_cache(session), session.cases["two sequences"]
    if outcome is None or not right(session, case):
        return False
    sees_all = (session.evaluate(case, _attending(causal="no", turns=turns)) for turns in (True, False))
    return any(
        outcome.value.shape == expected.shape and FLOAT32.all_close(outcome.value, expected) for expected in sees_all
    )


def _hands_on(session: Session) -> Finding | None:
    """Why a cache isn't handed on to the attention, being still empty after the call. None if it isn't, or no cache is
    taken."""
    outcome = _with_empty_cache(session)
    if outcome is None or 1 in outcome.changed:
        return None
    return Finding("cache-unused", "The block was called with an empty cache, which was still empty after the call.")


# --- wrong on purpose -------------------------------------------------------------------------------------------------


def _but(**changes: object) -> Alone:
    return Alone(replace(PRE_NORM, **changes))  # type: ignore[arg-type]


def _norms(first: str, second: str) -> Alone:
    return _but(first=Layer(first, "pre"), second=Layer(second, "pre"))


def _ordered(order: str) -> tuple[Alone, ...]:
    """Blocks with another order of norm and addition, as in `Layer`: in both sub-layers, in the second, in the
    first."""
    first, second = Layer("norm1", order), Layer("norm2", order)
    return _but(first=first, second=second), _but(second=second), _but(first=first)


def _dropped(first: str, second: str) -> Alone:
    """A block with its dropouts at other places: `first` and `second` say where, in its two sub-layers."""
    return _but(first=Layer("norm1", "pre", first), second=Layer("norm2", "pre", second))  # type: ignore[arg-type]


def _normalised_after(norm: str) -> Callable[[Setup, Tensor], Tensor]:
    """The right block, with one of its norms, `norm`, once more on its output."""

    def variant(setup: Setup, x: Tensor) -> Tensor:
        out = gpt_block(setup, x)
        return F.layer_norm(out, out.shape[-1:], setup.state[f"{norm}.weight"], setup.state[f"{norm}.bias"])

    return variant


def _one_norm(session: Session) -> bool:
    """Whether a new module has `norm1`, and no other LayerNorm."""
    names = lesson_07.parameter_names(session, lesson_07.first_setup(session))
    return "norm1.weight" in names and sum("norm" in name for name in names) == 2


def _attending(**changes: object) -> Alone:
    return _but(attention=Rotary(**changes))  # type: ignore[arg-type]


EXERCISE = spec.exercise(
    gpt_block,
    points=4,
    signature=("d_model", "num_heads", "d_ff", "dropout=0.0"),
    outputs={"output": "B T E"},
    cases=_cases,
    parts=(
        parts.shape("two sequences"),
        parts.values("normalises, attends to what came before, adds", 2, QUIET),
        parts.values("normalises, feed-forward layers, adds", 2, "two sequences", *LENGTH_ONE),
        parts.after_values(
            parts.values("drops each sub-layer's output before it is added, in train mode", 1, lesson_07.TRAIN),
            "two sequences",
        ),
        parts.float64(OTHER, "two sequences", weight=0.5),
        parts.unchanged("two sequences", weight=0.5),
        parts.gradients("two sequences"),
        parts.defaults("two sequences"),
        parts.after_values(Part("gives the same with an empty cache", 1, _same_with_cache), "two sequences"),
        parts.after_values(Part("hands its cache on", 0.5, _hands_on, compares_values=False), "two sequences"),
    ),
    mistakes={
        "another-attention": When(_another_attention),
        "post-norm-instead": _ordered("post"),
        "residual-forgotten": tuple(_but(adds=adds) for adds in (("", "x"), ("query", ""), ("", ""))),
        "same-norm-twice": When(_one_norm, (_norms("norm1", "norm1"), _norms("norm2", "norm2"))),
        "norms-swapped": _norms("norm2", "norm1"),
        "not-causal": (_attending(causal="no"), _attending(causal="no", turns=False)),
        "sees-too-little": _attending(causal="too much"),
        "positions-forgotten": _attending(turns=False),
        "normalised-input-added": _ordered("first"),
        "norm-of-the-output": _ordered("before"),
        "norm-forgotten": _ordered("none"),
        "norm-at-the-end-too": (_normalised_after("norm2"), _normalised_after("norm1")),
        "second-residual-from-input": _but(adds=("query", "query")),
        "feed-forward-from-input": (_but(feeds="query"), _but(feeds="query", adds=("query", "query"))),
        **by_id(
            mistakes.dropout_on_the_sum(_dropped("sum", "sum"), _dropped("sum", "output"), _dropped("output", "sum")),
            mistakes.dropout_on_the_input(
                _dropped("output", "input"), _dropped("input", "output"), _dropped("input", "input")
            ),
            mistakes.dropout_forgotten(
                _dropped("nowhere", "nowhere"), _dropped("output", "nowhere"), _dropped("nowhere", "output")
            ),
            mistakes.DROPOUT_IN_EVAL_MODE,
            mistakes.DROPOUT_HARD_CODED,
        ),
        "not-causal-with-a-cache": When(_not_causal_with_cache),
        "cache-not-handed-on": When(lambda session: _hands_on(session) is not None),
    },
)
