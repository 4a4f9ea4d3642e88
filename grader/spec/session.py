"""One run of one specification against one subject: asks, remembers outcomes, keeps the time."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import torch
from torch import Tensor

from grader.spec import compare
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Exercise, Setup
from grader.subject import Given, Outcome, Request, Subject
from grader.subject.protocol import beside
from grader.subject.values import GIVEN, tensors_by_place

T = TypeVar("T")
FATAL = ("time-limit", "died", "not-run")


@dataclass(frozen=True)
class _Course:
    """What a check that passed asked and looked at, by the names of cases, in order."""

    calls: tuple[tuple[str, bool], ...] = ()  # with gradients or not
    expected: tuple[str, ...] = ()
    gradients: tuple[str, ...] = ()


_COURSES: dict[str, _Course] = {}


class Session:
    """Parts and mistakes see a student's code through this. `calls` logs the excluded functions that were seen."""

    def __init__(self, exercise: Exercise, subject: Subject | None, draw: Draw, seconds: float) -> None:
        self.exercise = exercise
        self.cases = {case.name: case for case in exercise.cases(draw)}
        self.draw = draw
        self.output = ""
        self.excluded_call: str | None = None
        self.stopped: Outcome | None = None
        self._calls: set[str] = set()
        self._outcomes: dict[object, Outcome] = {}
        self._found: dict[object, Any] = {}
        self._expected: dict[str, list[Tensor]] = {}
        self._cotangents: dict[str, list[Tensor]] = {}
        self._gradients: dict[str, dict[str, Tensor]] = {}
        self._requests: dict[tuple[str, bool], list[Request]] = {}
        self._ahead: deque[Request] = deque()
        self._arriving: Iterator[Outcome] = iter(())
        self._arrived: dict[int, Outcome] = {}
        self._asked: Subject | None = None
        self._course = _COURSES.get(exercise.name, _Course())
        if subject is not None:
            self.begin(subject, seconds)

    def begin(self, subject: Subject, seconds: float) -> None:
        """From here on the student's code is asked, and the time counts."""
        self.subject = subject
        self._deadline = time.monotonic() + seconds
        if self._asked is not subject:
            self.ahead(subject, seconds)

    def prepare(self) -> None:
        """Make the questions that this exercise's check asked about a right solution before, and what is right."""
        self._put_questions()
        for case in filter(None, map(self.cases.get, self._course.expected)):
            self.expected(case)
        for case in filter(None, map(self.cases.get, self._course.gradients)):
            self.expected_gradients(case)

    def _put_questions(self) -> None:
        if not self._ahead:
            known = (key for key in self._course.calls if key[0] in self.cases)
            self._ahead.extend(request for key in known for request in self._requests_of(self.cases[key[0]], key[1]))

    def ahead(self, subject: Subject, seconds: float) -> None:
        """Send those questions to a subject that works beside us: it is at work on them while this process compares
        what came first, or does something else. Their outcomes are looked at when, and if, the check comes to them."""
        self._asked, worker = subject, beside(subject)
        if worker is None:
            self._ahead.clear()
            return
        self._put_questions()
        self._arriving = worker.ask_ahead(tuple(self._ahead), max(seconds, 1e-3))

    def remember(self) -> None:
        """Note what a check that passed asked and looked at, for the next student's."""
        calls = tuple(key for key in self._requests if key[0] in self.cases)
        expected = tuple(name for name in self._expected if name in self.cases)
        gradients = tuple(name for name in self._gradients if name in self.cases)
        _COURSES[self.exercise.name] = _Course(calls, expected, gradients)

    def ask(self, request: Request) -> Outcome:
        """One request, within what is left of the time. After a time-out, a death or an interrupt nothing is run."""
        if request.op == "get":
            return self.once(("get", request.target), lambda: self._ask(request))
        return self._ask(request)

    def _ask(self, request: Request) -> Outcome:
        if self.stopped is not None:
            return Outcome(status="not-run")
        left = self._deadline - time.monotonic()
        if left <= 0:
            outcome = Outcome(status="time-limit")
        else:
            outcome = self._early(request) or self.subject.ask(self._limited(request, left))
        interrupted = outcome.raised is not None and outcome.raised.name == "KeyboardInterrupt"
        if outcome.status in FATAL or interrupted:
            self.stopped = outcome
            subject = beside(self.subject)
            if self._ahead and subject is not None:
                subject.abandon()  # or it would work through all the others first
        self.output = self.output or outcome.output
        self._note_excluded(outcome)
        return outcome

    def _limited(self, request: Request, seconds: float) -> Request:
        return replace(request, watch=bool(self.exercise.excluded) or request.watch, seconds=max(seconds, 1e-3))

    def _early(self, request: Request) -> Outcome | None:
        """The outcome of a request that was sent ahead; None if it wasn't."""
        while self._ahead and id(request) not in self._arrived:
            first = self._ahead.popleft()
            outcome = next(self._arriving)
            if outcome.status in FATAL:
                return outcome  # whichever question took so long: none of the others is waited for
            self._arrived[id(first)] = outcome
        return self._arrived.pop(id(request), None)

    def _note_excluded(self, outcome: Outcome) -> None:
        for call in outcome.calls:
            if call in self._calls:
                continue
            self._calls.add(call)
            if self.excluded_call is None and any(e.matches(call) for e in self.exercise.excluded):
                self.excluded_call = call

    def once(self, key: object, find: Callable[[], T]) -> T:
        """What `find` gives, found once and remembered under `key`: for what several parts and mistakes look at."""
        if key not in self._found:
            self._found[key] = find()
        return self._found[key]

    def call(self, case: Case, gradients: bool = False) -> Outcome:
        """The student's function (or module, made ready by the case's setup) on a case's arguments; asked once,
        remembered.
        """
        key = (case.name, gradients)
        if key not in self._outcomes:
            self._outcomes[key] = self._call(case, gradients)
        return self._outcomes[key]

    def _call(self, case: Case, gradients: bool) -> Outcome:
        return self._first_fault(self._requests_of(case, gradients))

    def _requests_of(self, case: Case, gradients: bool) -> list[Request]:
        """What a call on a case takes, made once: for a module its setup comes first."""
        key = (case.name, gradients)
        if key not in self._requests:
            target, before = self.exercise.name, []
            if case.setup is not None:
                before = _building(self.exercise.name, case.setup, target, self.dtype(case))
                target = "@" + target
            cotangents = tuple(self.cotangents(case)) if gradients else None
            watch = bool(self.exercise.excluded)
            call = Request("call", target, tuple(case.args.values()), cotangents=cotangents, watch=watch)
            self._requests[key] = [*before, call]
        return self._requests[key]

    def _first_fault(self, requests: list[Request]) -> Outcome:
        """Asks one after the other; the first outcome that isn't "ok", or the last one."""
        outcome = Outcome()
        for request in requests:
            outcome = self.ask(request)
            if not outcome.ok:
                break
        return outcome

    def build(self, setup: Setup, handle: str, dtype: torch.dtype = torch.float32) -> Outcome:
        """A fresh module under "@handle", loaded and in the setup's mode; the first outcome that isn't "ok", if
        there is one.
        """
        return self._first_fault(_building(self.exercise.name, setup, handle, dtype))

    def expected(self, case: Case) -> list[Tensor]:
        """What is right on a case, from the reference in float64."""
        if self.exercise.reference is None:
            raise TypeError(f"{self.exercise.name} has no reference")
        if case.name not in self._expected:
            with torch.no_grad():
                args = (_copy(arg, torch.float64) for arg in case.args.values())
                value = self.exercise.reference(*_setup(case, torch.float64), *args)
            self._expected[case.name] = compare.expected_leaves(value, len(self.exercise.outputs))
        return self._expected[case.name]

    def evaluate(self, case: Case, function: Callable[..., Any]) -> Any:
        """What one of our own functions gives on copies of a case's arguments (after its setup, if it has one)."""
        return function(*_setup(case), *(_copy(arg) for arg in case.args.values()))

    def cotangents(self, case: Case) -> list[Tensor]:
        """Fixed weights for the outputs of a case, to take gradients with."""
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
            found = torch.autograd.grad(weighed, list(wanted.values()), allow_unused=True)
        return {k: torch.zeros_like(wanted[k]) if g is None else g for k, g in zip(wanted, found, strict=True)}

    @staticmethod
    def dtype(case: Case) -> torch.dtype:
        """The floating-point dtype of a case's arguments, or else of its module's parameters (which take token ids)."""
        values = (*case.args.values(), *(case.setup.state.values() if case.setup is not None else ()))
        found = [value.dtype for value in values if isinstance(value, Tensor) and value.is_floating_point()]
        return found[0] if found else torch.get_default_dtype()

    def real_cases(self) -> list[Case]:
        """The cases that earn points."""
        return [case for case in self.cases.values() if not case.diagnostic]

    def diagnostic_cases(self) -> list[Case]:
        """The cases that only help to recognise a mistake."""
        return [case for case in self.cases.values() if case.diagnostic]

    @cached_property
    def description(self) -> Mapping[str, Any]:
        """Facts about the student's object; empty if there is none."""
        outcome = self.ask(Request("describe", self.exercise.name))
        return outcome.value if outcome.ok and isinstance(outcome.value, dict) else {}


def _building(target: str, setup: Setup, handle: str, dtype: torch.dtype) -> list[Request]:
    return [
        Request("build", target, setup.init, handle=handle),
        Request("mode", "@" + handle, (setup.training, str(dtype).removeprefix("torch."))),
        Request("load", "@" + handle, (dict(setup.state),)),
    ]


def _setup(case: Case, dtype: torch.dtype | None = None) -> tuple[Setup, ...]:
    """The setup of a module's case with a state of its own, as the leading arguments of our own functions."""
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
