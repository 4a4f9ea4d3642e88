"""The judges of a watch: workers that stay, with torch imported, and two lanes. In the quick one a submission has part
of the time (`Limits.quick`). One that needs more is graded again within the whole limits, in the slow lane, which never
has all workers. And nobody waits for one whose result is late: so no endless loop holds up the others.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

from distributed import Client, Future, KilledWorker, wait

from grader.batch.cluster import KILLED, Judges, connected
from grader.batch.worker import Outcome, Task, failure, timed_out
from grader.course.release import Release
from grader.errors import SchedulerLost
from grader.judge.fingerprint import GradingSettings

# What is said of a submission that has no result yet, and of one that hasn't been begun.
SLOW = "It takes a long time."
NOT_BEGUN = "All workers are busy."
# Seconds after the last result that a round waits for more.
GRACE = 5.0
UNDER_WAY = 2  # submissions for each worker: more than one, so that none waits for the watch


@dataclass
class _Slow:
    """A submission that takes long."""

    lesson: str
    task: Task
    future: Future | None = None  # while it is graded
    worker: str = ""  # that grades it
    graded: Outcome | None = None  # once it is
    quick: bool = False  # still in the quick lane


class Lanes:
    """A context manager around the workers: `workers` of them (None: one for each core, at least two), or those of a
    Dask `scheduler`, by its address."""

    def __init__(self, workers: int | None, scheduler: str | None) -> None:
        self._wanted, self._scheduler = workers or max(2, len(os.sched_getaffinity(0))), scheduler
        self._judges: dict[str, tuple[str, Judges]] = {}
        self._slow: list[_Slow] = []
        self._left: set[tuple[str, str]] = set()
        self._stack = ExitStack()
        self._client: Client | None = None

    def __enter__(self) -> Self:
        self._client = self._stack.enter_context(connected(self._scheduler, self._wanted))
        return self

    def __exit__(self, *_error: type[BaseException] | BaseException | TracebackType | None) -> None:
        for _form, judges in self._judges.values():
            judges.__exit__()
        self._stack.close()

    def of(self, lesson: str, settings: GradingSettings, release: Release) -> Quick:
        """The quick lane of a lesson as it is graded now; judges with other settings are ended first."""
        assert self._client is not None
        form = f"{settings.fingerprint} {release!r}"
        if lesson in self._judges and self._judges[lesson][0] != form:
            self._end(lesson)
        if lesson not in self._judges:
            self._judges[lesson] = form, Judges(self._client, lesson, settings, release)
        return Quick(self, lesson)

    def _end(self, lesson: str) -> None:
        """End a lesson's judges. Students that they have in the slow lane get another turn, with the next ones."""
        _form, judges = self._judges.pop(lesson)
        judges.__exit__()
        for slow in [slow for slow in self._slow if slow.lesson == lesson]:
            if slow.future is not None:
                slow.future.cancel()
            self._slow.remove(slow)
            self._left.add((lesson, slow.task.student))

    def judges(self, lesson: str) -> Judges:
        """The judges that were started for this lesson."""
        return self._judges[lesson][1]

    def _workers(self) -> list[str]:
        assert self._client is not None
        return list(self._client.ncores())

    def free(self) -> list[str]:
        """The addresses of the workers that no slow submission has."""
        taken = {slow.worker for slow in self._slow if slow.future is not None and not slow.quick}
        return [worker for worker in self._workers() if worker not in taken]

    def result(self, lesson: str, task: Task) -> Outcome | None:
        """What the slow lane made of a submission, which then leaves it; a failure, "slow", while it isn't done; None
        if it isn't there."""
        for slow in self._slow:
            if (slow.lesson, slow.task) == (lesson, task):
                if slow.graded is None:
                    return SLOW
                self._slow.remove(slow)
                return slow.graded
        return None

    def put(self, lesson: str, task: Task) -> None:
        """Put a task into the slow lane."""
        self._slow.append(_Slow(lesson, task))
        self._start()

    def leave(self, lesson: str, task: Task, future: Future) -> None:
        """Leave a task in the quick lane until its result, `future`, comes."""
        self._slow.append(_Slow(lesson, task, future, quick=True))

    def drop(self, lesson: str, students: Collection[str], waiting: bool) -> None:
        """Take these students' finished results out of the slow lane: nobody has asked for them, so something newer
        counts. With `waiting`, what hasn't been started as well."""
        self._slow = [
            slow
            for slow in self._slow
            if slow.lesson != lesson
            or slow.task.student not in students
            or slow.future is not None
            or (slow.graded is None and not waiting)
        ]

    def _start(self) -> None:
        """Fill the slow lane, leaving at least one worker free of it."""
        for slow in [slow for slow in self._slow if slow.future is None and slow.graded is None]:
            free = self.free()
            if len(free) < 2 and len(self._workers()) > 1:
                return
            slow.worker = free[0] if free else ""
            slow.future = self.judges(slow.lesson).submit([slow.task], free[:1])

    def finished(self) -> set[tuple[str, str]]:
        """The (lesson, student) pairs with whom the slow lane is done. `SchedulerLost` if the connection has broken."""
        for slow in self._slow:
            if slow.future is not None and slow.future.done():
                graded, slow.future = _result(slow.future), None
                if slow.quick and _too_long(graded):
                    slow.quick = False
                else:
                    slow.graded = graded
        self._start()
        left, self._left = self._left, set()
        return left | {(slow.lesson, slow.task.student) for slow in self._slow if slow.graded is not None}

    @property
    def slow(self) -> list[tuple[str, str]]:
        """The (lesson, student) pairs in the slow lane."""
        return [(slow.lesson, slow.task.student) for slow in self._slow]


def _result(future: Future) -> Outcome:
    try:
        graded: Outcome = future.result()[0]
    except CancelledError:
        raise SchedulerLost from None
    except KilledWorker:
        return KILLED
    except Exception as error:
        return failure(error)
    finally:
        future.release()
    return graded


def _too_long(graded: Outcome) -> bool:
    return timed_out(graded) or graded == KILLED


class Quick:
    """The quick lane of one lesson, for a `ClassRun`."""

    def __init__(self, lanes: Lanes, lesson: str) -> None:
        self._lanes, self._lesson = lanes, lesson

    def grade(self, tasks: Iterable[Task], _count: int) -> Iterator[list[tuple[Task, Outcome]]]:
        """Grade `tasks`; yields lists of (task, outcome) as they finish. The outcome of one that takes longer than the
        quick limits allow is a failure, until its own comes from the slow lane. Where no result comes for a while,
        those that haven't been begun stay so, or every later round would wait behind them."""
        judges, workers = self._lanes.judges(self._lesson), self._lanes.free()
        under_way: dict[Future, Task] = {}
        left, most, last = iter(tasks), UNDER_WAY * max(len(workers), 1), time.monotonic()
        while True:
            late = time.monotonic() - last > GRACE
            came: list[tuple[Task, Outcome]] = []
            while (late or len(under_way) < most) and (task := next(left, None)) is not None:
                graded = self._lanes.result(self._lesson, task)
                if graded is None and not late:
                    under_way[judges.submit([replace(task, quick=True)], workers)] = task
                else:
                    came.append((task, graded or NOT_BEGUN))
            came += [
                self._or_slow(under_way.pop(future), _result(future)) for future in list(under_way) if future.done()
            ]
            if late:
                for future, task in under_way.items():
                    self._lanes.leave(self._lesson, task, future)
                    came.append((task, SLOW))
                under_way = {}
            if came:
                yield came
                last = time.monotonic()
            if not under_way and not came:
                return
            judges.require_connection()
            if under_way and not came:
                with suppress(TimeoutError):
                    wait(list(under_way), timeout=1, return_when="FIRST_COMPLETED")

    def _or_slow(self, task: Task, graded: Outcome) -> tuple[Task, Outcome]:
        if not _too_long(graded):
            return task, graded
        self._lanes.put(self._lesson, task)
        return task, SLOW
