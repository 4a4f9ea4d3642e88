"""Follows a training while it runs: progress, the loss of every step, a score now and then."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch
import traitlets

from grader.views.base import View, module, pack, style
from grader.views.picture import sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SECONDS = 0.2  # between two messages to the browser: the training should not wait for the drawing


class TrainingMonitor(View):
    """Progress, loss and score of a training of `steps` steps. `score` says what is counted, for example "held-out
    dates right"; scores are shares from 0 to 1.

    >>> monitor = TrainingMonitor(100, score="dates right")
    >>> monitor.show([2.5, 2.0, 1.5], {2: 0.25}, now=True)
    >>> monitor
    Training monitor, step 3 of 100: loss 1.5, 25 % of dates right.
    """

    _esm = module("training_monitor.js")
    _css = style("training_monitor.css")

    steps = traitlets.Int().tag(sync=True)
    score = traitlets.Unicode().tag(sync=True)
    layout_of_curves = traitlets.Dict().tag(sync=True)
    curves = traitlets.Bytes().tag(sync=True)  # losses (1, n); scores (k, 2): step and share

    def __init__(self, steps: int, score: str = "held-out dates right") -> None:
        if steps < 1:
            raise ValueError(f"steps: got {steps}, expected a number above zero")
        super().__init__(steps=steps, score=score)
        self._shown_at = -math.inf
        self.show([], {}, now=True)

    def show(self, losses: Sequence[float], shares: Mapping[int, float], now: bool = False) -> None:
        """Show all losses so far, and the shares by step. Called at every step, it updates the browser a few times a
        second, or at once with `now`."""
        if not now and time.monotonic() - self._shown_at < SECONDS:
            return
        self._shown_at = time.monotonic()
        self._losses, self._shares = list(losses), dict(shares)
        scores = torch.tensor(list(shares.items()), dtype=torch.float32).reshape(-1, 2)
        layout, buffer = pack({"losses": torch.tensor([list(losses)], dtype=torch.float32), "scores": scores})
        with self.hold_sync():
            self.layout_of_curves, self.curves = layout, buffer
            self.summary = self._in_words(losses, shares)

    def picture(self) -> Figure | None:
        """The loss and the score over the steps so far; None before the first step."""
        losses, scores = self._losses, self._shares
        if not losses:
            return None
        from matplotlib.ticker import LogFormatter

        figure = sheet(8.4, 3.0)
        left, right = figure.subplots(1, 2)
        left.plot(range(1, len(losses) + 1), losses)
        left.set_yscale("log")
        left.yaxis.set_major_formatter("{x:g}")
        left.yaxis.set_minor_formatter(LogFormatter())  # has names only where there are few powers of ten
        left.set(title="loss", xlabel="step", xlim=(0, self.steps))
        right.plot(list(scores), [100 * share for share in scores.values()], marker="o")
        right.set(title=f"{self.score}, %", xlabel="step", xlim=(0, self.steps), ylim=(0, 102))
        return figure

    def _in_words(self, losses: Sequence[float], shares: Mapping[int, float]) -> str:
        numbers = [f"loss {losses[-1]:.2g}"] if losses else []
        numbers += [f"{100 * shares[max(shares)]:.0f} % of {self.score}"] if shares else []
        so_far = f": {', '.join(numbers)}" if numbers else ", nothing to show yet"
        return f"Training monitor, step {len(losses)} of {self.steps}{so_far}."
