"""A training as it is seen from outside, for `train_step` here and `fit` of lesson 11.

The subject builds a small model with its optimiser (`grader.subject.translator`), and the student's function is called
on it once or twice. What it returns, the parameters, the mode and the order of events are kept call by call, and
compared with a simulation of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import torch
from torch import Tensor

from grader.sentences import say
from grader.spec import compare
from grader.spec.draw import Draw
from grader.spec.exercise import Case, Finding
from grader.spec.session import Session
from grader.subject import Given, Outcome, Request
from grader.tolerance import Tolerance

Judge = Callable[[Session], Finding | None]
Recogniser = Callable[[Session], bool]
CLOSE = Tolerance(relative=1e-4, absolute=1e-6)
# By the number of the call.
UNMOVED = (
    "After the first call no parameter has changed ({run}).",
    "After the second call no parameter has changed ({run}).",
)
MOVED_ELSEWHERE = (
    "After the first call the parameters are not the expected ones ({run}).",
    "After the second call the parameters are not the expected ones ({run}).",
)
# By the mode after a call.
CHANGED_MODE = {
    False: "The model was in train mode before the call and is in eval mode after it.",
    True: "The model was in eval mode before the call and is in train mode after it.",
}


class Run(Protocol):
    """A model that is built once and trained by a few calls."""

    @property
    def name(self) -> str: ...

    @property
    def data(self) -> Mapping[str, Any]:
        """The model's, as its class takes it."""

    @property
    def given(self) -> Sequence[dict[str, Any]]:
        """The arguments of each call, by name."""


@dataclass(frozen=True)
class Observed:
    """What one call gave."""

    returned: Any
    parameters: Mapping[str, Tensor]  # by name, after it
    training: bool = True  # the mode after it
    graph_held: bool = False
    arguments_changed: bool = False  # whether ids were changed in place
    events: tuple[int, ...] = ()  # the model's so far, from the constants in `grader.subject.translator`


R = TypeVar("R", bound=Run)
W = TypeVar("W")


@dataclass(frozen=True)
class Training(Generic[R, W]):
    """How the student's function trains, in the runs of an exercise, and whether that is right."""

    name: str  # of the function
    model: str  # what is built, as `Given` names it
    runs: Callable[[Draw], tuple[R, ...]]
    usual: str  # the name of the run that has nothing odd
    simulated: Callable[[R, W], tuple[Observed, ...]]  # what each call gives in one way: what it returns, parameters
    right: W  # the way to train
    same: Callable[[Observed, Observed], bool]  # whether a call returned what another way returns
    hints: Callable[[Any, Any], Sequence[str]]  # for wrong parameters, from what was returned and what should have been

    def cases(self, draw: Draw) -> list[Case]:
        """A case for each run: what its first call gets. Their outputs aren't compared: `observed` makes all calls."""
        return [Case(run.name, run.given[0], comparable=False) for run in self.runs(draw)]

    def observed(self, session: Session) -> dict[str, tuple[R, tuple[Observed, ...], Finding | None]]:
        """By a run's name: the run, what the student's function did call by call, and the finding that stopped it, None
        if nothing did."""
        return session.once("runs", lambda: self._observe_all(session))

    def _observe_all(self, session: Session) -> dict[str, tuple[R, tuple[Observed, ...], Finding | None]]:
        found: dict[str, tuple[R, tuple[Observed, ...], Finding | None]] = {}
        watched = True  # until a graph is found to be held: to find out takes long
        for run in self.runs(session.draw):
            seen, finding = self._observe(session, run, watched)
            found[run.name] = run, seen, finding
            watched = watched and not any(call.graph_held for call in seen)
        return found

    def _observe(self, session: Session, run: R, watched: bool) -> tuple[tuple[Observed, ...], Finding | None]:
        session.ask(Request("build", handle=run.name, args=(Given(self.model, {**run.data, "watched": watched}),)))
        seen: list[Observed] = []
        for given in run.given:
            outcome = session.ask(Request("call", self.name, tuple(given.values())))
            state = session.ask(Request("state", f"@{run.name}")) if outcome.ok else outcome
            finding = compare.run_error(state, session.exercise)
            if finding is not None:
                return tuple(seen), finding
            seen.append(_facts(outcome, state))
        return tuple(seen), None

    def expected(self, session: Session, run: R) -> tuple[Observed, ...]:
        """What each call of a run is to give."""
        return session.once(("right", run.name), lambda: self.simulated(run, self.right))

    def first(self, session: Session) -> Observed | None:
        """What the first call of the usual run gave; None if it raised."""
        _, seen, _ = self.observed(session)[self.usual]
        return seen[0] if seen else None

    def has_changed(self, session: Session) -> bool:
        """Whether the first call of the usual run, which raised nothing, has changed a parameter."""
        run, seen, _ = self.observed(session)[self.usual]
        return any(not torch.equal(tensor, run.data[place]) for place, tensor in seen[0].parameters.items())

    # --- judges -------------------------------------------------------------------------------------------------------

    def changes(self, name: str, call: int = 0) -> Judge:
        """A judge: whether the parameters are right after call number `call`, from 0, of the run `name`."""

        def judge(session: Session) -> Finding | None:
            run, seen, finding = self.observed(session)[name]
            if len(seen) <= call:
                return finding
            got, right = seen[call], self.expected(session, run)[call]
            if same_parameters(got, right):
                return None
            before = seen[call - 1].parameters if call else run.data
            if all(torch.equal(tensor, before[place]) for place, tensor in got.parameters.items()):
                return Finding("wrong-parameters", say(UNMOVED[call], run=say(name)))
            hints = self.hints(got.returned, right.returned)
            return Finding("wrong-parameters", say(MOVED_ELSEWHERE[call], run=say(name)), hints=tuple(hints))

        return judge

    def keeps_mode(self, session: Session) -> Finding | None:
        """Whether every model is in the mode in which it came."""
        for run, seen, finding in self.observed(session).values():
            if finding is not None:
                return finding
            for call in seen:
                if call.training is not bool(run.data["training"]):
                    return Finding("changes-mode", say(CHANGED_MODE[call.training]))
        return None

    def lets_go(self, otherwise: str) -> Judge:
        """A judge: whether no graph is held after a call; `otherwise` says what that costs."""
        return self._never(lambda call: call.graph_held, "graph-held", otherwise)

    def leaves_arguments(self, otherwise: str) -> Judge:
        """A judge: whether no call changes an argument in place; `otherwise` names them, and the function as {name}."""
        return self._never(lambda call: call.arguments_changed, "changes-argument", otherwise)

    def _never(self, is_wrong: Callable[[Observed], bool], kind: str, message: str) -> Judge:
        def judge(session: Session) -> Finding | None:
            if any(is_wrong(call) for _, seen, _ in self.observed(session).values() for call in seen):
                return Finding(kind, say(message, name=self.name) if "{name}" in message else say(message))
            return None

        return judge

    # --- recognisers --------------------------------------------------------------------------------------------------

    def trained(self, *ways: W, returned: bool = True) -> Recogniser:
        """A recogniser that says whether all runs are right or those of one way, and one at least is only the way's.
        `returned`: what the calls return has to be the way's as well."""

        def recognise(session: Session) -> bool:
            found = self.observed(session).values()
            return all(seen for _, seen, _ in found) and any(self._explains(session, way, returned) for way in ways)

        return recognise

    def _explains(self, session: Session, way: W, returned: bool) -> bool:
        differs = False
        for run, seen, _ in self.observed(session).values():
            for got, wrong, right in zip(seen, self.simulated(run, way), self.expected(session, run), strict=False):
                fits = same_parameters(got, wrong) and (not returned or self.same(got, wrong))
                good = same_parameters(got, right) and (not returned or self.same(got, right))
                if not fits and not good:
                    return False
                differs = differs or not good
        return differs

    def mode_left(self, training: bool) -> Recogniser:
        """A recogniser that says whether models that came in the other mode are left in this one, and all others as
        they came."""

        def recognise(session: Session) -> bool:
            left = [
                run
                for run, seen, _ in self.observed(session).values()
                if any(call.training is not bool(run.data["training"]) for call in seen)
            ]
            return bool(left) and all(bool(run.data["training"]) is not training for run in left)

        return recognise

    def holds_graph(self, session: Session) -> bool:
        """Whether a graph is held after the first call: a tensor was returned, or it is kept in another way."""
        seen = self.first(session)
        return seen is not None and seen.graph_held


def _facts(outcome: Outcome, state: Outcome) -> Observed:
    events = state.value["buffers"].get("events")
    return Observed(
        outcome.value,
        {name: tensor for name, tensor in state.value["parameters"].items() if isinstance(tensor, Tensor)},
        state.value["training"],
        0 in outcome.changed,
        any(place > 1 for place in outcome.changed),
        tuple(events.tolist()) if isinstance(events, Tensor) else (),
    )


def same_parameters(got: Observed, expected: Observed) -> bool:
    """Whether all parameters are close to those expected."""
    return all(
        name in got.parameters
        and got.parameters[name].shape == right.shape
        and CLOSE.all_close(got.parameters[name].double(), right)
        for name, right in expected.parameters.items()
    )


def has_no_gradients(session: Session) -> bool:
    """Whether a call raised since a loss has no gradients."""
    words = ("does not require grad", "'float' object has no attribute 'backward'")
    return any(word in raised.message for raised in session.raised for word in words)
