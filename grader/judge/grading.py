"""Grades one submission: bytes in, a plain result out. Knows nothing of nbgrader and of databases."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable, Mapping

from grader.exercises.registry import exercises
from grader.judge import plan
from grader.judge.feedback import judged
from grader.judge.limits import Limits
from grader.judge.needed import needed
from grader.judge.outline import Outline
from grader.judge.reader import Unreadable, read
from grader.judge.result import ExerciseResult, SubmissionResult
from grader.judge.runner import Runner
from grader.judge.sandbox import OpenZygote, Sandbox
from grader.report import Report
from grader.spec.evaluate import Check, evaluate
from grader.spec.exercise import Exercise
from grader.subject.zygote import ZygoteGone

Place = Sandbox | OpenZygote
OUT_OF_TIME = "Not checked: the whole notebook had used up its time before."


def grade(
    submission: bytes,
    outline: Outline,
    *,
    secret: bytes,
    student: str,
    place: Place,
    limits: Limits | None = None,
    known: Mapping[str, Exercise] | None = None,
    meanwhile: Callable[[], object] = lambda: None,
) -> SubmissionResult:
    """Grade the notebook `submission` against the instructor's `outline` in the sandbox `place`.

    Every exercise of the outline gets a result, whatever happens. Raises `ZygoteGone` only if the sandbox itself has
    ended: start another one and grade anew. `meanwhile` is called at a moment at which this process would wait for the
    student's; not if the notebook can't be read.
    """
    start = time.monotonic()
    limits, known = limits or place.limits, known or exercises()
    mine = [known[name] for name in outline.exercises]
    with Runner(place, limits, known) as runner:  # while this process reads, the student's is made
        try:
            cells = read(submission, limits.notebook_bytes, limits.cells)
        except Unreadable as error:
            nothing = tuple(ExerciseResult(e.name, e.points, 0.0) for e in mine)
            return SubmissionResult(nothing, unreadable=str(error), sandboxed=place.sandboxed)
        work = plan.make(outline, cells)
        checks = _Checks(runner, work, known, secret, student)
        for step in _lean(runner, work, checks, meanwhile).steps:
            if isinstance(step, plan.RunStep):
                runner.run(step)
            else:
                checks.run(step.exercise)
        runner.settle()
        checks.write_up()
    return SubmissionResult(
        tuple(checks.found[e.name] for e in mine),
        notes=(*work.notes, *runner.notes),
        sandboxed=place.sandboxed,
        seconds=round(time.monotonic() - start, 4),
    )


def _lean(runner: Runner, work: plan.Plan, checks: _Checks, meanwhile: Callable[[], object]) -> plan.Plan:
    """The plan without the worked examples that nothing needs. The names come from a process in which nothing of the
    student's has run yet."""
    own = tuple(step.source for step in work.steps if isinstance(step, plan.RunStep) and not step.example)
    examples = {
        i: (step.source, step.definitions)
        for i, step in enumerate(work.steps)
        if isinstance(step, plan.RunStep) and step.example
    }

    def use_the_wait() -> None:
        checks.prepare()
        meanwhile()

    names = runner.names(own, use_the_wait)
    return work if names is None else work.without(examples.keys() - needed(names, examples))


def seed(secret: bytes, student: str, exercise: str) -> bytes:
    """What the inputs of one student's check are drawn from: nobody without the secret can know them."""
    return hmac.new(secret, f"{student}\0{exercise}".encode("utf-8", "surrogatepass"), hashlib.sha256).digest()


class _Checks:
    """The checks of one submission."""

    def __init__(
        self, runner: Runner, work: plan.Plan, known: Mapping[str, Exercise], secret: bytes, student: str
    ) -> None:
        self.runner, self.known, self.secret, self.student = runner, known, secret, student
        self.found: dict[str, ExerciseResult] = {}
        self._order = iter([step.exercise for step in work.steps if isinstance(step, plan.CheckStep)])
        self._ready: dict[str, Check] = {}
        self._checked: tuple[Report, Report | None, str] | None = None

    def prepare(self) -> None:
        """Do what the next check needs no student for: while the student's process is at work there is time for it."""
        name = next(self._order, None)
        if name is not None:
            made = seed(self.secret, self.student, name)
            self._ready[name] = Check(self.known[name], seed=made, larger=True)
            self._ready[name].prepare()

    def run(self, name: str) -> None:
        """Check an exercise as it now is in the student's process. Its result is there after `write_up`."""
        if name not in self._ready:
            self.prepare()
        check, runner = self._ready.pop(name), self.runner
        exercise = check.exercise
        # The student's process is busy from here on: with the cell before this check, then with the check's questions.
        check.ask(runner.subject, seconds=runner.seconds_for_check(exercise))
        self.write_up()
        self.prepare()
        if not runner.ready():
            self.found[name] = ExerciseResult(name, exercise.points, 0.0, output=OUT_OF_TIME)
            return
        seconds = runner.seconds_for_check(exercise)
        report = check.run(runner.subject, seconds=seconds, earlier=runner.known)
        self._checked = report, report if report.passed else self._practice(exercise), runner.printed_by(name)

    def write_up(self) -> None:
        """Make the result of what was checked last: a moment later than it could be, when the student's process has
        something to do again."""
        if self._checked is None:
            return
        (report, told, printed), self._checked = self._checked, None
        said = "\n".join(text for text in (printed, told.output if told else "") if text)
        self.found[report.exercise] = judged(report, told, said, self.runner.limits.output_bytes)

    def _practice(self, exercise: Exercise) -> Report | None:
        """What the learner's own check says: only from there come words that could carry anything of the inputs."""
        runner = self.runner
        if runner.subject.ended:
            return None
        seconds = runner.seconds_for_check(exercise)
        report = evaluate(exercise, runner.subject, seconds=seconds, earlier=runner.known)
        return None if report.broken else report


__all__ = ["Place", "ZygoteGone", "grade", "seed"]
