"""`predict` asks for a guess before the answer is shown, `compare_guess` shows the guess beside what came out."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from grader.kernel import is_attended
from grader.languages import ANSWERS as WORDS_OF_ANSWERS
from grader.languages import as_attribute, shown, spoken, words_in
from grader.learner import progress
from grader.learner.held import Bundle, holder
from grader.markup import inline
from grader.sentences import say
from grader.views.prediction import Prediction

RESULT = "Result: {outcome}"
CAME_OUT = say("Result")
ANSWERS = Path(__file__).parent / "answers"  # of the lessons, by number: what the build writes there
LOOK = "show"  # in place of a guess
NEAR = 0.1  # how far a number may be off to count as right: this share of what is possible, or else of what came out
# The predictions of this session: where nothing can be kept, the guess is still in its view.
_asked: dict[str, Prediction] = {}


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

    The guess is kept with the progress, under `name`, and earns nothing. Once what came out has been seen, it isn't
    changed any more. `guess` takes the place of the buttons where none are shown: a letter or the text of a choice, a
    number, or "show" to see what came out without a guess.
    """
    kept, seen = progress.guesses().get(name), name in progress.outcomes()
    asked = Prediction(question, choices, low=low, high=high, unit=unit, guess=kept, seen=seen)
    asked.keep(partial(_keep, name))
    _asked[name] = asked
    if guess == LOOK:
        asked.looked = True
    elif guess is not None:
        meant = asked.meant(guess)
        problem = asked.problem(meant)
        if problem:
            print(shown(say("guess={guess}: {problem}.", guess=repr(guess), problem=say(problem))))
        else:
            asked.guess = meant
    return asked


def compare_guess(name: str, outcome: Any, because: str = "") -> None:
    """Show what was guessed at `predict(name, ...)` beside what came out, and then why it came out so.

    outcome: the text of a choice, a number, or a tensor with one entry. because: markdown; without it, the course's own
    text for a prediction of this name, if it has one. In a notebook all that the cell displays is seen after a guess
    (`grader/learner/held.py`). Raises nothing for what a learner does. Where a build runs the cell, an outcome that is
    none of the choices is a ValueError.
    """
    with suppress(AttributeError, RuntimeError, ValueError):  # no tensor, or one with several entries
        outcome = outcome.item()
    asked = _asked.get(name)
    choices = asked.choices if asked is not None else []
    if choices and str(outcome) not in choices and os.environ.get("NBGRADER_EXECUTION") == "build":
        raise ValueError(f"compare_guess({name!r}): got {str(outcome)!r}, expected one of {choices}")
    _show(partial(_compared, name, outcome))
    because = because or _explanation(name)
    if because:
        _show(partial(Because, because))


def _explanation(name: str) -> str:
    """Why the outcome of the prediction `name` came out so, as its lesson says it, in the learner's language; empty for
    another's prediction."""
    if (said := words_in(spoken(), WORDS_OF_ANSWERS).get(name)) is not None:
        return said
    try:
        return str(json.loads((ANSWERS / f"{name[:2]}.json").read_text("utf-8")).get(name, ""))
    except (OSError, ValueError):
        return ""


def _show(made: Callable[[], object]) -> None:
    """Display what `made` returns: now, or once the answer may be seen."""
    from IPython.display import display

    if _holder is None or not _holder.later(lambda: _bundle(made())):
        display(made())


def _bundle(shown: object) -> Bundle:
    from IPython import get_ipython

    data, metadata = get_ipython().display_formatter.format(shown)
    return data, metadata


def _keep(name: str, guess: str | float | None, sure: int | None) -> None:
    """Keep a guess, with how sure somebody was of it (0 to 100, or None), or None for a look without one. Shows what
    waits for it."""
    if guess is not None:
        progress.record_guess(name, guess, sure)
    elif name not in progress.outcomes():
        progress.record_outcome(name, None)
    if _holder is not None:
        _holder.release(name)


def _is_open(name: str) -> bool:
    """Whether the answer of the prediction `name` may be seen."""
    asked = _asked.get(name)
    if asked is not None:
        return not is_attended() or asked.guess is not None or asked.looked or asked.seen
    return not is_attended() or name in progress.guesses() or name in progress.outcomes()


def _example(name: str) -> str:
    """A guess that would be possible for a prediction, as it stands in a call."""
    asked = _asked.get(name)
    return asked.example if asked is not None else '"a"'


def _compared(name: str, outcome: Any) -> Comparison:
    """The guess beside the outcome, with a remark. From now on the outcome counts as seen, where somebody guesses."""
    asked = _asked.get(name)
    guess = asked.guess if asked is not None else progress.guesses().get(name)
    is_right = None if guess is None else _is_right(guess, outcome, asked)
    if is_attended():
        progress.record_outcome(name, is_right)
        if asked is not None:
            asked.seen = True
    texts = _written(guess, asked), _written(outcome, asked)
    return Comparison(*texts, _remark(*texts, is_number=not isinstance(guess, str), is_right=is_right))


def _is_right(guess: str | float, outcome: Any, asked: Prediction | None) -> bool:
    """Whether a guess counts as right: the same text, or a number near enough. `asked` is the prediction on show, None
    if there is none."""
    if isinstance(guess, str) or not isinstance(outcome, int | float):
        return str(guess) == str(outcome)
    low, high = (asked.low, asked.high) if asked is not None else (None, None)
    possible = abs(outcome) if low is None or high is None else high - low
    return abs(guess - outcome) <= NEAR * possible


def _remark(guess: str, outcome: str, *, is_number: bool, is_right: bool | None) -> str:
    if is_right is None:
        return ""
    if guess == outcome:
        return say("As you guessed.")
    if is_right:
        return say("Near enough.")
    return say("Not near enough. Can you say why?") if is_number else say("Not what you guessed. Can you say why?")


def _written(value: Any, asked: Prediction | None) -> str:
    """A guess or an outcome as a reader sees it, with the unit of the prediction `asked`; empty for no guess."""
    if value is None:
        return ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return asked.written(value) if asked is not None else f"{value:.4g}"
    return say(str(value))


@dataclass(frozen=True)
class Because:
    """Why something came out as it did, in markdown."""

    text: str

    def __repr__(self) -> str:
        return self.text.strip()

    def _repr_markdown_(self) -> str:
        return self.text.strip()


@dataclass(frozen=True)
class Comparison:
    """A guess (empty if there is none) and an outcome, as texts side by side, and a sentence below them."""

    guess: str
    outcome: str
    remark: str

    def __repr__(self) -> str:
        guess = say("You guessed: {guess}", guess=self.guess) if self.guess else ""
        outcome = say(RESULT, outcome=self.outcome)
        return "\n".join(shown(line) for line in (guess, outcome, self.remark) if line)

    def _repr_html_(self) -> str:
        cells = [(say("You guessed"), self.guess)] if self.guess else []
        cells.append((CAME_OUT, self.outcome))
        heads = "".join(f'<th scope="col">{shown(head)}</th>' for head, _ in cells)
        texts = "".join(f"<td>{inline(shown(text))}</td>" for _, text in cells)
        table = f"<table{as_attribute()}><thead><tr>{heads}</tr></thead><tbody><tr>{texts}</tr></tbody></table>"
        return f"{table}<p{as_attribute()}>{inline(shown(self.remark))}</p>" if self.remark else table


_holder = holder(_is_open, _example)
