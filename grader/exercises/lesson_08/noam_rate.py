"""`noam_rate`: the learning rate of Vaswani et al. (2017), section 5.3, equation 3."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

from grader.exercises.lesson_08.shared import Number, matches_any, numbers
from grader.spec.draw import Draw
from grader.spec.exercise import Case
from grader.spec.spec import Spec, When

spec = Spec(__name__)


def learning_rate(step: int, d_model: int, warmup_steps: int) -> float:
    """The right rate, with both branches written out: a straight line up to step `warmup_steps`, then a decay with the
    root of the step."""
    rise, fall = step / warmup_steps / math.sqrt(warmup_steps), 1 / math.sqrt(step)
    return (rise if step <= warmup_steps else fall) / math.sqrt(d_model)


def _with_powers(of_model: float, of_step: float, of_warmup: float) -> Number:
    """The formula with other exponents, of d_model, of the step and of warmup_steps; right are -0.5, -0.5 and -1.5."""
    return lambda step, d_model, warmup_steps: (
        d_model**of_model * min(float(step) ** of_step, step * float(warmup_steps) ** of_warmup)
    )


def _cases(draw: Draw) -> list[Case]:
    """The cases of a check: widths and warm-ups of which none is a root or a power of another, so that no mistake
    hides."""
    d_model, warmup = draw.integer(6, 30) * 16 + 7, draw.integer(3, 9) * 100 + 37
    other = draw.integer(2, 5) * 13 + 3

    def case(name: str, step: int, warmup_steps: int = warmup, width: int = d_model) -> Case:
        return Case(name, {"step": step, "d_model": width, "warmup_steps": warmup_steps})

    return [
        case("the first step", 1),
        case("in the warm-up", warmup // 3 + 1),
        case("the last step of the warm-up", warmup),
        case("just after the warm-up", warmup + draw.integer(5, 40)),
        case("long after the warm-up", warmup * draw.integer(5, 9) + 11),
        case("another width, in the warm-up", other // 2, other, 512),
        case("another width, after the warm-up", 10 * other + 3, other, 512),
        # So short that the root of the step lies below the line: this tells a wrong sign from a missing decay.
        case("a warm-up of two steps", draw.integer(40, 90), 2),
    ]


def _max(step: int, d_model: int, warmup_steps: int) -> float:
    return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)


SIGNS = [
    _with_powers(of_model, of_step, of_warmup)
    for of_model in (-0.5, 0.5)
    for of_step in (-0.5, 0.5)
    for of_warmup in (-1.5, 1.5)
    if (of_model, of_step, of_warmup) != (-0.5, -0.5, -1.5)
]


def _two_branches(of_warmup: float, last: int) -> Number:
    """The line up to step `warmup_steps - last`, then the root. `of_warmup` is the exponent of warmup_steps in the
    line, rightly -1.5."""
    return lambda step, d_model, warmup_steps: (
        d_model**-0.5 * (step * float(warmup_steps) ** of_warmup if step <= warmup_steps - last else step**-0.5)
    )


SLOPES = [
    slope
    for of_warmup in (-0.5, -1, -2)
    for slope in (_with_powers(-0.5, -0.5, of_warmup), _two_branches(of_warmup, 0), _two_branches(of_warmup, 1))
]


def _falling(power: float) -> Iterator[Number]:
    """Formulas whose decay is another `power` of the step: the smaller branch counts, or the step chooses the
    branch."""
    yield _with_powers(-0.5, power, -1.5)
    yield lambda step, d_model, warmup: d_model**-0.5 * (step * warmup**-1.5 if step <= warmup else step**power)


def _halved(width: bool, step: bool, warmup: bool) -> Number:
    """The formula with `** -1/2` and `** -3/2` without parentheses, so that the power is -1 or -3 and the result is
    halved, in those of the three powers that are True."""

    def rate(at: int, d_model: int, warmup_steps: int) -> float:
        of_warmup = float(warmup_steps) ** -3 / 2 if warmup else warmup_steps**-1.5
        return (1 / d_model / 2 if width else d_model**-0.5) * min(1 / at / 2 if step else at**-0.5, at * of_warmup)

    return lambda step, d_model, warmup_steps: rate(step, d_model, warmup_steps)


def _moved(by: int) -> Number:
    """The right rate of the step that is `by` steps later; 0 for steps below 1."""
    return lambda step, d_model, warmup_steps: learning_rate(step + by, d_model, warmup_steps) if step + by > 0 else 0.0


EXERCISE = spec.exercise(
    learning_rate,
    points=2,
    cases=_cases,
    parts=(
        numbers("rises in a straight line during the warm-up", 2, "the first step", "in the warm-up"),
        numbers("peaks at the last step of the warm-up", 1, "the last step of the warm-up"),
        numbers(
            "falls with the root of the step after the warm-up", 2, "long after the warm-up", "just after the warm-up"
        ),
        numbers(
            "takes any width and warm-up",
            1,
            "another width, in the warm-up",
            "another width, after the warm-up",
            "a warm-up of two steps",
        ),
    ),
    mistakes={
        "warmup-forgotten": When(
            matches_any(
                lambda step, d_model, warmup_steps: d_model**-0.5 * step**-0.5,
                # level, and then down
                lambda step, d_model, warmup_steps: d_model**-0.5 * max(step, warmup_steps) ** -0.5,
                lambda step, d_model, warmup_steps: d_model**-0.5 * min(step**-0.5, warmup_steps**-1.5),
                where="in the warm-up",
            )
        ),
        "decay-forgotten": When(
            matches_any(
                lambda step, d_model, warmup_steps: d_model**-0.5 * step * warmup_steps**-1.5,
                # up, and then level
                lambda step, d_model, warmup_steps: d_model**-0.5 * min(warmup_steps**-0.5, step * warmup_steps**-1.5),
                lambda step, d_model, warmup_steps: d_model**-0.5 * min(1.0, step / warmup_steps),
                where="long after the warm-up",
            )
        ),
        "warmup-slope": When(matches_any(*SLOPES, where="in the warm-up")),
        "power-precedence": When(
            matches_any(*(_halved(*which) for which in product((False, True), repeat=3) if any(which)))
        ),
        "root-of-width-forgotten": When(matches_any(_with_powers(-1, -0.5, -1.5))),
        "width-in-one-branch": When(
            matches_any(
                lambda step, d_model, warmup_steps: min(d_model**-0.5 * step**-0.5, step * warmup_steps**-1.5),
                lambda step, d_model, warmup_steps: min(step**-0.5, d_model**-0.5 * step * warmup_steps**-1.5),
                lambda step, d_model, warmup_steps: (
                    step * warmup_steps**-1.5 if step <= warmup_steps else (step * d_model) ** -0.5
                ),
                lambda step, d_model, warmup_steps: (
                    d_model**-0.5 * step * warmup_steps**-1.5 if step <= warmup_steps else step**-0.5
                ),
            )
        ),
        "peak-too-high": When(
            matches_any(lambda step, d_model, warmup: learning_rate(step, d_model, warmup) * warmup**0.5)
        ),
        "steps-counted-wrong": When(matches_any(*(_moved(by) for by in (-1, 1)))),
        "decay-too-fast": When(matches_any(*(rate for power in (-1, -1.5, -2) for rate in _falling(power)))),
        "decay-restarts": When(
            matches_any(
                lambda step, d_model, warmup: (
                    learning_rate(step, d_model, warmup)
                    if step <= warmup
                    else d_model**-0.5 * float(step - warmup) ** -0.5
                )
            )
        ),
        "fixed-number": When(
            matches_any(
                lambda step, d_model, warmup_steps: learning_rate(step, 512, warmup_steps),
                lambda step, d_model, warmup_steps: learning_rate(step, d_model, 4000),
                lambda step, d_model, warmup_steps: learning_rate(step, 512, 4000),
            )
        ),
        "exponent-sign": When(matches_any(*SIGNS)),
        "max-instead-of-min": When(matches_any(_max)),
        "width-forgotten": When(
            matches_any(lambda step, d_model, warmup_steps: min(step**-0.5, step * warmup_steps**-1.5))
        ),
    },
)
