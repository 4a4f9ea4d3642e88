"""One check of one subject against one specification: sends requests, remembers outcomes, limits the time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

import torch
from torch import Tensor

from grader.spec import compare
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Exercise, Setup
from grader.subject import Given, Outcome, Raised, Request, Subject
from grader.subject.values import GIVEN, tensors_by_place

T = TypeVar("T")
FATAL = ("time-limit", "waited", "died", "not-run")


class Session:
    """A check of one exercise: parts and mistakes reach a student's code only through this. `cases` are drawn, by name;
    `excluded_call` is the first excluded function called, None so far; `settings` are those of torch that calls have
    changed; `stopped` is the outcome after which nothing runs; `seconds` limits everything together."""

    def __init__(self, exercise: Exercise, subject: Subject, draw: Draw, seconds: float) -> None:
        self.exercise, self.subject, self.draw = exercise, subject, draw
        self.cases = {case.name: case for case in exercise.cases(draw)}
        self.output = ""
        self.excluded_call: str | None = None
        self.settings: set[str] = set()
        self.stopped: Outcome | None = None
        self.ran = False  # whether a call came to an end
        self.raised: list[Raised] = []  # what calls raised, in order
        # A subject of a test may have no clock of its own.
        self._clock: Callable[[], float] = getattr(subject, "clock", time.monotonic)
        self._deadline = self._clock() + seconds
        self._latest = time.monotonic() + getattr(subject, "patience", math.inf) * seconds
        self._calls: set[str] = set()
        self._outcomes: dict[object, Outcome] = {}
        self._remembered: dict[object, Any] = {}
        self._expected: dict[str, list[Tensor]] = {}
        self._cotangents: dict[str, list[Tensor]] = {}
        self._gradients: dict[str, dict[str, Tensor]] = {}

    def ask(self, request: Request) -> Outcome:
        """Send one request, within the remaining time. After a time-out, a death or an interrupt nothing runs any more,
        and every outcome is "not-run"."""
        if request.op == "get":
            return self.once(("get", request.target), lambda: self._ask(request))
        return self._ask(request)

    def _ask(self, request: Request) -> Outcome:
        if self.stopped is not None:
            return Outcome(status="not-run")
        left = self._deadline - self._clock()
        if left <= 0:
            outcome = Outcome(status="time-limit")
        elif time.monotonic() > self._latest:
            outcome = Outcome(status="waited")
        else:
            watch = bool(self.exercise.excluded) or request.watch
            outcome = self.subject.ask(replace(request, watch=watch, seconds=left))
        interrupted = outcome.raised is not None and outcome.raised.name == "KeyboardInterrupt"
        if outcome.status in FATAL or interrupted:
            self.stopped = outcome
        if request.op == "call":
            self.ran = self.ran or outcome.ok
        if request.op in ("call", "build"):
            self.raised += [outcome.raised] if outcome.raised is not None else []
        self.output = self.output or outcome.output
        self.settings.update(outcome.settings)
        self._note_excluded(outcome)
        return outcome

    def _note_excluded(self, outcome: Outcome) -> None:
        for call in outcome.calls:
            if call in self._calls:
                continue
            self._calls.add(call)
            if self.excluded_call is None and any(e.matches(call) for e in self.exercise.excluded):
                self.excluded_call = call

    def once(self, key: object, find: Callable[[], T]) -> T:
        """The result of `find`, computed once and remembered under `key`, for several parts and mistakes."""
        if key not in self._remembered:
            self._remembered[key] = find()
        return self._remembered[key]

    def call(self, case: Case, gradients: bool = False) -> Outcome:
        """The outcome of the student's function (or module, after its setup) on a case's arguments, with `gradients`
        asked for or not. Runs once."""
        key = (case.name, gradients)
        if key not in self._outcomes:
            self._outcomes[key] = self._call(case, gradients)
        return self._outcomes[key]

    def called(self) -> list[tuple[Case, Outcome]]:
        """The cases that earn points and were called, in their order, with their outcomes."""
        known = ((case, self._outcomes.get((case.name, False))) for case in self.real_cases())
        return [(case, outcome) for case, outcome in known if outcome is not None]

    def _call(self, case: Case, gradients: bool) -> Outcome:
        target, requests = self.exercise.name, []
        if case.setup is not None:
            requests = _building(self.exercise.name, case.setup, target, self.dtype(case))
            target = "@" + target
        cotangents = tuple(self.cotangents(case)) if gradients else None
        call = Request("call", target, tuple(case.args.values()), cotangents=cotangents)
        return self._first_fault([*requests, call])

    def _first_fault(self, requests: list[Request]) -> Outcome:
        """Send requests in order. Returns the first outcome that isn't "ok", else the last one."""
        outcome = Outcome()
        for request in requests:
            outcome = self.ask(request)
            if not outcome.ok:
                break
        return outcome

    def build(self, setup: Setup, handle: str, dtype: torch.dtype = torch.float32) -> Outcome:
        """Build a fresh module under "@handle" and set its state and mode. Returns the first outcome that isn't "ok",
        else the last one."""
        return self._first_fault(_building(self.exercise.name, setup, handle, dtype))

    def expected(self, case: Case) -> list[Tensor]:
        """The right outputs of a case, from the reference in float64."""
        if self.exercise.reference is None:
            raise TypeError(f"{self.exercise.name} has no reference")
        if case.name not in self._expected:
            with torch.no_grad():
                args = (_copy(arg, torch.float64) for arg in case.args.values())
                value = self.exercise.reference(*_setup(case, torch.float64), *args)
            self._expected[case.name] = compare.expected_leaves(value, len(self.exercise.outputs))
        return self._expected[case.name]

    def evaluate(self, case: Case, function: Callable[..., Any]) -> Any:
        """The result of a function of ours, such as a reference, on copies of a case's arguments (after its setup, if
        any)."""
        return function(*_setup(case), *(_copy(arg) for arg in case.args.values()))

    def cotangents(self, case: Case) -> list[Tensor]:
        """Fixed cotangents for the outputs of a case, one in the shape of each."""
        if case.name not in self._cotangents:
            weights = Draw(f"cotangents of {case.name}")
            drawn = [weights.normal(leaf.shape).to(self.dtype(case)) for leaf in self.expected(case)]
            self._cotangents[case.name] = drawn
        return self._cotangents[case.name]

    def expected_gradients(self, case: Case) -> dict[str, Tensor]:
        """The reference's gradients in float64: of arguments by their position, of a module's parameters by name."""
        if case.name not in self._gradients:
            self._gradients[case.name] = self._gradients_of_reference(case)
        return self._gradients[case.name]

    def _gradients_of_reference(self, case: Case) -> dict[str, Tensor]:
        reference = self.exercise.reference
        assert reference is not None
        with torch.enable_grad():
            args = [_copy(arg, torch.float64) for arg in case.args.values()]
            setup = _setup(case, torch.float64)
            wanted = {place: tensor for place, tensor in tensors_by_place(args).items() if _is_float(tensor)}
            wanted |= {name: t for s in setup for name, t in s.state.items() if _is_float(t)}
            for tensor in wanted.values():
                tensor.requires_grad_()
            outputs = compare.expected_leaves(reference(*setup, *args), len(self.exercise.outputs))
            weights = [weight.to(torch.float64) for weight in self.cotangents(case)]
            weighed = [(o * w).sum() for o, w in zip(outputs, weights, strict=True) if o.requires_grad]
            gradients = torch.autograd.grad(weighed, list(wanted.values()), allow_unused=True)
        return {k: torch.zeros_like(wanted[k]) if g is None else g for k, g in zip(wanted, gradients, strict=True)}

    @staticmethod
    def dtype(case: Case) -> torch.dtype:
        """The floating-point dtype of a case's arguments, or (if they are token ids) of its module's parameters."""
        values = (*case.args.values(), *(case.setup.state.values() if case.setup is not None else ()))
        dtypes = [value.dtype for value in values if isinstance(value, Tensor) and value.is_floating_point()]
        return dtypes[0] if dtypes else torch.get_default_dtype()

    def real_cases(self) -> list[Case]:
        """The exercise's cases that earn points, without those that only tell mistakes apart."""
        return [case for case in self.cases.values() if not case.diagnostic]

    def diagnostic_cases(self) -> list[Case]:
        """The cases that only help to recognise a mistake."""
        return [case for case in self.cases.values() if case.diagnostic]

    @cached_property
    def description(self) -> Mapping[str, Any]:
        """Facts about the student's object (see `grader.subject.executor.describe`); empty if there is none."""
        outcome = self.ask(Request("describe", self.exercise.name))
        return outcome.value if outcome.ok and isinstance(outcome.value, dict) else {}


def _building(target: str, setup: Setup, handle: str, dtype: torch.dtype) -> list[Request]:
    return [
        Request("build", target, setup.init, handle=handle),
        Request("mode", "@" + handle, (setup.training, str(dtype).removeprefix("torch."))),
        Request("load", "@" + handle, (dict(setup.state), dict(setup.optional))),
    ]


def _setup(case: Case, dtype: torch.dtype | None = None) -> tuple[Setup, ...]:
    """The setup of a module's case, with a copy of its state (in `dtype` if given), as the leading arguments of our
    functions; empty for a function's case."""
    if case.setup is None:
        return ()
    return (replace(case.setup, state={name: _copy(t, dtype) for name, t in case.setup.state.items()}),)


def _is_float(value: object) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()


def _copy(value: Any, dtype: torch.dtype | None = None) -> Any:
    if isinstance(value, Given):
        return GIVEN[value.kind](_copy(dict(value.data), dtype))
    if isinstance(value, Tensor):
        return value.to(dtype, copy=True) if dtype is not None and value.is_floating_point() else value.clone()
    if isinstance(value, tuple | list):
        return type(value)(_copy(item, dtype) for item in value)
    if isinstance(value, dict):
        return {key: _copy(item, dtype) for key, item in value.items()}
    return value
