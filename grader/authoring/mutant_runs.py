"""The checks of mutants, what they say of each, and the list of those that are right answers too (`EQUIVALENT`)."""

from __future__ import annotations

import itertools
import multiprocessing
import queue
import threading
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch

from grader.authoring.mutants import SEEDS, Mutant, derive
from grader.authoring.mutations import CUT
from grader.authoring.samples import FOLDER, ROOT
from grader.authoring.spoilt import spoilt
from grader.errors import CourseError
from grader.exercises.registry import exercises
from grader.interrupt import children_hear_no_interrupt
from grader.spec.evaluate import GENERAL_FINDINGS, evaluate
from grader.subject import Outcome, Request
from grader.subject.local import LocalSubject
from grader.subject.watch import warm_up

EQUIVALENT = FOLDER / "equivalent_mutants.toml"  # in the repository
SECONDS = 5.0  # for the check of a mutant; the practice check of a model solution takes less than one
PATIENCE = 30.0  # for a worker, whose check should have stopped by itself long before
Listed = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Result:
    """What the check said about a mutant. `verdict` is "named" (a listed mistake), "general" (a general finding),
    "unnamed", "survived", "by chance" (some draws of inputs show it, others don't) or "broken". `helped`: the report
    has a name or a hint."""

    mutant: Mutant
    verdict: str
    helped: bool = True


class _AskedForGradients(LocalSubject):
    """Notes whether a check asks for gradients."""

    asked = False

    def ask(self, request: Request) -> Outcome:
        self.asked |= request.cotangents is not None
        return super().ask(request)


def run(mutant: Mutant) -> Result | None:
    """The check of one mutant in this process, with the practice inputs and with those of courses. None if it cuts a
    gradient where there is none: at a mask, a size, a new tensor."""
    known = exercises(mutant.own)
    exercise = known[mutant.exercise]
    cut: set[str] = set()

    def cut_gradient(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or not value.is_floating_point():
            cut.add("nothing")
            return value
        cut.add("gradient" if value.requires_grad and torch.is_grad_enabled() else "tensor")
        return value.detach()

    try:
        subject = _AskedForGradients(_namespace(mutant, cut_gradient))
    except Exception:  # the cell itself raises: its learner sees Python's message
        return Result(mutant, "general")
    found = evaluate(exercise, subject, seconds=SECONDS, exercises=known)
    # A check that asks for no gradients gives none to cut.
    if cut and "gradient" not in cut and (subject.asked or "tensor" not in cut):
        return None
    if found.broken:
        return Result(mutant, "broken")
    if any(_passes(mutant, course) != found.passed for course in range(1, mutant.seeds)):
        return Result(mutant, "by chance")
    if found.passed:
        return Result(mutant, "survived")
    if found.diagnosis in GENERAL_FINDINGS or found.diagnosis == "excluded-function":
        return Result(mutant, "general")
    if found.diagnosis is not None:
        return Result(mutant, "named")
    return Result(mutant, "unnamed", helped=bool(found.hints or any(part.hints for part in found.parts)))


def _namespace(mutant: Mutant, cut_gradient: Callable[[Any], Any]) -> dict[str, Any]:
    """What a mutant's source defines."""
    namespace: dict[str, Any] = {"__name__": "__main__", CUT: cut_gradient, "spoilt": spoilt}
    exec(mutant.source, namespace)
    return namespace


def _passes(mutant: Mutant, course: int) -> bool:
    """Whether a mutant passes the check with a course's own inputs, which are larger."""

    def detached(value: Any) -> Any:
        return value.detach() if isinstance(value, torch.Tensor) else value

    exercise, seed = exercises(mutant.own)[mutant.exercise], f"course {course}".encode()
    subject = LocalSubject(_namespace(mutant, detached))
    return evaluate(exercise, subject, seed=seed, larger=True, seconds=SECONDS, explained=False).passed


def run_all(mutants: Sequence[Mutant], jobs: int) -> list[Result]:
    """The checks of many mutants, in `jobs` processes. One that doesn't end is stopped, and counts as found; one that
    cuts a gradient where there is none is left out."""
    waiting: queue.SimpleQueue[tuple[int, Mutant]] = queue.SimpleQueue()
    for item in enumerate(mutants):
        waiting.put(item)
    found: dict[int, Result | None] = {}
    stopping = threading.Event()
    threads = [threading.Thread(target=_keep_a_worker, args=(waiting, found, stopping)) for _ in range(jobs)]
    try:
        with children_hear_no_interrupt():
            for thread in threads:
                thread.start()
        for thread in threads:
            thread.join()
    except KeyboardInterrupt:
        stopping.set()
        for worker in multiprocessing.active_children():
            worker.kill()
        raise
    results = (found[i] for i in range(len(mutants)))
    return [result for result in results if result is not None]


def _keep_a_worker(
    waiting: queue.SimpleQueue[tuple[int, Mutant]], found: dict[int, Result | None], stopping: threading.Event
) -> None:
    """Give a worker one mutant after the other, and put its results into `found` by their numbers. A worker that dies
    or falls silent is replaced; once `stopping` is set, no mutant is begun."""
    worker = None
    while not stopping.is_set():
        try:
            number, mutant = waiting.get_nowait()
        except queue.Empty:
            break
        try:
            worker = worker or _Worker()
            found[number] = worker.check(mutant)
        except (EOFError, OSError):  # it died, or was too long about it
            if worker is None:
                if stopping.is_set():
                    break
                raise
            found[number] = Result(mutant, "general")
            worker.end()
            worker = None
    if worker is not None:
        worker.end()


class _Worker:
    """A process that checks mutants. It is spawned, since a process with threads is not safely forked."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()
        self.pipe.recv()  # it is ready: importing torch is not to count as a check's time

    def check(self, mutant: Mutant) -> Result | None:
        """What `run` gives for a mutant. `EOFError` or `OSError` if the process died, or did not answer in time."""
        self.pipe.send(mutant)
        if not self.pipe.poll(PATIENCE):
            raise TimeoutError
        answer: Result | None = self.pipe.recv()
        return answer

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _work(pipe: Connection) -> None:
    torch.set_num_threads(1)
    warm_up()
    pipe.send("ready")
    while True:
        try:
            pipe.send(run(pipe.recv()))
        except EOFError:
            return


@cache
def equivalent() -> Listed:
    """The mutants that are right answers: by exercise, the change and why it makes no difference."""
    return tomllib.loads((ROOT / EQUIVALENT).read_text("utf-8"))


def stale(
    names: Iterable[str], results: Iterable[Result], listed: Listed | None = None, path: Path = EQUIVALENT
) -> list[str]:
    """What is wrong with the list of equivalent mutants of these exercises: entries that no longer exist or that the
    check passes with no inputs. What makes next to no difference may show with some of them."""
    listed = equivalent() if listed is None else listed
    verdicts = {(r.mutant.exercise, r.mutant.change): r.verdict for r in results}
    problems = []
    for name, change in itertools.chain.from_iterable(((n, c) for c in listed.get(n, {})) for n in names):
        verdict = verdicts.get((name, change))
        if verdict is None:
            problems.append(f"{path}: {name} no longer has this mutant: {change}")
        elif verdict not in PASSED:
            problems.append(f"{path}: the check of {name} does not pass this mutant ({verdict}): {change}")
    return problems


def report(
    names: Sequence[str],
    jobs: int,
    tell: Callable[[str], object],
    show_unhelped: bool = False,
    seeds: int = SEEDS,
) -> bool:
    """Run every mutant of these exercises (of all if none is named) with so many draws of inputs, and tell a table and
    what is left to do. Returns whether all are found or listed as equivalent; `CourseError` for an exercise that isn't
    there."""
    known = exercises()
    unknown = [name for name in names if name not in known]
    if unknown:
        raise CourseError(f"There is no exercise {unknown[0]!r}.")
    chosen = [name for name in names or known if known[name].kind != "answers"]
    derived = [replace(mutant, seeds=seeds) for name in chosen for mutant in derive(known[name])]
    results = run_all(derived, jobs)
    tell(table(results))
    problems = [*stale(chosen, results), *unsettled(results)]
    for line in [*(without_help(results) if show_unhelped else []), *problems]:
        tell(line)
    return not problems


def unsettled(results: Iterable[Result], listed: Listed | None = None) -> list[str]:
    """A line for every mutant that passes its check, with some inputs at least, and isn't listed as equivalent, or that
    breaks it."""
    return [
        f"{r.verdict}: {r.mutant.exercise}: {r.mutant.change}"
        for r in results
        if r.verdict == "broken" or (r.verdict in PASSED and not _is_equivalent(r.mutant, listed))
    ]


def without_help(results: Iterable[Result]) -> list[str]:
    """A line for every mutant whose report has neither a name nor a hint."""
    return [f"neither named nor given a hint: {r.mutant.exercise}: {r.mutant.change}" for r in results if not r.helped]


def _is_equivalent(mutant: Mutant, listed: Listed | None) -> bool:
    return mutant.change in (equivalent() if listed is None else listed).get(mutant.exercise, {})


PASSED = ("survived", "by chance")
NOT_KILLED = ("equivalent", "survived", "by chance", "broken")
COLUMNS = ("mutants", "killed", "named", "general", "unnamed", "no help", *NOT_KILLED)


def table(results: Sequence[Result], listed: Listed | None = None) -> str:
    """A line for every exercise and one for the sum. Of those killed: named by a listed mistake, by a general finding,
    unnamed; of the unnamed, those without a hint ("no help")."""
    counts: dict[str, Counter[str]] = {}
    for result in results:
        settled = result.verdict in PASSED and _is_equivalent(result.mutant, listed)
        verdict = "equivalent" if settled else result.verdict
        count = counts.setdefault(result.mutant.exercise, Counter())
        count.update(["mutants", verdict, *([] if verdict in NOT_KILLED else ["killed"])])
        count["no help"] += not result.helped
    counts["all"] = sum(counts.values(), Counter())
    lines = [f"{'exercise':30}" + "".join(f"{column:>11}" for column in COLUMNS)]
    lines += [f"{name:30}" + "".join(f"{count[c]:11}" for c in COLUMNS) for name, count in counts.items()]
    return "\n".join(lines)
