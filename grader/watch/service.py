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
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import ceil
from pathlib import Path
from statistics import median
from types import FrameType
from typing import TextIO

from nbgrader.api import Gradebook

from grader.batch.run import LOST, STOPPED, ClassOutcome, ClassRun, Options
from grader.book.results_log import LoggedResult, ResultsLog
from grader.course.called import Called
from grader.course.class_directory import ClassDirectory, course_layout, secret_of, submissions_of
from grader.course.folder import mode_in
from grader.course.lateness import timestamp
from grader.course.lock import WATCH, locked
from grader.course.settings import settings_of
from grader.errors import CommandFailed, CourseError, Interrupted, SchedulerLost
from grader.feedback.fresh import FeedbackReport, write_feedback
from grader.handed_in.hand_in import hand_in, handed_out, lesson_held
from grader.insights.summary import summarise
from grader.judge.result import SubmissionMark
from grader.nbgrader_settings import programs_on_path
from grader.printable import printable, say
from grader.watch.exchange import CopyReport, Inbound, collect, refuse, release
from grader.watch.lanes import SLOW, Lanes
from grader.watch.page import FILE, HandInRow, Page, PageState, clock, served

POLL = 0.5  # seconds between two looks at the exchange
MOST = 24  # students in a round: more would keep the first of them waiting
SHOW = 2.0  # seconds between two pages
HOUR = 3600.0
# Seconds until something that failed is tried again: this long first, then longer and longer.
AGAIN, LONGEST = 2.0, 60.0
LISTED = 60  # hand-ins on the page
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
StudentLesson = tuple[str, str]  # lesson and student


@dataclass(frozen=True)
class WatchOptions:
    """What the command line asks for. `workers`: how many (None: one for each core, at least two); `scheduler`: the
    address of Dask's; `add_students`: take whoever hands in into the roster; `port`: serve the page there too (0: any
    that is free, None: not at all)."""

    workers: int | None = None
    scheduler: str | None = None
    add_students: bool = False
    port: int | None = None


@dataclass
class Pending:
    """A student whose turn will come: waiting `since` then; not before `due`, by `time.monotonic`; for the `entries` in
    the exchange of these names. `failed` counts the tries; `urgent`: before others."""

    since: datetime
    urgent: bool
    entries: set[str] = field(default_factory=set)
    due: float = 0.0
    failed: int = 0

    def again(self, seconds: float | None = None) -> None:
        """Put this turn off for so many seconds, or, after a failure, for longer each time."""
        self.due = time.monotonic() + (seconds or min(AGAIN * 2**self.failed, LONGEST))
        self.failed += 1


@dataclass(frozen=True)
class WatchProblem:
    """Something that a teacher should know. `somebodys`: it is a student's; anything else is shown for an hour."""

    since: datetime
    text: str
    somebodys: bool


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
        self.marks: dict[StudentLesson, SubmissionMark] = {}
        self.released: dict[
            StudentLesson, tuple[str, datetime, float | None]
        ] = {}  # of which result, when, after how long
        self.problems: dict[tuple[str, str], WatchProblem] = {}  # by lesson and whose or which
        self.fault = ""
        self._nobodys = 1  # entries of nobody that were told of last
        self._since, self._shown, self._next_sweep = datetime.now(UTC), 0.0, 0.0
        self._page = Page(self.root / FILE, mode_in(self.root))

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
            served(self._page, self.options.port) as where,
        ):
            self._say(f"Watching {self.root}. The page: {where or self.root / FILE}")
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
                        self._fault(str(error))
                    time.sleep(AGAIN)
            except KeyboardInterrupt:
                self._say("Ended. Start the watch again, and it does what is left.")
            finally:
                self._show_page(ended=True)
                for log in self.logs.values():
                    log.close()
        if signal.SIGINT in ended_by:
            raise SystemExit(Interrupted.exit_code)

    def _say(self, text: str) -> None:
        say(f"{datetime.now():%Y-%m-%d %H:%M:%S} {printable(text)}", file=self._tell)

    def _work(self, lanes: Lanes) -> None:
        """Do one round after the other until the workers are gone."""
        while True:
            try:
                busy = self._step(lanes)
            except SchedulerLost:
                self._fault(LOST)
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
            self._fault(f"The exchange can't be read: {error.strerror}: {error.filename}")
            return False
        self._tell_of_nobodys()
        for entry in arrived:
            if not self._is_lesson(entry.lesson):
                self.inbound.seen.add(entry.name)
                said = f"{printable(entry.name)} belongs to no lesson of this course and stays where it is."
                self._problem("", entry.student, said, once=True)
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
                self.fault = ""
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
                self._problem("", "", NOBODYS.format(count), "nobody's")

    def _look_at_logs(self) -> None:
        """Drop the logs that another process has changed or removed, and queue everybody again."""
        for lesson in [lesson for lesson, log in self.logs.items() if not log.is_current]:
            self.logs.pop(lesson).close()
            self.marks = {who: mark for who, mark in self.marks.items() if who[0] != lesson}
            self.problems = {key: problem for key, problem in self.problems.items() if key[0] != lesson}
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
            self._problem(lesson, "", str(error))
            return
        if isinstance(error, OSError):
            self._fault(f"{error.strerror}: {error.filename or self.root}. The watch will try again.")
        elif isinstance(error, CommandFailed):
            self._fault(str(error))
        else:
            self._fault(f"A fault in grader watch: {type(error).__name__}: {error}. The watch will try again.")
            say("".join(traceback.format_exception(error)), file=self._tell)

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
        self.marks |= {(lesson, student): mark for student, mark in outcome.marks.items()}
        log = self.logs[lesson]
        open_ = {who for who, record in outcome.records.items() if log.stored.get(who) != record.key}
        again = collected.failed | left | (open_ & students) | (set(marked) - {*made.made, *made.unchanged})
        outcome.problems |= {student: ANOTHER.format(other, lesson) for student, other in held.items()}
        self._note(course, students, collected, outcome, [*collected.problems, *made.problems, *unreleased])
        for student, turn in chosen.items():
            if student in again:
                turn.again()
                continue
            self.inbound.seen |= turn.entries
            del self.turns[lesson, student]
            if student in outcome.records:
                self._note_release(course, outcome.records[student])
        lanes.drop(lesson, students, waiting=False)
        self.fault = ""

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

    # --- what the page says -------------------------------------------------------------------------------------------

    def _note(
        self,
        course: ClassDirectory,
        students: Iterable[str],
        collected: CopyReport,
        outcome: ClassOutcome,
        sentences: Iterable[str],
    ) -> None:
        """Put the problems of a round in place of those that the same students had before. `sentences` are what else
        there is to say."""
        for student in ("", *students):
            self.problems.pop((course.lesson, student), None)
        for student, why in outcome.problems.items():
            if why != SLOW:
                self._problem(course.lesson, student, why)
        for student, folders in collected.over.items():
            limit = course.configured.attempts
            hand_ins = "hand-in is" if len(folders) == 1 else "hand-ins are"
            said = f"{len(folders)} {hand_ins} over the limit of {limit}, kept but not graded."
            self._problem(course.lesson, student, said, f"{student} over the limit")
        for sentence in sentences:
            self._problem(course.lesson, "", sentence, sentence)

    def _problem(self, lesson: str, whose: str, why: str, key: str = "", once: bool = False) -> None:
        """Note a problem of a lesson, and say it if it is new. `whose`: the student, "" for none; `key`: what it is
        known by if not by the student. With `once`, one of a key that is known already adds nothing."""
        text = ": ".join(filter(None, (", ".join(filter(None, (lesson, printable(whose)))), why)))
        known = self.problems.get((lesson, key or whose))
        if known is None or (known.text != text and not once):
            self.problems[lesson, key or whose] = WatchProblem(datetime.now(UTC), text, bool(whose))
            self._say(text)

    def _fault(self, text: str) -> None:
        if text != self.fault:
            self._say(text)
        self.fault = text

    def _note_release(self, course: ClassDirectory, record: LoggedResult) -> None:
        who, now = (course.lesson, record.student), datetime.now(UTC)
        if self.released.get(who, ("",))[0] == record.key:
            return
        handed_in = timestamp(course.submission(record.student).folder)
        recent = datetime.fromisoformat(record.graded) > self._since
        seconds = (now - handed_in.replace(tzinfo=UTC)).total_seconds() if handed_in and recent else None
        self.released[who] = record.key, now, seconds
        if recent:
            mark = self.marks.get(who)
            shown = f"{mark.score:g} of {mark.points:g} points" if mark else "no mark yet"
            late = f", {seconds:.0f} s after the hand-in" if seconds is not None else ""
            self._say(f"{course.lesson}, {record.student}: {shown}, feedback released{late}")

    def _show(self, lanes: Lanes, at_once: bool) -> None:
        """Write the page anew, if the last one is a few seconds old or `at_once`."""
        if time.monotonic() - self._shown > (SHOW if at_once else 2 * SHOW):
            self._show_page(set(lanes.slow))
            self._shown = time.monotonic()

    def _show_page(self, slow: Collection[StudentLesson] = (), ended: bool = False) -> None:
        """Write the page. A fault of it is told, and marks come all the same. `slow`: the (lesson, student) pairs that
        take long."""
        try:
            self._page.show(self._now(slow, ended))
        except Exception as error:
            self._fault(f"The page can't be made: {type(error).__name__}: {error}")

    def _now(self, slow: Collection[StudentLesson], ended: bool = False) -> PageState:
        hour_ago = datetime.now(UTC) - timedelta(hours=1)
        self.problems = {
            key: problem for key, problem in self.problems.items() if problem.somebodys or problem.since > hour_ago
        }
        recent = [record for log in self.logs.values() for record in self._latest(log, hour_ago)]
        recent.sort(key=lambda record: record.graded, reverse=True)
        waiting = [(who, turn.since, "waiting") for who, turn in self.turns.items() if turn.urgent and who not in slow]
        alone = [(who, None, SLOW) for who in sorted(slow)]
        state = "Ended." if ended else f"{len(waiting)} waiting, {len(alone)} taking a long time."
        marked = [mark for record in recent if (mark := self.marks.get((record.lesson, record.student)))]
        figures = [("hand-ins graded", f"{len(recent)}")]
        if marked:
            share = sum(mark.score for mark in marked) / (sum(mark.points for mark in marked) or 1)
            figures.append(("points earned", f"{100 * share:.0f} %"))
        took = sorted(
            seconds for _key, when, seconds in self.released.values() if when > hour_ago and seconds is not None
        )
        if took:
            figures.append(("seconds from hand-in to feedback, median", f"{median(took):.0f}"))
            figures.append(("95th percentile", f"{took[ceil(0.95 * len(took)) - 1]:.0f}"))
        problems = sorted(self.problems.values(), key=lambda problem: problem.since, reverse=True)
        called = Called.of(self.root)
        rows = [
            HandInRow(clock(when), printable(called(student)), printable(lesson), what)
            for (lesson, student), when, what in (*alone, *waiting)
        ]
        return PageState(
            course=self.layout.course_id or self.root.name,
            since=clock(self._since),
            at=clock(datetime.now(UTC)),
            state=state,
            fault=self.fault,
            figures=figures,
            waiting=rows[:LISTED],
            done=[self._row(record, called) for record in recent[:LISTED]],
            mistakes=summarise([record.result for record in recent]).mistakes if recent else (),
            problems=[(clock(problem.since), problem.text) for problem in problems[:LISTED]],
            ended=ended,
        )

    @staticmethod
    def _latest(log: ResultsLog, after: datetime) -> list[LoggedResult]:
        """Each student's latest stored result, if it was graded after `after` (UTC)."""
        stored = (log.records.get(key) for key in log.stored.values())
        return [record for record in stored if record and datetime.fromisoformat(record.graded) > after]

    def _row(self, record: LoggedResult, called: Called) -> HandInRow:
        who = record.lesson, record.student
        mark, (key, when, seconds) = self.marks.get(who), self.released.get(who, ("", None, None))
        shown = f"{mark.score:g} of {mark.points:g}" if mark else ""
        is_out = key == record.key and when is not None
        state = f"released {clock(when)}" if is_out else "not released yet"
        took = f"{seconds:.0f}" if is_out and seconds is not None else ""
        graded = clock(datetime.fromisoformat(record.graded))
        return HandInRow(graded, printable(called(record.student)), record.lesson, state, shown, took)


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
