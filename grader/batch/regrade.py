"""The regrade loop: what the marks of work that is graded already would be as things are now, and the step there.

A preview grades into a log of its own, `.grader/preview/LESSON.jsonl`. An acceptance stores what is in it, for those
whose marks change and for nobody else, on the way that every result takes (`grader.batch.store`).
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TextIO

from grader.atomic import write_atomically
from grader.batch.changes import StudentChange, student_change
from grader.batch.run import ClassRun, Options
from grader.batch.store import Store
from grader.batch.worker import GradedSubmission
from grader.book import audit
from grader.book.autograded import MOST_BYTES, Autograded
from grader.book.gradebook import GradebookEntry
from grader.book.rebuild import StoredNotebook, stored_notebook
from grader.book.regrade_book import GradebookDiff, RegradeBook
from grader.book.results_log import LoggedResult, ResultsLog
from grader.course.class_directory import ClassDirectory, Submission
from grader.course.files import read_regular
from grader.course.folder import PREVIEW, mode_in
from grader.course.lateness import timestamp
from grader.course.lock import locked
from grader.errors import CourseError
from grader.handed_in.learners_file import Judged, judge
from grader.judge.result import SubmissionResult
from grader.source.check import other_points

NOT_PREVIEWED = "A regrade can only be accepted after a preview that is up to date. First: grader regrade {} --preview"


@dataclass
class Regrade:
    """What a regrade would do, or has done."""

    lesson: str
    version: str = ""  # of the package
    changed: tuple[str, ...] = ()  # what has changed since the marks were given
    students: tuple[StudentChange, ...] = ()
    same: int = 0  # how many have the mark that they had
    waiting: tuple[str, ...] = ()  # whose work has still to be graded
    problems: dict[str, str] = field(default_factory=dict)  # by student why work isn't regraded
    also_down: bool = False  # whether marks may go down
    accepted: int = 0  # its number in the audit log; 0 for a preview
    not_released: tuple[str, ...] = ()  # points that students don't have yet
    stopped: str = ""  # why it ended early, if it did
    seconds: float = 0.0
    file: Judged | None = None  # what became of a learner's file


def preview(root: Path, lesson: str, options: Options, file: Path | None = None, tell: TextIO = sys.stderr) -> Regrade:
    """What a regrade would change. Neither the gradebook nor `autograded/` is written. `file` is one that a learner
    saved: it is judged first. Progress goes to `tell`. `CourseError` for a lesson or file that isn't right,
    `CommandFailed` if another run holds the course or the gradebook can't be used."""
    judged = None
    if file is not None:
        course = ClassDirectory(root, lesson)
        judged = judge(file, course.settings(), course.lesson)
    outcome = _run(root, lesson, options, tell, accept=False, also_down=False)
    outcome.file = judged
    return outcome


def accept(root: Path, lesson: str, also_down: bool = False, tell: TextIO = sys.stderr) -> Regrade:
    """Store what was previewed. Marks that would go down stay, unless `also_down`. `CourseError` if nothing was
    previewed as things are now, `CommandFailed` if another run holds the course or the gradebook can't be used."""
    return _run(root, lesson, Options(), tell, accept=True, also_down=also_down)


def _run(root: Path, lesson: str, options: Options, tell: TextIO, *, accept: bool, also_down: bool) -> Regrade:
    start = time.monotonic()
    course = ClassDirectory(root, lesson)
    course.share()
    with (
        locked(course.root),
        ResultsLog(course.root, course.lesson) as log,
        ResultsLog(course.root, course.lesson, PREVIEW) as graded,
        RegradeBook(course.layout.db_url, course.layout.course_id, course.lesson, course.config) as book,
    ):
        work = _Work(course, log, graded, options, tell, book)
        outcome = work.accept(also_down) if accept else work.preview()
    outcome.seconds = round(time.monotonic() - start, 2)
    return outcome


@dataclass(frozen=True)
class _Pair:
    """One student's work: the result that counts now (`was`), the one that would (`record`), the notebook's bytes."""

    submission: Submission
    was: SubmissionResult
    record: LoggedResult
    data: bytes


class _LogOnly:
    """Where a preview's results go: into its own log, and not into the gradebook."""

    def __init__(self, log: ResultsLog) -> None:
        self._log = log

    def add_new(self, items: Sequence[GradedSubmission], /) -> None:
        self._log.add(item.record for item in items)


class _Work(ClassRun):
    def __init__(
        self,
        course: ClassDirectory,
        log: ResultsLog,
        graded: ResultsLog,
        options: Options,
        tell: TextIO,
        book: RegradeBook,
    ) -> None:
        super().__init__(course, log, options, tell)
        self.graded, self.book, self.files = graded, book, Autograded(course)
        not_released = tuple(other_points(json.loads(course.instructor()), course.layout, course.lesson))
        self.regrade = Regrade(course.lesson, self.settings.version, not_released=not_released)
        self.pieces: dict[str, None] = {}
        book.require(self.exercises)
        self.handed_in = {submission.student: timestamp(submission.folder) for submission in course.submissions()[0]}

    def preview(self) -> Regrade:
        """Grade what isn't graded as things are now, and compare it with the marks that count."""
        candidates = self._candidates()
        new = [submission for submission, _was in candidates.values() if self._record(submission.student) is None]
        if new:
            self.grade(new, _LogOnly(self.graded), self.book)
            self.regrade.stopped = self.outcome.stopped
        pairs = dict(self._pairs(candidates))
        self._compare(pairs, also_down=False)
        return self.regrade

    def accept(self, also_down: bool) -> Regrade:
        """Store what changes a mark, and note for all others that nothing does. `CourseError` if there is work, but
        none of it was previewed."""
        pairs = dict(self._pairs(self._candidates()))
        if self.regrade.problems and not pairs:
            raise CourseError(NOT_PREVIEWED.format(f"{self.course.root} {self.course.lesson}"))
        trial, kept = self._compare(pairs, also_down)
        moving = {change.student: pairs[change.student] for change in self.regrade.students if change.moves}
        records = {who: _with_kept(pair, kept.get(who, ())) for who, pair in pairs.items()}
        if moving:
            self._note(moving, trial, records)
        self.log.add_basis(self.settings.version, self.settings.basis)
        store = Store(self.log, self.files, self.book, self._say)
        store.add_new([self._stored_item(pair, records[who]) for who, pair in moving.items()])
        self._mark_current({who: record for who, record in records.items() if who not in moving})
        store.end(self.handed_in)
        self.regrade.problems |= store.problems
        return self.regrade

    def _candidates(self) -> dict[str, tuple[Submission, SubmissionResult]]:
        """By student, work that is graded as it is now, with the result that counts. The other students are noted as
        waiting."""
        complete, found = self.book.complete(), {}
        waiting = []
        for submission in self.course.submissions()[0]:
            student = submission.student
            work = self.work[student] = self.read(submission)
            was = self.files.result(submission)
            stored = self.log.records.get(self.log.stored.get(student, ""))
            if student not in complete or was is None or (stored and not self.is_of(stored, work)):
                waiting.append(student)
                continue
            found[student] = (submission, was)
            if stored and stored.base_key != work.key:
                self.pieces |= dict.fromkeys(self.changed_since(stored))
        self.regrade.waiting = tuple(waiting)
        self.regrade.changed = tuple(self.pieces)
        return found

    def _record(self, student: str) -> LoggedResult | None:
        """The whole result of a student's work as things are now, from the preview's log or the course's; None if there
        is none."""
        key = self.work[student].key
        found = self.graded.records.get(key) or self.log.records.get(key)
        return found if found and self.is_whole(found) else None

    def _pairs(self, candidates: Mapping[str, tuple[Submission, SubmissionResult]]) -> Iterator[tuple[str, _Pair]]:
        for student, (submission, was) in candidates.items():
            record = self._record(student)
            if record is None:
                self.regrade.problems[student] = f"The mark stays as it is. {self._why_not(student)}"
                continue
            yield student, _Pair(submission, was, record, self.work[student].data)

    def _why_not(self, student: str) -> str:
        if self.work[student].key in self.graded.records:
            return "The check itself failed."
        return (
            self.outcome.problems.get(student, "") or self.outcome.stopped or "Something has changed since the preview."
        )

    def _stored_item(self, pair: _Pair, record: LoggedResult) -> GradedSubmission:
        settings = self.settings
        made = stored_notebook(settings.outline, pair.data, record.result, self.book.release, settings.limits)
        return GradedSubmission(record, made, regraded=True)

    def _trial(self, pairs: Mapping[str, _Pair], kept: Mapping[str, tuple[str, ...]]) -> GradebookDiff:
        entries: list[GradebookEntry] = []
        for who, pair in pairs.items():
            record = replace(pair.record, kept=kept.get(who, ()))
            if self.book.has_own_cells:
                item = self._stored_item(pair, record)
            else:
                item = GradedSubmission(record, StoredNotebook(b""), regraded=True)
            entries.append(item.entry(self.handed_in[who]))
        return self.book.trial(entries, self.handed_in)

    def _compare(self, pairs: Mapping[str, _Pair], also_down: bool) -> tuple[GradebookDiff, dict[str, tuple[str, ...]]]:
        """Fill in which marks change and which don't. Returns what an acceptance would store, and by student the cells
        that stay as they are."""
        whole = self._trial(pairs, {})
        kept = {who: down for who in pairs if (down := _down(whole, who))}
        offered = self._trial(pairs, kept) if kept else whole
        # A course's own rule for lateness may take more from a better mark: then all of that student's marks stay.
        worse = [who for who in pairs if offered.after[who].score < offered.before[who].score]
        kept |= {who: tuple(whole.before[who].cells) for who in worse}
        offered = self._trial(pairs, kept) if worse else offered
        if also_down:
            offered, kept = whole, {}
        changes = [
            student_change(who, pair.was, pair.record.result, whole, offered, kept.get(who, ()))
            for who, pair in pairs.items()
        ]
        self.regrade.also_down = also_down
        self.regrade.students = tuple(change for change in changes if change.exercises)
        self.regrade.same = len(changes) - len(self.regrade.students)
        return offered, kept

    def _note(self, pairs: Mapping[str, _Pair], trial: GradebookDiff, records: Mapping[str, LoggedResult]) -> None:
        """Write the entry of the audit log, and keep the notebooks of these students as they are: before anything is
        stored."""
        about = {change.student: change for change in self.regrade.students}
        folder = audit.notebooks_of(self.course.root, self.course.lesson)
        students: dict[str, audit.Noted] = {}
        for who, pair in pairs.items():
            notebook = read_regular(self.files.path(pair.submission), MOST_BYTES)
            write_atomically(folder / f"{who}.ipynb", notebook, mode_in(self.course.root))
            cells: audit.Cells = {
                exercise.exercise: (exercise.before, exercise.after)
                for exercise in about[who].exercises
                if exercise.moves
            }
            students[who] = audit.Noted(
                trial.before[who].score,
                trial.after[who].score,
                cells,
                keys=(self.log.stored.get(who, ""), records[who].key),
                rows=(trial.rows_before[who], trial.rows_after[who]),
            )
        now = self.regrade
        entry = audit.add(
            self.course.root,
            self.course.lesson,
            audit.ACCEPT,
            students,
            version=now.version,
            changed=now.changed,
            also_down=now.also_down,
        )
        now.accepted = entry.id

    def _mark_current(self, records: Mapping[str, LoggedResult]) -> None:
        """Note that the marks of these are those of this version too: nothing of theirs is written anew."""
        new = {who: record for who, record in records.items() if self.log.stored.get(who) != record.key}
        if new:
            self.log.add(new.values())
            self.log.mark_stored({who: record.key for who, record in new.items()})


def _down(trial: GradebookDiff, student: str) -> tuple[str, ...]:
    """The cells in which a student would lose points."""
    before, after = trial.before[student].cells, trial.after[student].cells
    return tuple(name for name, (points, _most) in after.items() if points < before.get(name, (0.0, 0.0))[0])


def _with_kept(pair: _Pair, kept: tuple[str, ...]) -> LoggedResult:
    """The new result, with the earlier one of the exercises that stay as they are."""
    if not kept:
        return pair.record
    was = {exercise.name: exercise for exercise in pair.was.exercises if exercise.name in kept}
    tests = {test.grade_id: test for test in pair.was.tests if test.grade_id in kept}
    now = pair.record.result
    exercises = tuple(was.get(exercise.name, exercise) for exercise in now.exercises)
    result = replace(now, exercises=exercises, tests=tuple(tests.get(test.grade_id, test) for test in now.tests))
    return pair.record.keeping(kept, result)
