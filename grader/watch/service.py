"""`grader watch`: collects, grades, writes and releases feedback as submissions arrive.

It keeps nothing of its own. What lies in the exchange, in `submitted/`, in the log of results, in the gradebook and in
`feedback/` says what is left to do, so it may be killed at any moment. Every round does for a few students what
`nbgrader collect`, `grader autograde`, `grader feedback` and `nbgrader release_feedback` do for all, and each of these
leaves alone what is done. When it starts, after that once an hour, everybody's turn comes.
"""

from __future__ import annotations

import io
import signal
import time
import traceback
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import TextIO

from nbgrader.api import Gradebook

from grader.batch.run import LOST, STOPPED, ClassOutcome, ClassRun, Options
from grader.book.results_log import ResultsLog
from grader.course.class_directory import ClassDirectory, course_layout, secret_of, submissions_of
from grader.course.lock import WATCH, locked
from grader.course.settings import settings_of
from grader.errors import CommandFailed, CourseError, Interrupted, SchedulerLost
from grader.feedback.fresh import FeedbackReport, write_feedback
from grader.handed_in.hand_in import hand_in, handed_out, lesson_held
from grader.nbgrader_settings import programs_on_path
from grader.printable import echo, printable
from grader.watch.exchange import Inbound, collect, refuse, release
from grader.watch.lanes import NOT_BEGUN, Lanes
from grader.watch.notes import Notes, StudentLesson
from grader.watch.page import FILE, served

POLL = 0.5  # seconds between two looks at the exchange
MOST = 24  # students in a round: more would keep the first of them waiting
SHOW = 2.0  # seconds between two pages
HOUR = 3600.0
# Seconds until something that failed is tried again: this long first, then longer and longer.
AGAIN, LONGEST = 2.0, 60.0
NO_ROSTER = (
    "The gradebook has no students yet, so a student's name can't be told from a typing error. Enter the list of "
    "people first (`grader roster {0} FILE.csv`), or use --add-students to take everybody who hands something in."
)
NOBODYS = (
    "{0} folders in the exchange aren't from anybody on the roster, or don't belong to the student whose name they "
    "have. They are left alone, and `nbgrader collect` gives the reasons."
)
ANOTHER = (
    "Not graded: the notebook has the exercises of {0} and none of {1}. Ask for the right notebook. To grade this "
    "one anyway, use `grader autograde`, `grader feedback` and `nbgrader release_feedback`."
)


@dataclass(frozen=True)
class WatchOptions:
    """What the command line asks for."""

    workers: int | None = None  # how many; None: one for each core, at least two
    scheduler: str | None = None  # the address of Dask's
    add_students: bool = False  # take whoever hands in into the roster
    port: int | None = None  # serve the page there too; 0: any that is free, None: not at all


@dataclass
class Pending:
    """A student whose turn will come."""

    since: datetime  # waiting since then
    urgent: bool  # before others
    entries: set[str] = field(default_factory=set)  # the names in the exchange that are waited for
    due: float = 0.0  # not before, by `time.monotonic`
    failed: int = 0  # tries so far

    def again(self, seconds: float | None = None) -> None:
        """Put this turn off for so many seconds, or, after a failure, for longer each time."""
        self.due = time.monotonic() + (seconds or min(AGAIN * 2**self.failed, LONGEST))
        self.failed += 1


class Watch:
    """A watched course: its roster, its exchange, and the turns that are still to come."""

    def __init__(self, root: Path, options: WatchOptions, tell: TextIO) -> None:
        self.root, self.options, self._tell = root.resolve(), options, tell
        self.layout = course_layout(root)
        secret_of(self.root, self.layout.config)
        self._takes_all = options.add_students or settings_of(self.layout.config).add_students
        self.inbound = Inbound(self.layout, self._roster)
        if self.inbound.known == set():
            raise CourseError(NO_ROSTER.format(self.root))
        self.turns: dict[StudentLesson, Pending] = {}
        self.logs: dict[str, ResultsLog] = {}
        self._nobodys = 1  # entries of nobody that were told of last
        self._shown, self._next_sweep = 0.0, 0.0
        self.notes = Notes(self.root, self.layout.course_id or self.root.name, tell)

    def _roster(self) -> set[str] | None:
        """The ids of those who may hand in; None for everybody. Without a roster all would be taken, but those of the
        first round would be the roster of the second."""
        if self._takes_all:
            return None
        programs_on_path()
        with Gradebook(self.layout.db_url, self.layout.course_id) as book:
            return {str(student.id) for student in book.students}

    def run(self) -> None:
        """Watch until SIGTERM, or Ctrl+C: then it raises `SystemExit` with its code."""
        with (
            locked(self.root, "watch-lock", "watched"),
            _ends_tidily() as ended_by,
            served(self.notes.page, self.options.port) as where,
        ):
            self.notes.say(f"Watching {self.root}. The page: {where or self.root / FILE}")
            started = False
            try:
                while True:
                    self._show_page()
                    try:
                        with Lanes(self.options.workers, self.options.scheduler) as lanes:
                            started = True
                            self._work(lanes)
                    except CourseError as error:  # there are no workers to be had
                        if not started:
                            raise
                        self.notes.fails(str(error))
                    time.sleep(AGAIN)
            except KeyboardInterrupt:
                self.notes.say("Ended. Start the watch again, and it does what is left.")
            finally:
                self._show_page(ended=True)
                for log in self.logs.values():
                    log.close()
        if signal.SIGINT in ended_by:
            raise SystemExit(Interrupted.exit_code)

    def _work(self, lanes: Lanes) -> None:
        """Do one round after the other until the workers are gone."""
        while True:
            try:
                busy = self._step(lanes)
            except SchedulerLost:
                self.notes.fails(LOST)
                return
            self._show(lanes, at_once=not busy)
            if not busy:
                time.sleep(POLL)

    # --- whose turn it is ---------------------------------------------------------------------------------------------

    def _step(self, lanes: Lanes) -> bool:
        """Do one round, if there is something to do. Returns whether there was."""
        now = datetime.now(UTC)
        self._look_at_logs()
        try:
            arrived = self.inbound.new()
        except OSError as error:
            self.notes.fails(f"The exchange can't be read: {error.strerror}: {error.filename}")
            return False
        self._tell_of_nobodys()
        for entry in arrived:
            if not self._is_lesson(entry.lesson):
                self.inbound.seen.add(entry.name)
                said = f"{printable(entry.name)} belongs to no lesson of this course and stays where it is."
                self.notes.problem("", entry.student, said, once=True)
                continue
            turn = self.turns.setdefault((entry.lesson, entry.student), Pending(now, urgent=True))
            if entry.name not in turn.entries:
                turn.entries.add(entry.name)
                turn.urgent, turn.due = True, 0.0
        for who in lanes.finished():
            self.turns.setdefault(who, Pending(now, urgent=True))
        if time.monotonic() >= self._next_sweep:
            self._sweep(now)
        due = [(who, turn) for who, turn in self.turns.items() if turn.due <= time.monotonic()]
        due.sort(key=lambda pair: not pair[1].urgent)  # the first come stays the first
        if not due:
            if not self.turns:
                self.notes.fault = ""
            return False
        lesson = due[0][0][0]
        mine = {who[1]: turn for who, turn in due if who[0] == lesson}
        chosen = dict(list(mine.items())[:MOST])
        try:
            with locked(self.root, who=WATCH):
                self._round(lanes, lesson, chosen)
        except (SchedulerLost, KeyboardInterrupt):
            raise
        except Exception as error:
            self._failed(lesson, chosen, error)
        time.sleep(0.1)  # whoever waits for the course's lock gets it now
        return True

    def _tell_of_nobodys(self) -> None:
        """Say in one line how many folders are nobody's; again when they have become twice as many."""
        count = len(self.inbound.nobodys)
        if count >= 2 * self._nobodys:
            self._nobodys = max(count, 1)
            if count:
                self.notes.problem("", "", NOBODYS.format(count), "nobody's")

    def _look_at_logs(self) -> None:
        """Drop the logs that another process has changed or removed, and queue everybody again."""
        for lesson in [lesson for lesson, log in self.logs.items() if not log.is_current]:
            self.logs.pop(lesson).close()
            self.notes.forget(lesson)
            self._next_sweep = 0.0

    def _source(self) -> Path:
        return Path(self.layout.format_path(self.layout.source_directory, ".", "."))

    def _is_lesson(self, name: str) -> bool:
        return (self._source() / name / f"{name}.ipynb").is_file()

    def _sweep(self, now: datetime) -> None:
        """Give everybody who has handed in a turn: a watch that was killed may have left something, and the gradebook
        may be another one."""
        self._next_sweep = time.monotonic() + HOUR
        for path in sorted(self._source().glob("[!.]*")):
            for submission in submissions_of(self.layout, path.name)[0] if self._is_lesson(path.name) else ():
                self.turns.setdefault((path.name, submission.student), Pending(now, urgent=False))

    def _failed(self, lesson: str, chosen: dict[str, Pending], error: Exception) -> None:
        """Put the turns of a round that failed off, and say why: nothing is lost, it is tried again. A problem that a
        teacher has to put right holds up its own lesson only."""
        for turn in chosen.values():
            turn.again()
        if lesson in self.logs:  # what of it has been written is read again
            self.logs.pop(lesson).close()
        if isinstance(error, CourseError) and not isinstance(error, CommandFailed):
            self.notes.problem(lesson, "", str(error))
            return
        if isinstance(error, OSError):
            self.notes.fails(f"{error.strerror}: {error.filename or self.root}. The watch will try again.")
        elif isinstance(error, CommandFailed):
            self.notes.fails(str(error))
        else:
            self.notes.fails(f"A fault in grader watch: {type(error).__name__}: {error}. The watch will try again.")
            echo("".join(traceback.format_exception(error)), file=self._tell)

    # --- one round ----------------------------------------------------------------------------------------------------

    def _round(self, lanes: Lanes, lesson: str, chosen: dict[str, Pending]) -> None:
        """Collect, grade, write and release for some students of a lesson. The course's lock is held."""
        course = ClassDirectory(self.root, lesson)
        if not self.logs:
            course.share()
        students = frozenset(chosen)
        if any(turn.entries for turn in chosen.values()):
            lanes.drop(lesson, students, waiting=True)
        collected = collect(course, students)
        held = self._of_another_lesson(course, students)
        outcome = self._graded(lanes, course, students - held.keys())
        marked = sorted(students & outcome.marks.keys())
        made = write_feedback(course, marked) if marked else FeedbackReport(lesson)
        left, unreleased = release(course, [*made.made, *made.unchanged])
        for folder in (folder for folders in collected.over.values() for folder in folders):
            refuse(course, folder)
        self.notes.marks |= {(lesson, student): mark for student, mark in outcome.marks.items()}
        log = self.logs[lesson]
        open_ = {who for who, record in outcome.records.items() if log.stored.get(who) != record.key}
        again = collected.failed | left | (open_ & students) | (set(marked) - {*made.made, *made.unchanged})
        outcome.problems |= {student: ANOTHER.format(other, lesson) for student, other in held.items()}
        self.notes.note_round(course, students, collected, outcome, [*collected.problems, *made.problems, *unreleased])
        for student, turn in chosen.items():
            if outcome.problems.get(student) == NOT_BEGUN:
                continue  # its turn is still to come
            if student in again:
                turn.again()
                continue
            self.inbound.seen |= turn.entries
            del self.turns[lesson, student]
            if student in outcome.records:
                self.notes.note_release(course, outcome.records[student])
        lanes.drop(lesson, students, waiting=False)
        self.notes.fault = ""

    @staticmethod
    def _of_another_lesson(course: ClassDirectory, students: Collection[str]) -> dict[str, str]:
        """The students whose hand-in holds another lesson's exercises and none of this one's, which would earn 0, each
        with that lesson."""
        held, limits = {}, course.limits()
        for submission in course.submissions()[0]:
            if submission.student in students:
                found = hand_in(submission, handed_out(course.outline()), limits)
                if (other := lesson_held(course, [found.data])) not in ("", course.lesson):
                    held[submission.student] = other
        return held

    def _graded(self, lanes: Lanes, course: ClassDirectory, students: frozenset[str]) -> ClassOutcome:
        """Grade these students' work as `grader autograde` does; the outcome."""
        log, said = self._log(course), io.StringIO()
        options = Options(add_students=self.options.add_students, students=students)
        work = ClassRun(course, log, options, said, lambda *how: lanes.of(course.lesson, *how))
        outcome = work.run()
        if outcome.stopped == LOST:
            raise SchedulerLost
        if outcome.stopped == STOPPED:
            raise KeyboardInterrupt
        return outcome

    def _log(self, course: ClassDirectory) -> ResultsLog:
        """The results of a lesson. Reading them takes a while, so the file stays open as long as nobody else writes to
        it."""
        self._look_at_logs()  # again: now nobody else can
        if course.lesson not in self.logs:
            self.logs[course.lesson] = ResultsLog(self.root, course.lesson)
        return self.logs[course.lesson]

    # --- the page -----------------------------------------------------------------------------------------------------

    def _show(self, lanes: Lanes, at_once: bool) -> None:
        """Write the page anew, if the last one is a few seconds old or `at_once`."""
        if time.monotonic() - self._shown > (SHOW if at_once else 2 * SHOW):
            self._show_page(set(lanes.slow))
            self._shown = time.monotonic()

    def _show_page(self, slow: Collection[StudentLesson] = (), ended: bool = False) -> None:
        waiting = {who: turn.since for who, turn in self.turns.items() if turn.urgent and who not in slow}
        self.notes.show(waiting, slow, self.logs.values(), ended)


@contextmanager
def _ends_tidily() -> Iterator[list[int]]:
    """Inside the block, make SIGTERM work like Ctrl+C, and a second one change nothing. Yields a list that gets the
    number of the first."""
    asked: list[int] = []

    def stop(number: int, _frame: FrameType | None) -> None:
        if not asked:
            asked.append(number)
            raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
