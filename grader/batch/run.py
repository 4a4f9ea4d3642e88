"""One run over a class: what is new goes to the workers, what comes back to the log, the files and the gradebook."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import importlib
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from grader.batch.autograded import Autograded
from grader.batch.finish import Item, finish
from grader.batch.key import GradingSettings
from grader.batch.lock import locked
from grader.batch.models import nbgrader
from grader.batch.progress import Progress
from grader.batch.starting import Starting
from grader.classroom.class_directory import ClassDirectory, Submission
from grader.classroom.results_log import Record, ResultsLog
from grader.judge.outline import Outline

# Imported where they are needed: the workers start first, and they take longest.
if TYPE_CHECKING:
    from grader.batch.cluster import Graded
    from grader.batch.store import Store
    from grader.batch.worker import Task
    from grader.classroom.gradebook import Gradebook

PLOT = b"plt."
LOST = "The connection to the scheduler was lost. What was graded before is kept; run it again."
STOPPED = "Stopped. What was graded before is kept; run it again."


@dataclass(frozen=True)
class Options:
    """What the command line asks for. `scheduler` is a Dask scheduler's address, None for workers of this run's own;
    `workers` how many, None for one a core."""

    workers: int | None = None
    scheduler: str | None = None
    force: bool = False


@dataclass
class Outcome:
    """How it went. `records` has by student the results of all who handed in, `graded` how many of them are new;
    `problems` has what could not be graded or stored, and why; `stopped` is why the run ended before its end."""

    lesson: str
    records: dict[str, Record] = field(default_factory=dict)
    graded: int = 0
    problems: dict[str, str] = field(default_factory=dict)
    stopped: str = ""
    seconds: float = 0.0


def run(root: Path, lesson: str, options: Options, tell: TextIO = sys.stderr) -> Outcome:
    """Grade a lesson. Nothing is graded that the log has already, and nothing is stored that is there."""
    start = time.monotonic()
    with Starting(options.scheduler) as workers:
        course = ClassDirectory(root, lesson)
        with locked(course.root), ResultsLog(course.root, course.lesson) as log:
            outcome = _Run(course, log, options, workers, tell).run()
    outcome.seconds = round(time.monotonic() - start, 2)
    return outcome


class _Run:
    def __init__(
        self, course: ClassDirectory, log: ResultsLog, options: Options, workers: Starting, tell: TextIO
    ) -> None:
        self.course, self.log, self.options, self.workers, self.tell = course, log, options, workers, tell
        self.terms: GradingSettings = course.terms()
        self.outcome = Outcome(course.lesson)
        self.keys: dict[str, str] = {}
        self.plots = False  # whether somebody draws more than the notebook does, in cells that are none of its examples

    def run(self) -> Outcome:
        found, self.outcome.problems = self.course.submissions()
        submissions = {one.student: one for one in found}
        new = [one for one in found if not self._known(one)]
        if new:
            workers = min(self.options.workers or len(os.sched_getaffinity(0)), len(new))
            self.workers.begin(workers, self.terms, self.plots)
        _import_the_gradebook()
        from grader.batch.store import Store

        with self._gradebook() as book:
            files = Autograded(self.course)
            store = Store(self.log, files, book, lambda text: print(text, file=self.tell))
            self._store_again(submissions, files, store, book)
            if new:
                self._grade(new, store, book)
            store.end()
        self.outcome.problems |= store.problems
        return self._complete(submissions)

    def _known(self, submission: Submission) -> bool:
        """Whether the log has the result."""
        data, why = submission.read(self.terms.limits.notebook_bytes)
        key = self.terms.key(submission.student, why or _digest(data))
        self.keys[submission.student] = key
        if self.options.force or key not in self.log.records:
            self.plots = self.plots or data.count(PLOT) > self.terms.instructor.count(PLOT)
            return False
        self.outcome.records[submission.student] = self.log.records[key]
        return True

    def _gradebook(self) -> Gradebook:
        from grader.classroom.gradebook import Gradebook

        layout = self.course.layout
        book = Gradebook(layout.db_url, layout.course_id, self.course.lesson, self.course.config)
        book.require(Outline.of(self.terms.instructor).exercises)
        return book

    def _store_again(
        self, submissions: dict[str, Submission], files: Autograded, store: Store, book: Gradebook
    ) -> None:
        """What an earlier run graded but didn't get to store, or what was taken away since."""
        complete = book.complete()
        for student, record in self.outcome.records.items():
            submission = submissions[student]
            if student in complete and self.log.stored.get(student) == record.key and files.there(submission):
                continue
            data, _why = submission.read(self.terms.limits.notebook_bytes)
            store.add(Item(submission, record, finish(record.result, data, self.terms, book.release)))

    def _grade(self, new: Sequence[Submission], store: Store, book: Gradebook) -> None:
        from grader.batch.cluster import SchedulerLost

        submissions = {one.student: one for one in new}
        try:
            judges = self.workers.judges()
            gc.freeze()
            gc.enable()  # from here on there is something to collect
            progress = Progress(len(new), self.tell)
            for batch in judges.grade(self._tasks(new), len(new), book.release):
                items = [self._item(one, submissions) for one in batch if self._has_result(one)]
                store.add_new(items)
                self.outcome.graded += len(items)
                progress.add(len(batch))
            progress.end()
            self.workers.dismiss()
        except SchedulerLost:
            self.outcome.stopped = LOST
        except KeyboardInterrupt:
            self.outcome.stopped = STOPPED

    def _tasks(self, submissions: Sequence[Submission]) -> Iterator[Task]:
        from grader.batch.worker import Task

        for one in submissions:
            data, why = one.read(self.terms.limits.notebook_bytes)
            # Read anew: what is graded is what the key is of, even if the file has changed meanwhile.
            self.keys[one.student] = self.terms.key(one.student, why or _digest(data))
            yield Task(one.student, data, why)

    def _has_result(self, graded: Graded) -> bool:
        if graded.failed:
            self.outcome.problems[graded.task.student] = graded.failed
        return graded.result is not None

    def _item(self, graded: Graded, submissions: dict[str, Submission]) -> Item:
        student = graded.task.student
        assert graded.result is not None
        assert graded.finished is not None
        digest = "" if graded.task.why else _digest(graded.task.data)
        record = Record.now(self.keys[student], student, self.course.lesson, digest, graded.result)
        self.outcome.records[student] = record
        return Item(submissions[student], record, graded.finished)

    def _complete(self, submissions: dict[str, Submission]) -> Outcome:
        """With a reason for everybody who has no mark, or none that can be trusted."""
        for student in submissions:
            record = self.outcome.records.get(student)
            if record is None:
                self.outcome.problems.setdefault(student, self.outcome.stopped or "Not graded.")
                continue
            broken = [one.name for one in record.result.exercises if one.broken]
            if record.result.unreadable:
                self.outcome.problems.setdefault(student, record.result.unreadable)
            elif broken:
                self.outcome.problems.setdefault(student, f"The check itself failed: {', '.join(broken)}.")
        return self.outcome


def _import_the_gradebook() -> None:
    """It takes half a second that isn't waited for: the workers, who are, go first."""

    def behind() -> None:
        if sys.platform == "linux":  # where it is this thread's alone
            os.nice(10)
        with contextlib.suppress(ImportError):  # which is told where it is imported again
            importlib.import_module("grader.batch.store")
            nbgrader("api")

    thread = threading.Thread(target=behind)
    thread.start()
    thread.join()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
