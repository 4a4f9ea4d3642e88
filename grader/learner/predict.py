"""`predict` asks for a guess before the answer is shown, `compare_guess` shows the guess beside what came out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from grader.learner import progress
from grader.markup import inline
from grader.views.prediction import Prediction

CAME_OUT = "It came out"
# The predictions of this session: where nothing can be kept, the guess is still in its view.
_shown: dict[str, Prediction] = {}
# The guesses beside which an outcome was shown first, in this kernel.
_first_guesses: dict[str, str] = {}


def predict(
    name: str,
    question: str,
    choices: Sequence[str] = (),
    *,
    low: float | None = None,
    high: float | None = None,
    unit: str = "",
    guess: str | float | None = None,
) -> Prediction:
    """Ask for a guess: one of `choices`, or a number from `low` to `high` in a `unit`.

    The guess is kept with the progress, under `name`, and earns nothing. `guess` takes the place of the buttons where
    none are shown: a letter or the text of a choice, or a number.
    """
    kept = progress.guesses().get(name)
    keep = partial(progress.record_guess, name)
    shown = Prediction(question, choices, low=low, high=high, unit=unit, guess=kept, keep=keep)
    _shown[name] = shown
    if guess is not None:
        meant = shown.meant(guess)
        problem = shown.problem(meant)
        if problem:
            print(f"guess={guess!r}: {problem}.")
        else:
            shown.guess = meant
    return shown


def compare_guess(name: str, outcome: Any) -> None:
    """Show what was guessed at `predict(name, ...)` beside what came out.

    outcome: the text of a choice, a number, or a tensor with one entry. Without a guess it says so, and shows what came
    out. Raises nothing for what a learner does. Where a build runs the cell, an outcome that is none of the choices is
    a ValueError.
    """
    with suppress(AttributeError, RuntimeError, ValueError):  # no tensor, or one with several entries
        outcome = outcome.item()
    shown = _shown.get(name)
    choices = shown.choices if shown is not None else []
    if choices and str(outcome) not in choices and os.environ.get("NBGRADER_EXECUTION") == "build":
        raise ValueError(f"compare_guess({name!r}): got {str(outcome)!r}, expected one of {choices}")
    from IPython.display import display

    guess = shown.guess if shown is not None else progress.guesses().get(name)
    texts = _written(guess, shown), _written(outcome, shown)
    first = _first_guesses.setdefault(name, texts[0]) if texts[0] else ""
    display(Comparison(*texts, _remark(name, *texts, is_number=not isinstance(guess, str), first=first)))


def _remark(name: str, guess: str, outcome: str, is_number: bool, first: str) -> str:
    if not guess:
        return f'You haven\'t guessed yet: guess at predict("{name}", ...), then run this cell again.'
    if first != guess:
        return f"Before you saw what came out, you guessed: {first}."
    if guess == outcome:
        return "As you guessed."
    # How near a number has to be is for the learner to say.
    return "" if is_number else "Not what you guessed: can you say why?"


def _written(value: Any, shown: Prediction | None) -> str:
    """A guess or an outcome for a reader; empty for no guess."""
    if value is None:
        return ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return shown.written(value) if shown is not None else f"{value:.4g}"
    return str(value)


@dataclass(frozen=True)
class Comparison:
    """A guess (empty if there is none) and an outcome, as texts side by side, and a sentence below them."""

    guess: str
    outcome: str
    remark: str

    def __repr__(self) -> str:
        guess = f"You guessed: {self.guess}" if self.guess else ""
        return "\n".join(line for line in (guess, f"{CAME_OUT}: {self.outcome}", self.remark) if line)

    def _repr_html_(self) -> str:
        cells = [("You guessed", self.guess)] if self.guess else []
        cells.append((CAME_OUT, self.outcome))
        heads = "".join(f'<th scope="col">{head}</th>' for head, _ in cells)
        texts = "".join(f"<td>{inline(text)}</td>" for _, text in cells)
        table = f"<table><thead><tr>{heads}</tr></thead><tbody><tr>{texts}</tr></tbody></table>"
        return f"{table}<p>{inline(self.remark)}</p>" if self.remark else table
