"""One run over a class: what is new goes to the workers, what comes back to the log, the files and the gradebook."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TextIO

import click

from grader.batch.cluster import Judges, connected, losses_told
from grader.batch.store import Store
from grader.batch.worker import GradedSubmission, Outcome, Task
from grader.book.autograded import Autograded
from grader.book.gradebook import UNKNOWN, LessonGradebook
from grader.book.rebuild import stored_notebook
from grader.book.results_log import LoggedResult, ResultsLog
from grader.course.class_directory import ClassDirectory, Submission
from grader.course.groups import drawn_for
from grader.course.lateness import timestamp
from grader.course.lock import locked
from grader.course.release import Release
from grader.course.roster import Roster
from grader.course.settings import BEST
from grader.course.to_settle import unsettled
from grader.errors import SchedulerLost, Unreadable
from grader.handed_in.earlier import attempts, put_best
from grader.handed_in.hand_in import hand_in, handed_out, of_another_lesson
from grader.interrupt import not_interrupted
from grader.judge.fingerprint import GradingSettings, changed, waits_for_regrade
from grader.judge.reader import small_form
from grader.judge.result import SubmissionMark
from grader.judge.words import cost
from grader.printable import echo, printable

LOST = "The connection to the scheduler was lost. What was graded before is kept. Run the command again."
STOPPED = "Stopped. What was graded before is kept. Run the command again."
# A worker takes seconds to start: with fewer new submissions it would not pay.
SUBMISSIONS_A_WORKER = 16


@dataclass(frozen=True)
class Options:
    """What is asked for."""

    workers: int | None = None  # how many of this run's own; None for one a core at most
    scheduler: str | None = None  # the address of a Dask scheduler to be used instead
    force: bool = False  # grade again what is graded
    add_students: bool = False  # those who aren't in the roster are graded too
    students: frozenset[str] | None = None  # whose work is looked at; None for everybody's


@dataclass
class ClassOutcome:
    """How a run over a class went; people are told by their ids."""

    lesson: str
    records: dict[str, LoggedResult] = field(default_factory=dict)  # the results of all who handed in
    marks: dict[str, SubmissionMark] = field(default_factory=dict)  # what the gradebook says of them
    best: dict[str, str] = field(default_factory=dict)  # which one counts, of those who handed in more than one
    before: dict[str, SubmissionMark] = field(default_factory=dict)  # what the gradebook said of those who had a mark
    earlier: tuple[str, ...] = ()  # whose marks are of an earlier version and stay
    changed: tuple[str, ...] = ()  # what has changed since then
    missing: tuple[str, ...] = ()  # who is on the roster and handed in nothing
    to_settle: tuple[str, ...] = ()  # of whom that isn't known, since somebody of their name did (`--is`)
    graded: int = 0  # how many results are new
    problems: dict[str, str] = field(default_factory=dict)  # what was odd, or could not be graded or stored, and why
    stopped: str = ""  # why it ended before its end
    seconds: float = 0.0


def run(root: Path, lesson: str, options: Options, tell: TextIO = sys.stderr) -> ClassOutcome:
    """Grade a lesson. Nothing is graded that the log has already, and nothing is stored that is there. Progress goes
    to `tell`. `CourseError` for a course that isn't right, `CommandFailed` if another run holds it or no worker can
    grade."""
    start = time.monotonic()
    course = ClassDirectory(root, lesson)
    course.share()
    with locked(course.root), ResultsLog(course.root, course.lesson) as log:
        outcome = ClassRun(course, log, options, tell).run()
    outcome.seconds = round(time.monotonic() - start, 2)
    return outcome


class Grader(Protocol):
    """Grades submissions as `Judges.grade` does: `count` tasks, whose results come in lists as they are there."""

    def grade(self, tasks: Iterable[Task], count: int, /) -> Iterator[list[tuple[Task, Outcome]]]: ...


# Gives judges that run already, by how a lesson is graded.
GraderFactory = Callable[[GradingSettings, Release], Grader]


class ResultSink(Protocol):
    """Takes results that have just come in."""

    def add_new(self, items: Sequence[GradedSubmission], /) -> None: ...


class ClassRun:
    """One run over a class: what it knows, and its steps. `work` has by student what was handed in. `running` gives
    judges that run already; without it the run starts its own, on Dask."""

    def __init__(
        self,
        course: ClassDirectory,
        log: ResultsLog,
        options: Options,
        tell: TextIO,
        running: GraderFactory | None = None,
    ) -> None:
        self.course, self.log, self.options, self.tell, self.running = course, log, options, tell, running
        self.settings = course.settings()
        self.exercises, self.tests = self.settings.outline.exercises, self.settings.outline.tests
        self.outcome = ClassOutcome(course.lesson)
        self.expected = handed_out(self.settings.outline)
        self.drawn_for = drawn_for(course.root, course.lesson)
        self.work: dict[str, Task] = {}

    def _say(self, text: str) -> None:
        echo(printable(text), file=self.tell)

    def run(self) -> ClassOutcome:
        """Take all steps, and return how it went. `CourseError` where the source has changed since the lesson was
        handed out."""
        for line in self.log.unreadable_lines:
            self._say(f"Skipped in the log of results: {line}")
        layout, lesson = self.course.layout, self.course.lesson
        with LessonGradebook(layout.db_url, layout.course_id, lesson, self.course.config) as book:
            book.require(self.exercises)
            submissions = self.submissions(book)
            marked = book.complete()
            self.outcome.before = {who: mark for who, mark in book.marks().items() if who in marked}
            if self.course.configured.counts == BEST:
                self._put_best_in_place(submissions, book)
            new = [submission for submission in submissions.values() if not self._known(submission)]
            files = Autograded(self.course)
            store = Store(self.log, files, book, self._say)
            self._store_again(submissions, files, store, book)
            if new and not self.outcome.stopped:
                self.log.add_basis(self.settings.version, self.settings.basis)
                self.grade(new, store, book)
            store.end({student: timestamp(submission.folder) for student, submission in submissions.items()})
            marks = book.marks()
        self.outcome.marks = {student: marks[student] for student in self.outcome.records if student in marks}
        self.outcome.problems |= store.problems
        return self._complete(submissions)

    def submissions(self, book: LessonGradebook) -> dict[str, Submission]:
        """By student, the work that is graded. Work of those who aren't on the roster is left out, and noted as a
        problem; who is in it and handed in nothing is noted as missing."""
        found, self.outcome.problems = self.course.submissions()
        if self.options.students is not None:
            found = [submission for submission in found if submission.student in self.options.students]
        roster = book.roster()
        handed_in = {submission.student for submission in found}
        left = Roster.of(self.course.root).withdrawn
        absent = roster - handed_in - left - {*self.course.layout.student_id_exclude.split(",")}
        may_have = unsettled(self.course.root, self.course.lesson)
        self.outcome.missing = tuple(sorted(absent - may_have))
        self.outcome.to_settle = tuple(sorted(absent & may_have))
        unknown = book.unknown(handed_in, self.options.add_students or self.course.configured.add_students)
        self.outcome.problems |= dict.fromkeys(unknown, f"Not graded. {UNKNOWN.format('--add-students')}")
        if found and not roster:
            self._say(f"There is no roster, so everybody who handed something in is graded ({len(found)} in all).")
        return {submission.student: submission for submission in found if submission.student not in unknown}

    def read(self, submission: Submission) -> Task:
        """Read what somebody handed in: the notebook that counts, without its outputs, which needn't lie in memory nor
        travel to the workers."""
        limits = self.settings.limits
        chosen = of_another_lesson(self.course, hand_in(submission, self.expected, limits))
        digest = "" if chosen.unreadable else hashlib.sha256(chosen.data).hexdigest()
        drawn_for = self.drawn_for(submission.student)
        whose = "\0".join(dict.fromkeys((submission.student, drawn_for)))
        key = self.settings.key(whose, "\0".join((chosen.unreadable or digest, *chosen.remarks)))
        data, unreadable = chosen.data, chosen.unreadable
        if digest:
            try:
                data = small_form(data, limits.notebook_bytes, limits.cells)
            except Unreadable as error:
                data, unreadable = b"", str(error)
        return Task(
            submission.student,
            data,
            unreadable,
            chosen.remarks,
            drawn_for=drawn_for,
            lesson=self.course.lesson,
            digest=digest,
            key=key,
            version=self.settings.version,
        )

    def _of_attempt(self, work: Task) -> LoggedResult | None:
        """The log's result of one of several hand-ins: as things are now, or of a version that waits for a regrade;
        None if it has to be graded."""
        record = self.log.records.get(work.key)
        if record is None:
            mine = (work.student, work.digest)
            same = [record for record in self.log.records.values() if (record.student, record.submission) == mine]
            record = next((record for record in reversed(same) if waits_for_regrade(self.changed_since(record))), None)
        return None if self.options.force or record is None or not self.is_whole(record) else record

    def _known(self, submission: Submission) -> bool:
        """Whether the log has the result of somebody's work, which is then noted. One with a fault of ours is tried
        again: it may have been the machine's. Of the same work what was last stored counts: a result of an earlier
        version stays until `grader regrade`, one that was taken back doesn't come back by itself."""
        student = submission.student
        work = self.work[student] = self.read(submission)
        record = self.log.records.get(self.log.stored.get(student, ""))
        if record is None or not self.is_of(record, work):
            record = self.log.records.get(work.key)
        elif record.base_key != work.key:
            pieces = self.changed_since(record)
            if waits_for_regrade(pieces) and not self.options.force and self.is_whole(record):
                self.outcome.earlier += (student,)
                self.outcome.changed = tuple(dict.fromkeys((*self.outcome.changed, *pieces)))
            else:
                record = self.log.records.get(work.key)
        if self.options.force or record is None or not self.is_whole(record):
            return False
        self.outcome.records[student] = record
        return True

    def is_of(self, record: LoggedResult, work: Task) -> bool:
        """Whether a result is of the notebook that counts now, or of the same reason why there is none."""
        if record.submission != work.digest or (not work.digest and work.unreadable != record.result.unreadable):
            return False
        return record.result.notes[: len(work.remarks)] == work.remarks

    def changed_since(self, record: LoggedResult) -> list[str]:
        """What has changed, of all that a mark depends on, since this result was given, in words; nothing where that
        isn't known."""
        before = self.log.bases.get(record.version)
        return changed(before, self.settings.basis) if before else []

    def is_whole(self, record: LoggedResult) -> bool:
        """Whether a result has what the notebook for `autograded/` is made of, and no fault of ours."""
        results, tests = record.result.exercises, record.result.tests
        names = {result.name for result in results} | {test.grade_id for test in tests}
        return names >= {*self.exercises, *self.tests} and not record.result.broken

    def _store_again(
        self, submissions: dict[str, Submission], files: Autograded, store: Store, book: LessonGradebook
    ) -> None:
        """Store what an earlier run graded but didn't get to store, or what was taken away since. Of the same work,
        handed in once more, only the time and the secret are taken over."""
        complete = book.complete()
        settings = self.settings
        for student, record in self.outcome.records.items():
            submission = submissions[student]
            if student in complete and self.log.stored.get(student) == record.key and files.there(submission):
                files.note_hand_in(submission)
                continue
            data = self.work[student].data
            made = stored_notebook(settings.outline, data, record.result, book.release, settings.limits)
            store.add(GradedSubmission(record, made))

    def _put_best_in_place(self, submissions: dict[str, Submission], book: LessonGradebook) -> None:
        """Grade all hand-ins of those students who have several, and put the one that earns most in place as the one
        that counts."""
        several = {
            who: tries for who, submission in submissions.items() if len(tries := attempts(self.course, submission)) > 1
        }
        every = [attempt for tries in several.values() for attempt in tries]
        works = {id(attempt): self.read(attempt.submission) for attempt in every}
        results = {id(attempt): record for attempt in every if (record := self._of_attempt(works[id(attempt)]))}
        new = [attempt for attempt in every if id(attempt) not in results]
        if new:
            waiting = {id(works[id(attempt)]): attempt for attempt in new}
            self.log.add_basis(self.settings.version, self.settings.basis)
            with self._until_it_ends(), self._judging(len(new), book, "Several hand-ins") as (judges, progress):
                for batch in judges.grade((works[id(attempt)] for attempt in new), len(new)):
                    for task, graded in batch:
                        if isinstance(graded, GradedSubmission):
                            results[id(waiting[id(task)])] = graded.record
                    progress.update(len(batch))
            self.log.add(results[id(attempt)] for attempt in new if id(attempt) in results)
        for student, tries in several.items():
            if not all(id(attempt) in results for attempt in tries):
                self.outcome.problems[student] = (
                    "Not all hand-ins could be graded, so it isn't known yet which is the best. Run the command again."
                )
                continue
            earned = [(attempt, results[id(attempt)].result) for attempt in tries]
            self.outcome.best[student] = put_best(self.course, book, earned)

    @contextlib.contextmanager
    def _judging(self, count: int, book: LessonGradebook, label: str = "Grading") -> Iterator[tuple[Grader, Any]]:
        """Judges for `count` submissions, and a bar, headed `label`, that shows how many are done; a context
        manager."""
        if self.running is not None:
            with click.progressbar(length=count, hidden=True) as progress:
                yield self.running(self.settings, book.release), progress
            return
        workers = self.options.workers or min(len(os.sched_getaffinity(0)), count // SUBMISSIONS_A_WORKER + 1)
        with (
            connected(self.options.scheduler, workers) as client,
            losses_told(client, self._say),
            Judges(client, self.course.lesson, self.settings, book.release) as judges,
            click.progressbar(length=count, label=label, show_pos=True, file=self.tell) as progress,
        ):
            try:
                yield judges, progress
            except KeyboardInterrupt:
                echo("\nStopping; this takes a few seconds.", file=self.tell)
                raise

    @contextlib.contextmanager
    def _until_it_ends(self) -> Iterator[None]:
        """Let a connection that breaks, or Ctrl+C, end the block; why is noted in the outcome, and what is graded is
        kept."""
        try:
            yield
        except SchedulerLost:
            self.outcome.stopped = LOST
        except KeyboardInterrupt:
            self.outcome.stopped = STOPPED

    def grade(self, new: Sequence[Submission], store: ResultSink, book: LessonGradebook) -> None:
        """Have submissions graded, and hand what comes in over to `store`. An end by Ctrl+C or a lost connection is
        noted, not raised."""
        with self._until_it_ends(), self._judging(len(new), book) as (judges, progress):
            for batch in judges.grade((self.work[submission.student] for submission in new), len(new)):
                items = [graded for _task, graded in batch if isinstance(graded, GradedSubmission)]
                self.outcome.problems |= {task.student: said for task, said in batch if isinstance(said, str)}
                self.outcome.records |= {item.record.student: item.record for item in items}
                with not_interrupted():
                    store.add_new(items)
                    self.outcome.graded += len(items)
                progress.update(len(batch))
        echo(f"{self.outcome.graded} of {len(new)} graded", file=self.tell)

    def _complete(self, submissions: dict[str, Submission]) -> ClassOutcome:
        """The outcome, with a reason for everybody who has no mark, or none that can be trusted."""
        for student in submissions:
            record = self.outcome.records.get(student)
            if record is None:
                self.outcome.problems.setdefault(student, self.outcome.stopped or "Not graded.")
                continue
            broken = record.result.broken
            if record.result.unreadable:
                self.outcome.problems.setdefault(student, record.result.unreadable)
            elif broken:
                self.outcome.problems.setdefault(student, f"The check itself failed: {', '.join(broken)}.")
            elif odd := [*self.work[student].remarks, *(cost(*stop) for stop in record.result.stops.items())]:
                self.outcome.problems.setdefault(student, " ".join(odd))
        return self.outcome
