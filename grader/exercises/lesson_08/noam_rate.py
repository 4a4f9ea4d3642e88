"""`noam_rate`: the learning rate of Vaswani et al. (2017), section 5.3, equation 3."""

from __future__ import annotations

import math

from grader.exercises.lesson_08.shared import LESSON, Number, matches_any, numbers
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Exercise, Mistake


def learning_rate(step: int, d_model: int, warmup_steps: int) -> float:
    """Both branches written out: a straight line up to the last step of the warm-up, then the decay with the root."""
    rise, fall = step / warmup_steps / math.sqrt(warmup_steps), 1 / math.sqrt(step)
    return (rise if step <= warmup_steps else fall) / math.sqrt(d_model)


def _with_powers(of_model: float, of_step: float, of_warmup: float) -> Number:
    """The formula with these exponents."""
    return lambda step, d_model, warmup_steps: (
        d_model**of_model * min(float(step) ** of_step, step * float(warmup_steps) ** of_warmup)
    )


def _cases(draw: Draw) -> list[Case]:
    """Widths and warm-ups of which none is a root or power of another."""
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
        case("another width, after it", 10 * other + 3, other, 512),
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

EXERCISE = Exercise(
    name="noam_rate",
    lesson=LESSON,
    points=2,
    signature=("step", "d_model", "warmup_steps"),
    cases=_cases,
    reference=learning_rate,
    parts=(
        numbers("rises in a straight line during the warm-up", 2, "the first step", "in the warm-up"),
        numbers("peaks at the last step of the warm-up", 1, "the last step of the warm-up"),
        numbers("falls with the root of the step after it", 2, "long after the warm-up", "just after the warm-up"),
        numbers(
            "takes any width and warm-up",
            1,
            "another width, in the warm-up",
            "another width, after it",
            "a warm-up of two steps",
        ),
    ),
    mistakes=(
        Mistake(
            "warmup-forgotten",
            "it never rises: there is no warm-up.",
            (
                "Print it for steps 1, 2 and 3. Should it rise or fall there?",
                "The formula takes the smaller of two numbers. Which of them is small at the first steps?",
            ),
            recognise=matches_any(
                lambda step, d_model, warmup_steps: d_model**-0.5 * step**-0.5,
                # level, and then down
                lambda step, d_model, warmup_steps: d_model**-0.5 * max(step, warmup_steps) ** -0.5,
            ),
        ),
        Mistake(
            "decay-forgotten",
            "it rises for ever: after the warm-up it should fall again.",
            (
                "Print it for ten times as many steps as the warm-up has.",
                "The formula takes the smaller of two numbers. Which of them is small at late steps?",
            ),
            recognise=matches_any(
                lambda step, d_model, warmup_steps: d_model**-0.5 * step * warmup_steps**-1.5,
                # up, and then level
                lambda step, d_model, warmup_steps: d_model**-0.5 * min(warmup_steps**-0.5, step * warmup_steps**-1.5),
                lambda step, d_model, warmup_steps: d_model**-0.5 * min(1.0, step / warmup_steps),
            ),
        ),
        Mistake(
            "exponent-sign",
            "a power has the wrong sign: it multiplies where it should divide, or the other way round.",
            (
                "A wider model, a later step, a longer warm-up: each makes the highest rate smaller. Try each alone.",
                "`x**-0.5` is 1 divided by the root of x. Read the three exponents aloud, each with its sign.",
            ),
            recognise=matches_any(*SIGNS),
        ),
        Mistake(
            "max-instead-of-min",
            "it takes the larger of the two numbers; that gives a valley instead of a peak.",
            ("At which step should the rate be highest? Where is yours lowest?",),
            recognise=matches_any(_max),
        ),
        Mistake(
            "width-forgotten",
            "the width of the model changes nothing.",
            ("Is each of the three arguments used?",),
            recognise=matches_any(lambda step, d_model, warmup_steps: min(step**-0.5, step * warmup_steps**-1.5)),
        ),
    ),
)
