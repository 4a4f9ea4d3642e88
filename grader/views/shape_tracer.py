"""The nineteen steps of a Transformer with the shapes that go in and out, compared with those of a learner's own model
(Vaswani et al. 2017, figure 1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import traitlets
from torch import nn

from grader.languages import shown
from grader.sentences import Several, say, together
from grader.views.base import KernelView, module, style
from grader.views.picture import lines_of_text
from grader.views.shape_steps import LARGE, STEPS, Piece, Step
from grader.views.shape_watch import AS_EXPECTED, DIFFERS, RAISED, Trace, agrees, trace_model, verdicts_of
from grader.views.step_map import svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class ShapeTracer(KernelView):
    """Walks through the nineteen steps; `step` counts from 1.

    Without a model it shows the shapes of lesson 07's large example. A `model`, a `Transformer` as in lesson 07, is run
    once on two sentences in eval mode, and its shapes are shown next to the expected ones.

    >>> tracer = ShapeTracer()
    >>> tracer.step = 8
    >>> tracer
    Shape tracer, step 8 of 19, Scores: scores (128, 8, 28, 28).
    """

    _esm = module("shape_tracer.js")
    _css = style("shape_tracer.css")

    step = traitlets.Int(1, min=1, max=len(STEPS)).tag(sync=True, echo_update=False)
    steps: traitlets.List[Any] = traitlets.List().tag(sync=True)
    map = traitlets.Unicode().tag(sync=True)
    # On the whole model, a sentence; empty without one.
    verdict = traitlets.Unicode().tag(sync=True, to_json=lambda text, _view: shown(text))

    def __init__(self, model: nn.Module | None = None) -> None:
        if model is not None and not isinstance(model, nn.Module):
            got = (
                f"the class {model.__name__}" if isinstance(model, type) else f"a value of type {type(model).__name__}"
            )
            raise TypeError(f"model: got {got}, expected a model instance, such as Transformer(50, 60, 1, 2)")
        trace = trace_model(model) if model is not None else None
        sizes = LARGE if trace is None else trace.sizes
        verdicts = [""] * len(STEPS) if trace is None else verdicts_of(trace)
        steps = [_step(step, sizes, trace, verdict) for step, verdict in zip(STEPS, verdicts, strict=True)]
        start = next((i for i, verdict in enumerate(verdicts, 1) if verdict in (DIFFERS, RAISED)), 1)
        self._verdicts, self._error = verdicts, trace.error if trace is not None else ""
        told = self._model_verdict() if trace is not None else ""
        super().__init__(steps=steps, verdict=told, step=start, map=svg())
        self.summary = self._in_words()

    @traitlets.observe("step")
    def _on_step(self, _change: traitlets.Bunch) -> None:
        self.summary = self._in_words()

    def _model_verdict(self) -> str:
        """The verdict on the learner's whole model, in a sentence."""
        wrong = [(i, verdict) for i, verdict in enumerate(self._verdicts, 1) if verdict in (DIFFERS, RAISED)]
        seen = sum(verdict in (AS_EXPECTED, DIFFERS) for verdict in self._verdicts)
        if not wrong:
            return say("Your model: {seen} steps seen, all as expected.", seen=seen)
        at, verdict = wrong[0]
        title = say(STEPS[at - 1].title)
        if verdict == RAISED:
            return say(
                "Your model raises an error at step {step}, {title}: {error}.", step=at, title=title, error=self._error
            )
        return say("Your model differs at step {step}, {title}.", step=at, title=title)

    def picture(self) -> Figure:
        """A picture of all steps as a table: what comes out of each."""
        lines = []
        for at, step in enumerate(self.steps, 1):
            out = Several((_named(piece, piece["mine"] or piece["shape"]) for piece in step["out"]), ", ")
            title = say(step["title"])
            if step["verdict"]:
                title = say("{title}: {verdict}", title=title, verdict=say(step["verdict"]))
            lines.append((str(at), title, out))
        return lines_of_text(lines, (0.4, 3.5 if self.verdict else 2.6))

    def _in_words(self) -> str:
        if not self.steps:
            return ""
        step = self.steps[self.step - 1]
        first = say(
            "Shape tracer, step {step} of {steps}, {title}: {shapes}.",
            step=self.step,
            steps=len(STEPS),
            title=say(step["title"]),
            shapes=Several((_named(piece, piece["shape"]) for piece in step["out"]), ", "),
        )
        return together(first, self.verdict)


def _named(piece: Mapping[str, str], shape: str) -> str:
    return say("{name} {shape}", name=say(piece["name"]), shape=shape)


def _step(step: Step, sizes: Mapping[str, int], trace: Trace | None, verdict: str) -> dict[str, Any]:
    """A step as plain data for the browser, with the shapes seen in `trace` (None without a model) and a verdict on
    them."""
    return {
        "title": step.title,
        "story": step.story,
        "into": [_piece(piece, sizes, None) for piece in step.into],
        "out": [_piece(piece, sizes, trace) for piece in step.out],
        "verdict": verdict,
        "error": trace.error if trace is not None and verdict == RAISED else "",
    }


def _piece(piece: Piece, sizes: Mapping[str, int], trace: Trace | None) -> dict[str, Any]:
    shape = piece.shape(sizes)
    mine = trace.shapes.get(piece.place) if trace is not None and piece.place else None
    return {
        "name": piece.name,
        "axes": f"({', '.join(piece.axes.split())})",
        "shape": str(shape),
        "mine": "" if mine is None else str(mine),
        "agrees": mine is None or agrees(piece, mine, sizes),
    }
