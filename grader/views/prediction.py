"""A question that is answered by a guess before the answer can be seen."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from string import ascii_lowercase

import traitlets

from grader.languages import shown
from grader.sentences import say
from grader.views.base import KernelView, module, style

Keep = Callable[[str | float | None, int | None], object]


class Prediction(KernelView):
    """Takes a guess: one of `choices`, or, without any, a number from `low` to `high` in some `unit`.

    `guess` is the text of a choice or a number, and None before there is one; `sure` says how sure somebody is of it,
    from 0 to 100, or None. `looked` becomes true where somebody wants to see what came out without a guess, `seen` once
    it was shown; from then on the guess stays. What `keep` takes is called with every guess, and with None for a look.

    >>> prediction = Prediction("Which row is larger?", ["row 0", "row 1"])
    >>> prediction
    Predict: Which row is larger?
      a. row 0
      b. row 1
    You haven't guessed yet. Run the cell and choose; where no buttons appear, add your guess: predict(..., guess="a").
    >>> prediction.guess = "row 1"
    >>> prediction.summary.splitlines()[-1]
    'Your guess: row 1.'
    """

    opening = "Predict:"

    _esm = module("prediction.js")
    _css = style("prediction.css")

    question = traitlets.Unicode().tag(sync=True)
    choices: traitlets.List[str] = traitlets.List(traitlets.Unicode()).tag(sync=True)
    low = traitlets.Float(None, allow_none=True).tag(sync=True)
    high = traitlets.Float(None, allow_none=True).tag(sync=True)
    unit = traitlets.Unicode().tag(sync=True)
    guess = traitlets.Any(None, allow_none=True).tag(sync=True, echo_update=False)
    sure = traitlets.Int(None, min=0, max=100, allow_none=True).tag(sync=True)
    looked = traitlets.Bool(False).tag(sync=True)
    seen = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self,
        question: str,
        choices: Sequence[str] = (),
        *,
        low: float | None = None,
        high: float | None = None,
        unit: str = "",
        guess: str | float | None = None,
        seen: bool = False,
    ) -> None:
        if len(choices) == 1 or len(set(choices)) < len(choices):
            raise ValueError(
                f"choices: got {list(choices)}, expected several different ones, or none to ask for a number"
            )
        super().__init__(question=question, choices=list(choices), low=low, high=high, unit=unit)
        self._keep: Keep = lambda _guess, _sure: None
        if guess is not None and not self.problem(guess):
            self.guess = guess
        self.seen = seen and (self.guess is not None or guess is None)  # not where the question is a new one
        self.summary = self._in_words()

    def keep(self, keep: Keep) -> None:
        """Have `keep` called with every guess from now on, and with None for a look without one."""
        self._keep = keep

    def problem(self, guess: object) -> str:
        """What is wrong with a guess, as the end of a sentence; empty if nothing is."""
        if self.choices:
            letters = ", ".join(ascii_lowercase[: len(self.choices)])
            return "" if guess in self.choices else say("expected one of the letters {letters}", letters=letters)
        number = isinstance(guess, int | float) and not isinstance(guess, bool) and math.isfinite(guess)
        if number and self._within(guess):  # type: ignore[arg-type]
            return ""
        if self.low is not None and self.high is not None:
            return say("expected a number from {low} to {high}", low=f"{self.low:g}", high=f"{self.high:g}")
        if self.low is not None:
            return say("expected a number from {low}", low=f"{self.low:g}")
        if self.high is not None:
            return say("expected a number up to {high}", high=f"{self.high:g}")
        return say("expected a number")

    def _within(self, number: float) -> bool:
        return (self.low is None or number >= self.low) and (self.high is None or number <= self.high)

    def meant(self, guess: object) -> object:
        """The guess that is meant by what was written into a call: a letter stands for its choice, a number in quotes
        for the number, with or without its unit, all else for itself."""
        if not isinstance(guess, str) or guess in self.choices:
            return guess
        if self.choices:
            return dict(zip(ascii_lowercase, self.choices, strict=False)).get(guess.lower(), guess)
        try:
            return float(guess.strip().removesuffix(self.unit))
        except ValueError:
            return guess

    @property
    def example(self) -> str:
        """A guess that is possible, as it stands in a call: a letter in quotes, or the middle of what a number may be.

        >>> Prediction("How many?", low=0, high=100, unit="%").example, Prediction("Which?", ["one", "two"]).example
        ('50', '"a"')
        """
        if self.choices:
            return '"a"'
        return "0.5" if self.low is None or self.high is None else f"{(self.low + self.high) / 2:g}"

    def written(self, guess: str | float) -> str:
        """A guess as a reader sees it, a number with its unit."""
        if not isinstance(guess, int | float):
            return say(guess)
        number = f"{guess:.4g}"
        return say("{number} {unit}", number=number, unit=say(self.unit)) if self.unit else number

    @traitlets.validate("guess")
    def _possible(self, proposal: traitlets.Bunch) -> str | float | None:
        guess: str | float | None = self.guess if self.seen else proposal["value"]
        problem = "" if guess is None else self.problem(guess)
        if problem:
            raise traitlets.TraitError(f"guess: got {guess!r}, {problem}")
        return guess

    @traitlets.observe("guess")
    def _on_guess(self, _change: traitlets.Bunch) -> None:
        self.summary = self._in_words()
        if self.guess is not None:
            self._keep(self.guess, self.sure)

    @traitlets.observe("looked")
    def _on_look(self, _change: traitlets.Bunch) -> None:
        if self.guess is None:
            self._keep(None, None)

    def _how(self) -> str:
        if self.choices:
            return say(
                "You haven't guessed yet. Run the cell and choose; where no buttons appear, add your guess: "
                "predict(..., guess={example}).",
                example=self.example,
            )
        return say(
            "You haven't guessed yet. Run the cell and type a number; where no buttons appear, add your guess: "
            "predict(..., guess={example}).",
            example=self.example,
        )

    def _in_words(self) -> str:
        lines = [say("Predict: {question}", question=say(self.question))]
        lines += [f"  {letter}. {shown(text)}" for letter, text in zip(ascii_lowercase, self.choices, strict=False)]
        if self.guess is None:
            lines.append(self._how())
        else:
            lines.append(say("Your guess: {guess}.", guess=self.written(self.guess)))
        return "\n".join(map(shown, lines))
