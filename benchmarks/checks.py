"""Time of a `check` call for each exercise in the learner's own process: model solution, every eighth wrong sample."""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from grader.authoring.model_solutions import model_solution
from grader.authoring.samples import submissions
from grader.exercises.registry import exercises
from grader.spec.evaluate import evaluate
from grader.spec.exercise import Exercise
from grader.subject.local import LocalSubject
from grader.subject.watch import warm_up

RUNS = 25


def measure(exercise: Exercise, source: str, remarks: bool = True) -> list[float]:
    """The milliseconds that a check of this source takes, for each run, with or without what it remarks on a GPU."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    exec(source, namespace)
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        evaluate(exercise, LocalSubject(namespace), exercises=exercises(), remarks=remarks)
        times.append((time.perf_counter() - start) * 1000)
    return times


def main() -> None:
    """Print a table."""
    start = time.perf_counter()
    warm_up()
    print(f"first check of a kernel, once: {(time.perf_counter() - start) * 1000:.0f} ms more")
    print(f"{'check, milliseconds':34}{'right, median':>14}{'worst':>8}{'bare':>12}{'wrong, median':>15}{'worst':>8}")
    for name, exercise in exercises().items():
        right = measure(exercise, model_solution(exercise))
        bare = measure(exercise, model_solution(exercise), remarks=False)
        samples = [
            one.source for one in submissions() if one.exercise == name and one.mistake not in ("", "time-limit")
        ]
        wrong = [took for source in samples[::8] for took in measure(exercise, source)]
        told = f"{statistics.median(wrong):15.1f}{max(wrong):8.1f}" if wrong else ""
        print(f"{name:34}{statistics.median(right):14.1f}{max(right):8.1f}{statistics.median(bare):12.1f}{told}")


if __name__ == "__main__":
    main()
