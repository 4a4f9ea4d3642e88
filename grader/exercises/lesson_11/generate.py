"""`generate`: draw the next token, append it, and again (Bengio et al. 2003; Radford et al. 2019, section 2)."""

from __future__ import annotations

from dataclasses import replace

from grader.exercises.lesson_11.shared import LESSON
from grader.exercises.lesson_11.writing import (
    COLD,
    DRAWS,
    FEW,
    LONG,
    LONGER,
    MODES,
    RIGHT,
    SLIPS,
    SURE,
    TRAINING,
    drawn_runs,
    draws_by_chance,
    draws_by_generator,
    fits,
    ids,
    keeps_mode,
    leaves_prompt,
    observed,
    only_new,
    records_nothing,
    writes,
    written,
    wrong,
)
from grader.spec.exercise import Exercise, Finding
from grader.spec.session import Session
from grader.spec.words import Words

mistake = Words(__file__)


def _not_cut(session: Session) -> bool:
    """Whether the model refuses a text that is too long, and short texts are right."""
    seen = observed(session, LONG)
    refused = isinstance(seen, Finding) and "max_length is" in seen.message
    return refused and (wrong(session, SURE) is None or wrong(session, COLD) is None)


def _window_returned(session: Session) -> bool:
    """Whether long texts have lost their beginning, and are right otherwise."""
    got, right = ids(session, LONG), written(drawn_runs(session)[LONG])
    if got is None or right is None or wrong(session, SURE) is not None or got.shape[1] >= right.shape[1]:
        return False
    return bool((got == right[:, -got.shape[1] :]).all())


EXERCISE = Exercise(
    name="generate",
    lesson=LESSON,
    points=3,
    signature=("model", "prompt", "new_tokens", "generator", "**sampling"),
    parts=(
        writes("writes new tokens after the prompt", 3, SURE),
        writes("passes `sampling` on to `next_token_probabilities`", 1.5, COLD, FEW),
        draws_by_chance(2),
        draws_by_generator(1),
        writes("gives the model its last max_length tokens", 1.5, LONG, LONGER),
        writes("writes in eval mode", 1, TRAINING),
        keeps_mode(0.5),
        records_nothing(0.5),
        leaves_prompt(0.5),
    ),
    mistakes=(
        *MODES,
        mistake("prompt-lost", recognise=only_new),
        *SLIPS,
        mistake("beginning-lost", recognise=_window_returned),
        mistake("context-not-cut", recognise=_not_cut),
        mistake("first-tokens-kept", recognise=fits(replace(RIGHT, given="start"), where=LONG)),
        mistake(
            "reads-first-position",
            recognise=fits(*(replace(RIGHT, reads=0, eval=mode) for mode in (True, False)), where=SURE),
        ),
        mistake(
            "forgets-the-text", recognise=fits(replace(RIGHT, given="last"), replace(RIGHT, given="prompt"), where=SURE)
        ),
        *DRAWS,
    ),
    builds_on=("next_token_probabilities",),
)
