"""`noam_rate`: the learning rate of Vaswani et al. (2017), section 5.3, equation 3."""

from __future__ import annotations

import math
from itertools import product

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


def _two_branches(of_warmup: float, last: int) -> Number:
    """The line up to the step `warmup_steps - last`, then the root."""
    return lambda step, d_model, warmup_steps: (
        d_model**-0.5 * (step * float(warmup_steps) ** of_warmup if step <= warmup_steps - last else step**-0.5)
    )


SLOPES = [
    slope
    for of_warmup in (-0.5, -1, -2)
    for slope in (_with_powers(-0.5, -0.5, of_warmup), _two_branches(of_warmup, 0), _two_branches(of_warmup, 1))
]


def _halved(width: bool, step: bool, warmup: bool) -> Number:
    """`** -1/2` and `** -3/2` without parentheses, in some of the three powers."""

    def rate(at: int, d_model: int, warmup_steps: int) -> float:
        of_warmup = float(warmup_steps) ** -3 / 2 if warmup else warmup_steps**-1.5
        return (1 / d_model / 2 if width else d_model**-0.5) * min(1 / at / 2 if step else at**-0.5, at * of_warmup)

    return lambda step, d_model, warmup_steps: rate(step, d_model, warmup_steps)


def _moved(by: int) -> Number:
    """The step moved by `by`; step 0 has the rate 0."""
    return lambda step, d_model, warmup_steps: learning_rate(step + by, d_model, warmup_steps) if step + by > 0 else 0.0


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
                lambda step, d_model, warmup_steps: d_model**-0.5 * min(step**-0.5, warmup_steps**-1.5),
                where="in the warm-up",
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
                where="long after the warm-up",
            ),
        ),
        Mistake(
            "warmup-slope",
            "the straight line has another slope: it doesn't meet the falling branch at the last step of the warm-up.",
            (
                "Print both branches for step = warmup_steps. What should be true of the two numbers?",
                "Look at the exponent of warmup_steps in the formula, and at yours.",
            ),
            recognise=matches_any(*SLOPES, where="in the warm-up"),
        ),
        Mistake(
            "power-precedence",
            "a power is divided by two where its exponent should be: `x ** -1/2` is (x ** -1) / 2.",
            (
                "What is `16 ** -1/2`, and what is `16 ** -0.5`?",
                "Python takes powers before it divides. Where do you need parentheses?",
            ),
            recognise=matches_any(*(_halved(*which) for which in product((False, True), repeat=3) if any(which))),
        ),
        Mistake(
            "root-of-width-forgotten",
            "the rate is divided by d_model; it should be divided by its root.",
            (
                "Call it with d_model = 100 and with d_model = 400. Which factor should be between the two rates?",
                "Read the exponent of d_model in the formula aloud.",
            ),
            recognise=matches_any(_with_powers(-1, -0.5, -1.5)),
        ),
        Mistake(
            "width-in-one-branch",
            "d_model counts in one of the two branches only.",
            (
                "Double the width: does the rate change in the warm-up? And after it?",
                "Where do the parentheses of `min(...)` open and close?",
            ),
            recognise=matches_any(
                lambda step, d_model, warmup_steps: min(d_model**-0.5 * step**-0.5, step * warmup_steps**-1.5),
                lambda step, d_model, warmup_steps: min(step**-0.5, d_model**-0.5 * step * warmup_steps**-1.5),
                lambda step, d_model, warmup_steps: (
                    step * warmup_steps**-1.5 if step <= warmup_steps else (step * d_model) ** -0.5
                ),
                lambda step, d_model, warmup_steps: (
                    d_model**-0.5 * step * warmup_steps**-1.5 if step <= warmup_steps else step**-0.5
                ),
            ),
        ),
        Mistake(
            "peak-too-high",
            "it rises and falls rightly, but all of it is too high by the root of warmup_steps.",
            (
                "Divide your rate by the expected one, for two different warm-ups. Do you know the numbers?",
                "Which rate does the formula give at the last step of the warm-up?",
            ),
            recognise=matches_any(lambda step, d_model, warmup: learning_rate(step, d_model, warmup) * warmup**0.5),
        ),
        Mistake(
            "steps-counted-wrong",
            "the step is moved by one: steps are counted from 1, as they are given.",
            (
                "At which step is your rate highest? Which one should it be?",
                "Is there a `+ 1` or a `- 1` in your code that the formula doesn't have?",
            ),
            recognise=matches_any(*(_moved(by) for by in (-1, 1))),
        ),
        Mistake(
            "decay-restarts",
            "after the warm-up the steps are counted from 0 again.",
            (
                "Print the last rate of the warm-up and the next one. Is there a jump?",
                "Which step is under the root after the warm-up: all steps, or those since then?",
            ),
            recognise=matches_any(
                lambda step, d_model, warmup: (
                    learning_rate(step, d_model, warmup)
                    if step <= warmup
                    else d_model**-0.5 * float(step - warmup) ** -0.5
                )
            ),
        ),
        Mistake(
            "fixed-number",
            "a number of the paper is used where an argument belongs.",
            (
                "Is each of the three arguments used?",
                "Look for 512 and 4000 in your code. Which names belong there?",
            ),
            recognise=matches_any(
                lambda step, d_model, warmup_steps: learning_rate(step, 512, warmup_steps),
                lambda step, d_model, warmup_steps: learning_rate(step, d_model, 4000),
                lambda step, d_model, warmup_steps: learning_rate(step, 512, 4000),
            ),
        ),
        Mistake(
            "exponent-sign",
            "a power has the wrong sign: it multiplies where it should divide, or divides where it should multiply.",
            (
                "A wider model, a later step, a longer warm-up: each makes the highest rate smaller. Try each alone.",
                "`x**-0.5` is 1 divided by the root of x. Read the three exponents aloud, each with its sign.",
            ),
            recognise=matches_any(*SIGNS),
        ),
        Mistake(
            "max-instead-of-min",
            "it takes the larger of the two numbers; that gives a valley instead of a peak.",
            (
                "At which step should the rate be highest? Where is yours lowest?",
                "Print both numbers for an early step and for a late one. Which of them is the rate each time?",
            ),
            recognise=matches_any(_max),
        ),
        Mistake(
            "width-forgotten",
            "the width of the model changes nothing.",
            (
                "Is each of the three arguments used?",
                "Double the width: should the rate change?",
            ),
            recognise=matches_any(lambda step, d_model, warmup_steps: min(step**-0.5, step * warmup_steps**-1.5)),
        ),
    ),
)
