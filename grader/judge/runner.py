"""One submission's process: runs its cells, and after a death or a time-out forks anew, replays, and goes on."""

from __future__ import annotations

import ast
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any

from grader.judge.limits import Limits
from grader.judge.plan import RunStep, TestStep
from grader.sentences import say
from grader.spec.evaluate import SECONDS
from grader.spec.exercise import Exercise
from grader.subject import Outcome, Raised, Request
from grader.subject.forked import ForkedSubject
from grader.subject.protocol import Answer
from grader.subject.zygote import Zygote

# Under this there is no use in starting anything.
LEAST_SECONDS = 0.05
# Why a cell did not come to its end.
WHY = {
    "time-limit": "A cell ran out of time and was left out: {line}",
    "died": "A cell ended the process and was left out: {line}",
    "too-large": "A cell is too long and was left out: {line}",
}
STOPPED = "A cell ran out of time and was stopped: {line}"


class Timed:
    """A subject whose requests all end before one deadline. The seconds of a request are the processor's; nobody
    outside can say how many a child has used, so a check's are counted by a clock that is `patience` times as slow."""

    def __init__(self, inner: ForkedSubject, deadline: float, patience: float) -> None:
        self._inner, self._deadline, self._patience = inner, deadline, patience
        self.clock: Callable[[], float] = lambda: time.monotonic() / patience
        # The first stop of an earlier cell that a request met since this was None.
        self.stop: Raised | None = None

    def ask(self, request: Request) -> Outcome:
        left = max(self._deadline - time.monotonic(), LEAST_SECONDS) / self._patience
        outcome = self._inner.ask(replace(request, seconds=min(request.seconds, left), patience=self._patience))
        self.stop = self.stop or outcome.stop
        return outcome

    def answer_with(self, answer: Answer) -> None:
        self._inner.answer_with(answer)

    @property
    def ended(self) -> bool:
        return self._inner.ended


class Runner:
    """A context manager around the child in which a submission's cells run. `known` has all exercises by name, `names`
    those that will be checked; `timed_out` says whether a cell, or all of them, took too long."""

    def __init__(
        self, zygote: Zygote, limits: Limits, known: Mapping[str, Exercise], names: Iterable[str] = ()
    ) -> None:
        self.limits, self.known = limits, known
        # An exercise that is about memory has all cells run with less of it: what isn't there can't be used.
        enough = [known[name].memory or limits.memory for name in names]
        self._less_memory = max(limits.memory - min(enough, default=limits.memory), 0)
        self.notes: list[str] = []
        self.timed_out = False
        self._zygote = zygote
        self._deadline = time.monotonic() + limits.longest
        self._done: list[RunStep] = []
        self._printed: dict[str, str] = {}
        self._fork()

    def _fork(self) -> None:
        self._child = ForkedSubject(self._zygote, self._less_memory)
        self.subject = Timed(self._child, self._deadline, self.limits.patience)

    def left(self) -> float:
        """Seconds by the clock that are left for the submission."""
        return self._deadline - time.monotonic()

    def ready(self) -> bool:
        """Whether there is time left, and a child that holds what ran so far: a dead one is replaced first."""
        while self.left() > LEAST_SECONDS:
            if not self._child.ended:
                return True
            self._child.close()
            self._fork()
            replayed, self._done = self._done, []
            for step in replayed:
                if self.left() > LEAST_SECONDS:
                    self._run(step)
        self.timed_out = True
        return False

    def names(self, sources: tuple[str, ...]) -> set[str] | None:
        """The names that sources use, without running them; None if they can't be told."""
        outcome = self.subject.ask(Request("names", args=sources, seconds=self.limits.cell_seconds))
        return set(outcome.value) if outcome.ok and isinstance(outcome.value, list) else None

    def run(self, step: RunStep) -> None:
        """Run a cell. If it ends the process, the submission goes on without it."""
        if self.ready():
            self._run(step)

    def _run(self, step: RunStep) -> None:
        flags = ("definitions",) if step.definitions else ()
        seconds = self.limits.cell_seconds
        request = Request("run", source=step.source, args=flags, number=step.number, seconds=seconds)
        outcome = self.subject.ask(request)
        self.timed_out = self.timed_out or outcome.status == "time-limit"
        if outcome.status in WHY:
            stopped = outcome.status == "time-limit" and not self._child.ended
            self.notes.append(say(STOPPED if stopped else WHY[outcome.status], line=_first_line(step.source)))
        if outcome.status == "too-large" or (self._child.ended and outcome.status != "not-run"):
            return
        if step.exercise and not step.definitions:
            self._note(step.exercise, outcome)
        if outcome.status == "time-limit":  # another process would wait for it as long: it takes what the cell defines
            step = replace(step, definitions=True)
        self._done.append(step)  # also one that was not run, behind a death: it runs when the others run again

    def test(self, step: TestStep) -> tuple[Outcome, Any]:
        """Run a test cell, which counts as run from then on; its outcome, and the value that it ends with (None if
        there is none)."""
        name = f"_grade_{secrets.token_hex(8)}"
        if not self.ready():
            return Outcome(status="not-run"), None
        source = _with_value(step.source, name)
        outcome = self.subject.ask(Request("run", source=source, seconds=self.limits.cell_seconds))
        self.timed_out = self.timed_out or outcome.status == "time-limit"
        if not outcome.ok:
            return outcome, None
        self._done.append(RunStep(step.source))
        value = self.subject.ask(Request("get", target=name, seconds=self.limits.cell_seconds))
        return outcome, value.value if value.ok else None

    def _note(self, exercise: str, outcome: Outcome) -> None:

        lines = [outcome.output]
        if outcome.status == "time-limit":
            lines.append(say("This cell did not finish in time and was stopped."))
        if outcome.raised is not None and outcome.raised.name != "NotImplementedError":
            raised = outcome.raised
            lines.append(say("This cell raised {error}: {message}", error=raised.name, message=raised.message))
        self._printed[exercise] = "\n".join(lines).strip()

    def printed_by(self, exercise: str) -> str:
        """What an exercise's own cell printed when it ran, and how it failed if it did; "" if it printed nothing or
        hasn't run."""
        return self._printed.get(exercise, "")

    def seconds_for_check(self, exercise: Exercise) -> float:
        """Seconds that the next check may take. The setting is for an exercise without a limit of its own; one that may
        take twice as long as others does so here too."""
        share = (exercise.seconds or SECONDS) / SECONDS
        return max(min(self.limits.check_seconds * share, self.left() / self.limits.patience), LEAST_SECONDS)

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_error: type[BaseException] | BaseException | TracebackType | Any) -> None:
        self._child.close()


def _with_value(source: str, name: str) -> str:
    """The source of a test cell, changed to keep the value of its last expression under `name`; unchanged if it ends
    with none."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # magics
        return source
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        tree.body[-1] = ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], last.value), last)
        source = ast.unparse(ast.fix_missing_locations(tree))
    return source


def _first_line(source: str) -> str:
    line = next((line.strip() for line in source.splitlines() if line.strip()), "")
    return repr(line[:80])
