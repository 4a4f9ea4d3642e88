"""What a watch has found out: problems, marks and released feedback, told in its terminal and on its page."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil
from pathlib import Path
from statistics import median
from typing import TextIO

from grader.batch.run import ClassOutcome
from grader.book.results_log import LoggedResult, ResultsLog
from grader.course.called import Called
from grader.course.class_directory import ClassDirectory
from grader.course.folder import mode_in
from grader.course.lateness import timestamp
from grader.insights.summary import summarise
from grader.judge.result import SubmissionMark
from grader.printable import echo, printable
from grader.watch.exchange import CopyReport
from grader.watch.lanes import NOT_BEGUN, SLOW
from grader.watch.page import FILE, HandInRow, Page, PageState, clock

LISTED = 60  # hand-ins on the page
StudentLesson = tuple[str, str]  # lesson and student


@dataclass(frozen=True)
class WatchProblem:
    """Something that a teacher should know. `somebodys`: it is a student's; anything else is shown for an hour."""

    since: datetime
    text: str
    somebodys: bool


class Notes:
    """What a watch of the course in `root`, which is called `name`, has to say. `fault` is what keeps marks from
    coming, "" if nothing does; `tell` is its terminal."""

    def __init__(self, root: Path, name: str, tell: TextIO) -> None:
        self._root, self._name, self._tell = root, name, tell
        self.fault = ""
        self.marks: dict[StudentLesson, SubmissionMark] = {}
        self.problems: dict[tuple[str, str], WatchProblem] = {}  # by lesson and whose or which
        # Of which result feedback was released, when, after how many seconds.
        self.released: dict[StudentLesson, tuple[str, datetime, float | None]] = {}
        self.page = Page(root / FILE, mode_in(root))
        self._since = datetime.now(UTC)

    def say(self, text: str) -> None:
        """Say something in the terminal, with the time."""
        echo(f"{datetime.now():%Y-%m-%d %H:%M:%S} {printable(text)}", file=self._tell)

    def note_round(
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
            if why not in (SLOW, NOT_BEGUN):
                self.problem(course.lesson, student, why)
        for student, folders in collected.over.items():
            limit = course.configured.attempts
            hand_ins = "hand-in is" if len(folders) == 1 else "hand-ins are"
            said = f"{len(folders)} {hand_ins} over the limit of {limit}, kept but not graded."
            self.problem(course.lesson, student, said, f"{student} over the limit")
        for sentence in sentences:
            self.problem(course.lesson, "", sentence, sentence)

    def problem(self, lesson: str, whose: str, why: str, key: str = "", once: bool = False) -> None:
        """Note a problem of a lesson, and say it if it is new. `whose`: the student, "" for none; `key`: what it is
        known by if not by the student. With `once`, one of a key that is known already adds nothing."""
        text = ": ".join(filter(None, (", ".join(filter(None, (lesson, printable(whose)))), why)))
        known = self.problems.get((lesson, key or whose))
        if known is None or (known.text != text and not once):
            self.problems[lesson, key or whose] = WatchProblem(datetime.now(UTC), text, bool(whose))
            self.say(text)

    def fails(self, text: str) -> None:
        """Note what keeps marks from coming, and say it if it is new."""
        if text != self.fault:
            self.say(text)
        self.fault = text

    def forget(self, lesson: str) -> None:
        """Drop the marks and problems of a lesson, whose log is another one now."""
        self.marks = {who: mark for who, mark in self.marks.items() if who[0] != lesson}
        self.problems = {key: problem for key, problem in self.problems.items() if key[0] != lesson}

    def note_release(self, course: ClassDirectory, record: LoggedResult) -> None:
        """Note that the feedback on a result is released, and say so if the result is of this watch."""
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
            self.say(f"{course.lesson}, {record.student}: {shown}, feedback released{late}")

    def show(
        self,
        waiting: Mapping[StudentLesson, datetime],
        slow: Collection[StudentLesson],
        logs: Iterable[ResultsLog],
        ended: bool = False,
    ) -> None:
        """Write the page. A fault of it is told, and marks come all the same. `waiting`: since when whose turn is to
        come; `slow`: whose work takes long; `logs`: the results."""
        try:
            self.page.show(self.state(waiting, slow, logs, ended))
        except Exception as error:
            self.fails(f"The page can't be made: {type(error).__name__}: {error}")

    def state(
        self,
        waiting: Mapping[StudentLesson, datetime],
        slow: Collection[StudentLesson],
        logs: Iterable[ResultsLog],
        ended: bool = False,
    ) -> PageState:
        """What the page is to show; the arguments are those of `show`."""
        hour_ago = datetime.now(UTC) - timedelta(hours=1)
        self.problems = {
            key: problem for key, problem in self.problems.items() if problem.somebodys or problem.since > hour_ago
        }
        recent = [record for log in logs for record in _latest(log, hour_ago)]
        recent.sort(key=lambda record: record.graded, reverse=True)
        soon = [(who, since, "waiting") for who, since in waiting.items()]
        alone = [(who, None, SLOW) for who in sorted(slow)]
        state = "Ended." if ended else f"{len(soon)} waiting, {len(alone)} taking a long time."
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
        called = Called.of(self._root)
        rows = [
            HandInRow(clock(when), printable(called(student)), printable(lesson), what)
            for (lesson, student), when, what in (*alone, *soon)
        ]
        return PageState(
            course=self._name,
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

    def _row(self, record: LoggedResult, called: Called) -> HandInRow:
        who = record.lesson, record.student
        mark, (key, when, seconds) = self.marks.get(who), self.released.get(who, ("", None, None))
        shown = f"{mark.score:g} of {mark.points:g}" if mark else ""
        is_out = key == record.key and when is not None
        state = f"released {clock(when)}" if is_out else "not released yet"
        took = f"{seconds:.0f}" if is_out and seconds is not None else ""
        graded = clock(datetime.fromisoformat(record.graded))
        return HandInRow(graded, printable(called(record.student)), record.lesson, state, shown, took)


def _latest(log: ResultsLog, after: datetime) -> list[LoggedResult]:
    """Each student's latest stored result, if it was graded after `after` (UTC)."""
    stored = (log.records.get(key) for key in log.stored.values())
    return [record for record in stored if record and datetime.fromisoformat(record.graded) > after]
