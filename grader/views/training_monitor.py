"""Follows a training while it runs: progress, the loss of each step, now and then a score and what the model writes."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch
import traitlets

from grader.sentences import Several, say, together
from grader.views.base import KernelView, module, pack, style
from grader.views.picture import sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SECONDS = 0.2  # between two messages to the browser: the training should not wait for the drawing


class TrainingMonitor(KernelView):
    """Progress, loss and score of a training of `steps` steps. `score` says what is counted, for example "held-out
    dates right", and scores are shares from 0 to 1. `watched` is one example: what the model reads, and what it should
    write.

    >>> monitor = TrainingMonitor(100, score="dates right", watched=("May 2024", "2024-05"))
    >>> monitor.show([2.5, 2.0, 1.5], {2: 0.25}, {0: "7777", 2: "2020-05"}, now=True)
    >>> monitor
    Training monitor, step 3 of 100: loss 1.5, 25 % of dates right. The model writes "May 2024" as "2020-05".
    """

    _esm = module("training_monitor.js")
    _css = style("training_monitor.css")

    steps = traitlets.Int().tag(sync=True)
    score = traitlets.Unicode().tag(sync=True)
    layout_of_curves: traitlets.List[list[str | int]] = traitlets.List().tag(sync=True)
    watched: traitlets.List[str] = traitlets.List(traitlets.Unicode()).tag(sync=True)
    written: traitlets.List[list[object]] = traitlets.List(traitlets.List()).tag(sync=True)  # step and text, by step
    curves = traitlets.Bytes().tag(sync=True)  # losses (1, n); scores (k, 2): step and share

    def __init__(self, steps: int, score: str = "held-out dates right", watched: tuple[str, str] | None = None) -> None:
        if steps < 1:
            raise ValueError(f"steps: got {steps}, expected a number above zero")
        super().__init__(steps=steps, score=score, watched=list(watched or ()))
        self._shown_at = -math.inf
        self.show([], {}, now=True)

    def show(
        self,
        losses: Sequence[float],
        shares: Mapping[int, float],
        written: Mapping[int, str] | None = None,
        now: bool = False,
    ) -> None:
        """Show the losses of all steps so far and, by step, the shares that were right and what was written for the
        example. Called at every step, it updates the browser a few times a second, or at once with `now`."""
        if not now and time.monotonic() - self._shown_at < SECONDS:
            return
        self._shown_at = time.monotonic()
        self._losses, self._shares = list(losses), dict(shares)
        scores = torch.tensor(list(shares.items()), dtype=torch.float32).reshape(-1, 2)
        layout, buffer = pack({"losses": torch.tensor([list(losses)], dtype=torch.float32), "scores": scores})
        with self.hold_sync():
            self.written = [[step, text] for step, text in (written or {}).items()]
            self.layout_of_curves, self.curves = layout, buffer
            self.summary = self._in_words(losses, shares)

    def picture(self) -> Figure | None:
        """A picture of the loss and the score over the steps so far, and of what was written; None before the first
        step."""
        losses, scores = self._losses, self._shares
        if not losses:
            return None
        from matplotlib.ticker import LogFormatter

        written = changes(self.written)
        figure = sheet(11.2 if written else 8.4, 3.0)
        left, right, *text = figure.subplots(1, 3 if written else 2)
        left.plot(range(1, len(losses) + 1), losses)
        left.set_yscale("log")
        left.yaxis.set_major_formatter("{x:g}")
        left.yaxis.set_minor_formatter(LogFormatter())  # has names only where there are few powers of ten
        left.set(title=say("loss"), xlabel=say("step"), xlim=(0, self.steps))
        right.plot(list(scores), [100 * share for share in scores.values()], marker="o")
        right.set(
            title=say("{score}, %", score=say(self.score)), xlabel=say("step"), xlim=(0, self.steps), ylim=(0, 102)
        )
        for axes in text:
            axes.axis("off")
            title = say("{source}, as it writes it", source=self.watched[0])
            axes.set(title=title, ylim=(len(written) + 0.5, -0.5), xlim=(0, 1))
            for row, (step, what) in enumerate(written):
                axes.text(0.1, row, say("step {step}", step=step))
                axes.text(0.5, row, what or say("(nothing)"), family="monospace")
        return figure

    def _in_words(self, losses: Sequence[float], shares: Mapping[int, float]) -> str:
        now, numbers = {"step": len(losses), "steps": self.steps}, []
        if losses:
            numbers.append(say("loss {loss}", loss=f"{losses[-1]:.2g}"))
        if shares:
            share = f"{100 * shares[max(shares)]:.0f}"
            numbers.append(say("{share} % of {score}", share=share, score=say(self.score)))
        so_far = say("Training monitor, step {step} of {steps}, nothing to show yet.", **now)
        if numbers:
            so_far = say("Training monitor, step {step} of {steps}: {numbers}.", **now, numbers=Several(numbers, ", "))
        writes = ""
        if self.written and self.watched:
            last = self.written[-1][1]
            writes = say('The model writes "{source}" as "{written}".', source=self.watched[0], written=last)
        return together(so_far, writes)


def changes(written: Sequence[Sequence[object]], most: int = 9) -> list[tuple[object, object]]:
    """What was written, with its step, each time it changed: the first, and the last ones, `most` in all.

    >>> changes([[0, "77"], [20, "20"], [40, "20"], [60, "24"]], most=2)
    [(0, '77'), (60, '24')]
    """
    found = [(step, text) for at, (step, text) in enumerate(written) if at == 0 or text != written[at - 1][1]]
    return found if len(found) <= most else [found[0], *found[1 - most :]]
