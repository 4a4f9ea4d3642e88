"""`generate`: draw the next token, append it, and again (Bengio et al. 2003; Radford et al. 2019, section 2)."""

from __future__ import annotations

from dataclasses import replace

from grader.exercises.lesson_11 import writing
from grader.spec.exercise import Finding
from grader.spec.session import Session
from grader.spec.spec import Spec, When, by_id

spec = Spec(__name__)


def _not_cut(session: Session) -> bool:
    """Whether the model refuses a text that is too long, and short texts are right."""
    seen = writing.observed(session, writing.LONG)
    refused = isinstance(seen, Finding) and "max_length is" in seen.message
    return refused and (writing.wrong(session, writing.SURE) is None or writing.wrong(session, writing.COLD) is None)


def _window_returned(session: Session) -> bool:
    """Whether long texts have lost their beginning, and are right otherwise."""
    got, right = writing.ids(session, writing.LONG), writing.written(writing.drawn_runs(session)[writing.LONG])
    if (
        got is None
        or right is None
        or writing.wrong(session, writing.SURE) is not None
        or got.shape[1] >= right.shape[1]
    ):
        return False
    return bool((got == right[:, -got.shape[1] :]).all())


EXERCISE = spec.exercise(
    points=3,
    signature=("model", "prompt", "new_tokens", "generator", "**sampling"),
    parts=(
        writing.writes("writes new tokens after the prompt", 3, writing.SURE),
        writing.writes("passes `sampling` on to `next_token_probabilities`", 1.5, writing.COLD, writing.FEW),
        writing.draws_by_chance(2),
        writing.draws_by_generator(1),
        writing.writes("gives the model its last max_length tokens", 1.5, writing.LONG, writing.LONGER),
        writing.writes("writes in eval mode", 1, writing.TRAINING),
        writing.keeps_mode(0.5),
        writing.records_nothing(0.5),
        writing.leaves_prompt(0.5),
    ),
    mistakes={
        **by_id(*writing.MODES),
        "prompt-lost": When(writing.only_new),
        **by_id(*writing.SLIPS),
        "beginning-lost": When(_window_returned),
        "context-not-cut": When(_not_cut),
        "first-tokens-kept": When(writing.fits(replace(writing.RIGHT, given="start"), where=writing.LONG)),
        "reads-first-position": When(
            writing.fits(*(replace(writing.RIGHT, reads=0, eval=mode) for mode in (True, False)), where=writing.SURE)
        ),
        "forgets-the-text": When(
            writing.fits(
                replace(writing.RIGHT, given="last"), replace(writing.RIGHT, given="prompt"), where=writing.SURE
            )
        ),
        **by_id(*writing.DRAWS),
    },
    builds_on=("next_token_probabilities",),
)
