"""The nineteen steps of a Transformer with the shapes that go in and out, and a learner's own model held against them
(Vaswani et al. 2017, figure 1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import traitlets
from torch import nn

from grader.views.base import View, module, style
from grader.views.shape_steps import LARGE, STEPS, Piece, Step
from grader.views.shape_watch import AS_EXPECTED, DEPARTS, RAISED, Seen, agrees, verdicts, watch


class ShapeTracer(View):
    """Walks through the nineteen steps; `step` counts from 1.

    Without a model it shows the shapes of the large example of lesson 07. A `model` is a `Transformer` as lesson 07
    has it; it is run once on two sentences, in eval mode, and its shapes are shown beside those expected.

    >>> tracer = ShapeTracer()
    >>> tracer.step = 8
    >>> tracer
    Shape tracer, step 8 of 19, Scores: scores (128, 8, 28, 28).
    """

    _esm = module("shape_tracer.js")
    _css = style("shape_tracer.css")

    step = traitlets.Int(1, min=1, max=len(STEPS)).tag(sync=True, echo_update=False)
    steps: traitlets.List[Any] = traitlets.List().tag(sync=True)
    verdict = traitlets.Unicode().tag(sync=True)  # of the whole model, one sentence; empty without one

    def __init__(self, model: nn.Module | None = None) -> None:
        if model is not None and not isinstance(model, nn.Module):
            got = (
                f"the class {model.__name__}" if isinstance(model, type) else f"a value of type {type(model).__name__}"
            )
            raise TypeError(f"model: got {got}, expected a model that is made, such as Transformer(50, 60, 1, 2)")
        seen = watch(model) if model is not None else None
        sizes = LARGE if seen is None else seen.sizes
        judged = [""] * len(STEPS) if seen is None else verdicts(seen)
        told = [_told(step, sizes, seen, verdict) for step, verdict in zip(STEPS, judged, strict=True)]
        start = next((i for i, verdict in enumerate(judged, 1) if verdict in (DEPARTS, RAISED)), 1)
        self._judged, self._error = judged, seen.error if seen is not None else ""
        super().__init__(steps=told, verdict=self._whole() if seen is not None else "", step=start)
        self.summary = self._in_words()

    @traitlets.observe("step")
    def _on_step(self, _change: traitlets.Bunch) -> None:
        self.summary = self._in_words()

    def _whole(self) -> str:
        """What is to be said about the whole model."""
        wrong = [(i, verdict) for i, verdict in enumerate(self._judged, 1) if verdict in (DEPARTS, RAISED)]
        seen = sum(verdict in (AS_EXPECTED, DEPARTS) for verdict in self._judged)
        if not wrong:
            return f"your model: {seen} steps seen, all as expected"
        at, verdict = wrong[0]
        name = STEPS[at - 1].title
        if verdict == RAISED:
            return f"your model raises an error at step {at}, {name}: {self._error}"
        return f"your model departs at step {at}, {name}"

    def _in_words(self) -> str:
        if not self.steps:
            return ""
        step = self.steps[self.step - 1]
        out = ", ".join(f"{piece['name']} {piece['shape']}" for piece in step["out"])
        whole = f"; {self.verdict}" if self.verdict else ""
        return f"Shape tracer, step {self.step} of {len(STEPS)}, {step['title']}: {out}{whole}."


def _told(step: Step, sizes: Mapping[str, int], seen: Seen | None, verdict: str) -> dict[str, Any]:
    """A step as plain data for the browser."""
    return {
        "title": step.title,
        "story": step.story,
        "into": [_piece(piece, sizes, None) for piece in step.into],
        "out": [_piece(piece, sizes, seen) for piece in step.out],
        "verdict": verdict,
        "error": seen.error if seen is not None and verdict == RAISED else "",
    }


def _piece(piece: Piece, sizes: Mapping[str, int], seen: Seen | None) -> dict[str, Any]:
    shape = piece.shape(sizes)
    mine = seen.shapes.get(piece.place) if seen is not None and piece.place else None
    return {
        "name": piece.name,
        "axes": f"({', '.join(piece.axes.split())})",
        "shape": str(shape),
        "mine": "" if mine is None else str(mine),
        "agrees": mine is None or agrees(piece, mine, sizes),
    }
