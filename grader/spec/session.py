"""One check of one subject against one specification: sends requests, remembers outcomes, limits the time."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import zip_longest
from typing import Any, NamedTuple, Self, TypeVar

import torch
from torch import Tensor

from grader.spec import compare
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Exercise, Finding, Part, Setup
from grader.subject import Given, Outcome, Place, Raised, Request, Subject
from grader.subject.values import GIVEN, tensors_by_place, tensors_in

T = TypeVar("T")
REPEATED = ("build", "mode", "load", "call")
FATAL = ("time-limit", "waited", "died", "not-run")


class Conditions(NamedTuple):
    """What calls meet that a right answer doesn't notice. `strided`: every second call gets tensors that aren't
    contiguous. `reused`: a module that was built for a case is called with the next one too, if that has the same
    constructor arguments."""

    strided: bool = False
    reused: bool = False


USUAL, PLAIN = Conditions(strided=True, reused=True), Conditions()


class Session:
    """A check of one exercise: parts and mistakes reach a student's code only through this. `cases` are drawn, by name;
    `excluded_call` is the first excluded function called, None so far, and `excluded_at` the student's line that called
    it; `settings` are those of torch that calls have changed; `changed_earlier`: a call changed what an earlier one
    took or gave; `stopped` is the outcome after which nothing runs; `seconds` limits everything together; `conditions`
    are those of its calls. `form` is put on every result of the student's code (`grader.subject.forms`); `first_value`
    is the first result as it came, None so far."""

    def __init__(
        self,
        exercise: Exercise,
        subject: Subject,
        draw: Draw,
        seconds: float,
        conditions: Conditions = USUAL,
        form: tuple[Any, ...] = (),
    ) -> None:
        self.exercise, self.subject, self.draw, self.form = exercise, subject, draw, form
        self.first_value: Any = None
        self._exercises = {exercise.name}  # the student's function, and modules of theirs by their handles
        self.cases = {case.name: case for case in exercise.cases(draw)}
        self.output = ""
        self.excluded_call: str | None = None
        self.excluded_at: Place | None = None
        self.settings: set[str] = set()
        self.changed_earlier = False
        self.conditions = conditions
        self.used: set[Conditions] = set()  # those of the outcomes that were looked at
        self.wrong_anyway = False  # whether a part failed by plain calls
        self.right_here = False  # whether one passed by others
        self.latest: Case | None = None  # whose module was built last
        self._number = 0  # of calls with tensors
        self.stopped: Outcome | None = None
        self.ran = False  # whether a call came to an end
        self.raised: list[Raised] = []  # what calls raised, in order
        # A subject of a test may have no clock of its own.
        self._clock: Callable[[], float] = getattr(subject, "clock", time.monotonic)
        self._deadline = self._clock() + seconds
        self._latest = time.monotonic() + getattr(subject, "patience", math.inf) * seconds
        self._calls: set[str] = set()
        self._met: dict[object, Conditions] = {}  # the conditions of each outcome
        self._asked: list[Request] = []  # what runs the student's code, in order
        self._outcomes: dict[object, Outcome] = {}
        self._remembered: dict[object, Any] = {}
        self._expected: dict[str, list[Tensor]] = {}
        self._cotangents: dict[str, list[Tensor]] = {}
        self._gradients: dict[str, dict[str, Tensor]] = {}

    def under(self, conditions: Conditions) -> Self:
        """The same check under other conditions, in the time that is left. What plain calls gave is not asked for
        again where the conditions are plain, unless a specification has runs of its own, which are begun anew."""
        other = copy.copy(self)
        other.conditions, other.latest, other._number, other._remembered = conditions, None, 0, {}
        other.used = set()
        kept = self._outcomes if conditions == PLAIN and self.exercise.reference is not None else {}
        other._outcomes = {key: outcome for key, outcome in kept.items() if self._met[key] == PLAIN}
        other._met = dict.fromkeys(other._outcomes, PLAIN)
        other.raised = [outcome.raised for outcome in other._outcomes.values() if outcome.raised is not None]
        return other

    def ask(self, request: Request) -> Outcome:
        """Send one request, within the remaining time. After a time-out, a death or an interrupt nothing runs any more,
        and every outcome is "not-run"."""
        if request.op == "get":
            return self.once(("get", request.target, request.args), lambda: self._ask(request))
        return self._ask(request)

    def _ask(self, request: Request) -> Outcome:
        if self.stopped is not None:
            return Outcome(status="not-run")
        left = self.seconds_left
        if left <= 0:
            outcome = Outcome(status="time-limit")
        elif time.monotonic() > self._latest:
            outcome = Outcome(status="waited")
        else:
            watch = bool(self.exercise.excluded) or request.watch
            is_strided = request.op == "call" and self._is_strided(self._number, request.args)
            if request.op == "call":
                self._number += bool(tensors_in(list(request.args)))
                self.used.add(Conditions(strided=is_strided))
            form = self.form if self._is_exercise(request) else ()
            asked = replace(request, watch=watch, seconds=left, strided=is_strided, form=form)
            outcome = self.subject.ask(asked)
        interrupted = outcome.raised is not None and outcome.raised.name == "KeyboardInterrupt"
        if outcome.status in FATAL or interrupted:
            self.stopped = outcome
        if request.op == "build" and request.target == self.exercise.name:
            self._exercises.add("@" + request.handle)
        if request.op == "call":
            if outcome.ok and self.first_value is None and self._is_exercise(request):
                self.first_value = outcome.value
            self.ran = self.ran or outcome.ok
        if request.op in REPEATED:
            self._asked.append(request)
        if request.op in ("call", "build"):
            self.raised += [outcome.raised] if outcome.raised is not None else []
        self.output = self.output or outcome.output
        self.settings.update(outcome.settings)
        self.changed_earlier |= outcome.changed_earlier
        self._note_excluded(outcome)
        return outcome

    @property
    def seconds_left(self) -> float:
        """The seconds that are left for requests."""
        return self._deadline - self._clock()

    def _is_exercise(self, request: Request) -> bool:
        """Whether a request calls the student's function, or a module of theirs."""
        return request.op == "call" and request.target in self._exercises

    def _note_excluded(self, outcome: Outcome) -> None:
        for call, place in zip_longest(outcome.calls, outcome.places[: len(outcome.calls)]):
            if call in self._calls:
                continue
            self._calls.add(call)
            if self.excluded_call is None and any(e.matches(call) for e in self.exercise.excluded):
                self.excluded_call, self.excluded_at = call, place

    def judge(self, part: Part) -> Finding | None:
        """Why a part doesn't pass, None if it does. What plain calls alone show is so whatever the conditions."""
        self.used = set()
        finding = part.judge(self)
        self.wrong_anyway |= finding is not None and self.used == {PLAIN}
        self.right_here |= finding is None and not self.used <= {PLAIN}
        return finding

    def repeated_elsewhere(self) -> Iterator[Outcome]:
        """Ask once more for what was asked, each call as if on a GPU (`grader.subject.elsewhere`), without gradients;
        the same call only once. Gives the calls' outcomes, and ends where half of the time that is left is over."""
        called: set[tuple[object, ...]] = set()
        until = self._clock() + (self._deadline - self._clock()) / 2
        for request in self._asked:
            left = until - self._clock()
            same = (request.target, *map(id, request.args))
            if left <= 0 or (request.op == "call" and same in called):
                continue
            again = replace(request, strided=False, watch=False, cotangents=None, elsewhere=request.op == "call")
            outcome = self.subject.ask(replace(again, seconds=left))
            if request.op == "call":
                called.add(same)
                yield outcome

    def once(self, key: object, find: Callable[[], T]) -> T:
        """The result of `find`, computed once and remembered under `key`, for several parts and mistakes."""
        if key not in self._remembered:
            before, self.used = self.used, set()
            self._remembered[key] = find(), self.used
            self.used = before
        value, used = self._remembered[key]
        self.used |= used
        return value

    def call(self, case: Case, gradients: bool = False) -> Outcome:
        """The outcome of the student's function (or module, after its setup) on a case's arguments, with `gradients`
        asked for or not. Runs once."""
        key = (case.name, gradients)
        if key not in self._outcomes:
            number, latest = self._number, self.latest
            self._outcomes[key] = self._call(case, gradients)
            strided = self._is_strided(number, tuple(case.args.values()))
            self._met[key] = Conditions(strided, self._fits(latest, case))
        self.used.add(self._met[key])
        return self._outcomes[key]

    def call_again(self, case: Case) -> Outcome:
        """The outcome of another call on a case's arguments; of a module in the state that the latest call left it in,
        which was on a case with the same setup."""
        target = self.exercise.name if case.setup is None else f"@{self.exercise.name}"
        return self.ask(Request("call", target, tuple(case.args.values())))

    def call_anew(self, case: Case, seed: int | None = None) -> Outcome:
        """The outcome of a call on a case that isn't remembered, for what comes after it; with torch's random numbers
        of this `seed`, if one is given."""
        return self._call(case, gradients=False, seed=seed)

    def _is_strided(self, number: int, args: tuple[Any, ...]) -> bool:
        """Whether the call after `number` calls with tensors gets such that aren't contiguous."""
        return self.conditions.strided and number % 2 == 1 and bool(tensors_in(list(args)))

    def _fits(self, latest: Case | None, case: Case) -> bool:
        """Whether the module that was built for the case before is called with this one too."""
        if latest is None or latest.setup is None or case.setup is None:
            return False
        return self.conditions.reused and latest.setup.init == case.setup.init

    def called(self) -> list[tuple[Case, Outcome]]:
        """The cases that earn points and were called, in their order, with their outcomes."""
        known = ((case, self._outcomes.get((case.name, False))) for case in self.real_cases())
        return [(case, outcome) for case, outcome in known if outcome is not None]

    def _call(self, case: Case, gradients: bool, seed: int | None = None) -> Outcome:
        target, requests = self.exercise.name, []
        if case.setup is not None:
            requests = _building(self.exercise.name, case.setup, target, self.dtype(case))
            requests = requests[1:] if self._fits(self.latest, case) else requests
            target = "@" + target
        cotangents = tuple(self.cotangents(case)) if gradients else None
        call = Request("call", target, tuple(case.args.values()), cotangents=cotangents)
        call = call if seed is None else replace(call, seed=seed)
        outcome = self._first_fault([*requests, call])
        self.latest = case if outcome.ok and case.setup is not None else None
        return outcome

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
