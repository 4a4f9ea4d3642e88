"""Grades one submission: bytes in, a plain result out. Knows nothing of nbgrader and of databases."""

from __future__ import annotations

import hashlib
import hmac
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from grader.errors import Unreadable
from grader.exercises.registry import exercises
from grader.judge import plan
from grader.judge.clean_text import clean
from grader.judge.disclosure import BY_KIND, judged, stop_of
from grader.judge.limits import Limits
from grader.judge.needed import needed
from grader.judge.outline import Outline, visible
from grader.judge.reader import OWN_TEST, NotebookCell, read
from grader.judge.result import CARRY_FORWARD, SubmissionResult, TestResult
from grader.judge.runner import LEAST_SECONDS, Runner
from grader.judge.sandbox import Sandbox
from grader.report import ExerciseResult, Report
from grader.spec.evaluate import evaluate
from grader.spec.exercise import Exercise
from grader.subject import Outcome
from grader.subject.errors import ZygoteGone

OUT_OF_TIME = "This was not checked, because the notebook had already used up its time."
FAULT = "The judge itself failed here: {}."
HIDDEN = "A test in this cell failed. Some of the tests are not shown."


def grade(
    submission: bytes,
    outline: Outline,
    *,
    secret: bytes,
    student: str,
    sandbox: Sandbox,
    limits: Limits | None = None,
    known: Mapping[str, Exercise] | None = None,
    carry_forward: str = "none",
) -> SubmissionResult:
    """Grade the notebook `submission` against the instructor's `outline` in `sandbox`.

    Every exercise of the outline gets a result, whatever happens; a fault of ours costs the one result that it belongs
    to, which is marked as broken. Raises `ZygoteGone` only if the sandbox itself has ended: start another one and grade
    anew. `carry_forward` is a key of `CARRY_FORWARD`.
    """
    start = time.monotonic()
    limits, known = limits or sandbox.limits, known or exercises(outline.own)
    try:
        cells = read(submission, limits.notebook_bytes, limits.cells)
    except Unreadable as error:
        return ungraded(error.args[0], outline, known, confinement=sandbox.confinement)
    content = content_of(cells)
    with Runner(sandbox, limits, known, outline.exercises) as runner:
        work = plan.make(outline, cells)
        steps = without_unneeded_examples(runner.names, work).steps
        results = _results(runner, steps, lambda name: seed(secret, student, name, content))
    again = _SecondRun(sandbox, limits, known, outline, work, runner)
    for name, result in results.items() if CARRY_FORWARD[carry_forward] else ():
        if result.first_fix and not result.broken:
            try:
                score, used = again.carried(name, result.first_fix, seed(secret, student, name, content))
            except ZygoteGone:
                raise
            except Exception as error:
                results[name] = replace(result, broken=True, output=FAULT.format(type(error).__name__))
            else:
                results[name] = _with_carried(result, score, used, CARRY_FORWARD[carry_forward])
    tests = again.tests() if outline.tests else ()
    checked = tuple(results[name] for name in outline.exercises)
    return SubmissionResult(
        checked,
        notes=tuple(dict.fromkeys((*work.notes, *runner.notes))),
        confinement=sandbox.confinement,
        timed_out=runner.timed_out
        or again.timed_out
        or any(part.kind == "time-limit" for result in checked for part in result.parts),
        seconds=round(time.monotonic() - start, 4),
        tests=tests,
    )


def _with_carried(result: ExerciseResult, score: float, used: tuple[str, ...], share: float) -> ExerciseResult:
    gain = share * (score - result.score)
    return result if gain <= 0 else replace(result, score=result.score + gain, carried=gain, carried_with=used)


class _SecondRun:
    """Runs the whole notebook once more, in a process of its own that sees what a student's code must not: the course's
    solutions, hidden tests. Nothing printed there is kept, so it can't give anything away."""

    def __init__(
        self,
        sandbox: Sandbox,
        limits: Limits,
        known: Mapping[str, Exercise],
        outline: Outline,
        work: plan.Plan,
        first: Runner,
    ) -> None:
        self._sandbox, self._limits, self._known = sandbox, limits, known
        self._outline, self._steps, self._first = outline, work.steps, first
        self.timed_out = False

    def _runner(self) -> Runner:
        left = max(self._first.left(), LEAST_SECONDS) / self._limits.patience
        limits = replace(self._limits, submission_seconds=left)
        return Runner(self._sandbox, limits, self._known, self._outline.exercises)

    def carried(self, name: str, earlier: str, secret_seed: bytes) -> tuple[float, tuple[str, ...]]:
        """The score, 0 to 1, of the exercise `name` when the course's solution stands in for `earlier`, the failing
        exercise that it builds on, and for any that fails after that; and the names of the exercises replaced."""
        solutions = {cell.exercise: cell.source for cell in self._outline.cells if cell.role == "solution"}
        used: tuple[str, ...] = ()
        score = 0.0
        while earlier in solutions and earlier not in (*used, name):
            used = (*used, earlier)
            with self._runner() as runner:
                self._run_until(runner, name, {exercise: solutions[exercise] for exercise in used})
                if not runner.ready():
                    break
                exercise, seconds = self._known[name], runner.seconds_for_check(self._known[name])
                report = evaluate(
                    exercise, runner.subject, seed=secret_seed, larger=True, seconds=seconds, exercises=self._known
                )
                self.timed_out = self.timed_out or runner.timed_out
            if report.broken:
                break
            score, earlier = max(score, report.score), report.first_fix
        return score, used

    def _run_until(self, runner: Runner, name: str, solutions: Mapping[str, str]) -> None:
        """Run the notebook up to the check of the exercise `name`. `solutions` are the course's, by exercise, that run
        in place of the student's, which may stand in any cell."""
        for step in self._steps[: self._steps.index(plan.CheckStep(name))]:
            if isinstance(step, plan.RunStep):
                runner.run(step)
                if step.exercise in solutions:
                    runner.run(plan.RunStep(solutions[step.exercise]))
        for source in solutions.values():
            runner.run(plan.RunStep(source))

    def tests(self) -> tuple[TestResult, ...]:
        """The results of the teacher's own test cells, in order; empty if there are none."""
        names, limits = self._outline.tests, self._limits
        hides = any(visible(cell.source) != cell.source for cell in self._outline.cells if cell.role == OWN_TEST)
        found: dict[str, TestResult] = {}
        try:
            with self._runner() as runner:
                for step in self._steps:
                    if isinstance(step, plan.RunStep):
                        runner.run(step)
                    elif isinstance(step, plan.TestStep):
                        found[step.grade_id] = _test_result(step.grade_id, *runner.test(step), hides, limits)
                self.timed_out = self.timed_out or runner.timed_out
        except ZygoteGone:
            raise
        except Exception as error:
            why = FAULT.format(type(error).__name__)
            return tuple(found.get(name, TestResult(name, False, message=why, broken=True)) for name in names)
        return tuple(found[name] for name in names)


def _test_result(name: str, outcome: Outcome, value: object, hides: bool, limits: Limits) -> TestResult:
    if outcome.ok:
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        return TestResult(name, True, float(value) if is_number else None)  # type: ignore[arg-type]
    said = BY_KIND.get(outcome.status, "")
    if outcome.raised is not None:
        said = HIDDEN if hides else f"{outcome.raised.name}: {outcome.raised.message}"
    return TestResult(name, False, message=clean(said, limits.output_bytes))


def _results(
    runner: Runner, steps: tuple[plan.Step, ...], seed_of: Callable[[str], bytes]
) -> dict[str, ExerciseResult]:
    """Carry out the steps; the results by exercise. `seed_of` gives the secret seed of an exercise. An exercise that
    fails after a cell that a fault of ours kept from running is marked as broken too: it may need that cell."""
    results: dict[str, ExerciseResult] = {}
    cell_lost = False
    for step in steps:
        try:
            if isinstance(step, plan.TestStep):
                continue
            if isinstance(step, plan.RunStep):
                runner.run(step)
                continue
            result = _check(runner, runner.known[step.exercise], seed_of(step.exercise))
            results[step.exercise] = replace(result, broken=result.broken or (cell_lost and not result.passed))
        except ZygoteGone:
            raise
        except Exception as error:
            if not isinstance(step, plan.CheckStep):
                cell_lost = True
            else:
                results[step.exercise] = _broken(runner.known[step.exercise], error)
    return results


def ungraded(why: str, outline: Outline, known: Mapping[str, Exercise], confinement: str) -> SubmissionResult:
    """The result of a submission that can't be read, for the reason `why`: no points for any exercise or test."""
    nothing = tuple(ExerciseResult(name, known[name].points, 0.0) for name in outline.exercises)
    tests = tuple(TestResult(name, False, message=why) for name in outline.tests)
    return SubmissionResult(nothing, unreadable=why, confinement=confinement, tests=tests)


def failed(error: BaseException, outline: Outline, known: Mapping[str, Exercise], confinement: str) -> SubmissionResult:
    """The result of a submission that met a fault of ours, `error`: no points, and every exercise marked as broken."""
    nothing = tuple(_broken(known[name], error) for name in outline.exercises)
    why = FAULT.format(type(error).__name__)
    tests = tuple(TestResult(name, False, message=why, broken=True) for name in outline.tests)
    return SubmissionResult(nothing, confinement=confinement, tests=tests)


def _broken(exercise: Exercise, error: BaseException) -> ExerciseResult:
    why = FAULT.format(type(error).__name__)
    return ExerciseResult(exercise.name, exercise.points, 0.0, output=why, broken=True)


def content_of(cells: tuple[NotebookCell, ...]) -> bytes:
    """A hash of everything that is read of a notebook."""
    return hashlib.sha256(ascii(cells).encode()).digest()


def seed(secret: bytes, student: str, exercise: str, content: bytes) -> bytes:
    """The seed of one check's inputs, which nobody without the secret can know. `content` is the notebook's hash:
    whatever one hand-in finds out about its inputs is of no use to the next."""
    about = f"{student}\0{exercise}\0".encode("utf-8", "surrogatepass")
    return hmac.new(secret, about + content, hashlib.sha256).digest()


def without_unneeded_examples(names_of: Callable[[tuple[str, ...]], set[str] | None], work: plan.Plan) -> plan.Plan:
    """The plan without the worked examples that nothing needs: they print and compute, which takes long. `names_of`
    gives the names that sources use (None if that can't be told), asked in a process in which no student's code has
    run."""
    own = tuple(step.source for step in work.steps if isinstance(step, plan.RunStep) and not step.example)
    examples = {
        i: (step.source, step.definitions)
        for i, step in enumerate(work.steps)
        if isinstance(step, plan.RunStep) and step.example
    }
    names = names_of(own)
    return work if names is None else work.without(examples.keys() - needed(names, examples))


def _check(runner: Runner, exercise: Exercise, secret_seed: bytes) -> ExerciseResult:
    """The result of an exercise as it now is in the student's process; `secret_seed` decides its inputs."""
    if not runner.ready():
        return ExerciseResult(exercise.name, exercise.points, 0.0, output=OUT_OF_TIME)
    seconds, runner.subject.stop = runner.seconds_for_check(exercise), None
    earlier: dict[str, Report] = {}
    report = evaluate(
        exercise,
        runner.subject,
        seed=secret_seed,
        larger=True,
        seconds=seconds,
        exercises=runner.known,
        earlier=earlier,
    )
    stop = None if report.passed else runner.subject.stop
    first = report.first_failure
    late = first is not None and first.kind == "time-limit"  # so no other part has words of its own
    practice = report if report.passed else _practice_report(runner, exercise, earlier, late)
    printed = (runner.printed_by(exercise.name), practice.output if practice else "")
    result = judged(report, practice, "\n".join(text for text in printed if text), runner.limits.output_bytes)
    return replace(result, stop=stop and stop_of(stop))


def _practice_report(runner: Runner, exercise: Exercise, earlier: dict[str, Report], late: bool) -> Report | None:
    """The learner's own check, on the practice inputs: only its words may be shown, as they hold nothing of the secret
    ones. Nor do the reports of exercises that it builds on, `earlier`, which are on practice inputs too. None where
    it would take as long again to say no more."""
    if late or runner.subject.ended or runner.left() < LEAST_SECONDS:
        return None
    seconds = runner.seconds_for_check(exercise)
    report = evaluate(exercise, runner.subject, seconds=seconds, exercises=runner.known, earlier=earlier)
    return None if report.broken else report
