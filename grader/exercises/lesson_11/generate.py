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
from grader.spec.exercise import Exercise, Finding, Mistake
from grader.spec.session import Session


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
        Mistake(
            "prompt-lost",
            "only the new tokens come back; the whole text is asked for, the prompt first.",
            (
                "Compare the shape of your result with (B, T + new_tokens).",
                "What do you append each new token to, and what does that begin with?",
            ),
            recognise=only_new,
        ),
        *SLIPS,
        Mistake(
            "beginning-lost",
            "a long text loses its beginning: what the model gets is cut, and what is returned with it.",
            (
                "Write more tokens than `max_length`. How many columns does the result have?",
                "There are two things: the whole text, and the part of it that the model gets. Do they share a name?",
            ),
            recognise=_window_returned,
        ),
        Mistake(
            "context-not-cut",
            "the model gets more tokens than it takes: a long text isn't cut at `model.max_length`.",
            (
                "Print how many tokens the model gets in each round, and `model.max_length`.",
                "Which part of a long text matters most for the next token?",
            ),
            recognise=_not_cut,
        ),
        Mistake(
            "first-tokens-kept",
            "of a long text the model gets the first `max_length` tokens: it never sees what it wrote last.",
            (
                "Which tokens does the model get when the text has become too long?",
                "A slice can begin at a place or end at one. Which tokens does yours keep?",
            ),
            recognise=fits(replace(RIGHT, given="start"), where=LONG),
        ),
        Mistake(
            "reads-first-position",
            "it reads the logits of the first position, which never change: the next token is predicted by the last.",
            (
                "Print the shape of the logits in each round. Which axis grows?",
                "Position t predicts what follows token t. Which position predicts what follows the last token?",
            ),
            recognise=fits(*(replace(RIGHT, reads=0, eval=mode) for mode in (True, False)), where=SURE),
        ),
        Mistake(
            "forgets-the-text",
            "the model gets only the last token, or only the prompt, not all that was written so far.",
            (
                "Print the shape of what the model gets in each round. Does it grow?",
                "What should the model know when it predicts the fifth new token?",
            ),
            recognise=fits(replace(RIGHT, given="last"), replace(RIGHT, given="prompt"), where=SURE),
        ),
        *DRAWS,
    ),
    builds_on=("next_token_probabilities",),
)
