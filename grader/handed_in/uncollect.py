"""The way back from a collecting: files, times and marks are as they were before it."""

from __future__ import annotations

import shutil
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from grader.book.autograded import Autograded
from grader.book.regrade_book import JUDGE, RegradeBook, Rows
from grader.book.results_log import TAKEN_BACK, ResultsLog
from grader.course.called import BY_ID, Called
from grader.course.class_directory import ClassDirectory
from grader.course.folder import COLLECTED, FOLDER
from grader.course.lock import locked
from grader.errors import UnknownLesson
from grader.handed_in.before import Was, digest_of, files_back, forget_collecting, last_collecting
from grader.printable import joined, printable


@dataclass
class TakenBack:
    """What was taken back of a collecting; students are told by their ids."""

    lesson: str
    when: str  # the time of the collecting
    nothing: list[str] = field(default_factory=list)  # who has nothing in this lesson again
    earlier: list[str] = field(default_factory=list)  # who has what they had handed in before
    # In points, before and after, where they differ; None: no mark.
    marks: dict[str, tuple[float, float | None]] = field(default_factory=dict)
    stays: dict[str, str] = field(default_factory=dict)  # why somebody's work stays as it is

    def as_text(self, called: Called = BY_ID) -> str:
        """What was put back, as text for a terminal, in which people are `called` so."""
        lines = [f"{self.lesson}: the collection of {self.when} has been undone."]
        for title, people in (
            ("now without a hand-in", self.nothing),
            ("back to their earlier hand-in", self.earlier),
        ):
            lines += [f"{len(people)} {title}: {joined(map(called, people))}"] if people else []
        lines += [
            f"  {printable(called(who))}: {before:g} → {'no mark' if after is None else f'{after:g}'}"
            for who, (before, after) in sorted(self.marks.items())
        ]
        return "\n".join([*lines, *(f"  {printable(called(who))}: {why}" for who, why in sorted(self.stays.items()))])


def uncollect(root: Path, lesson: str) -> TakenBack:
    """Take the last collection of a lesson back. Whoever has something else in place since is left as they are.
    `CourseError` if there is no such collecting, `CommandFailed` if the gradebook can't be written."""
    course = ClassDirectory(root, lesson)
    course.share()
    with locked(course.root), ResultsLog(course.root, course.lesson) as log, ExitStack() as stack:
        when, collected = last_collecting(course)
        outcome = TakenBack(course.lesson, when)
        layout, files, back = course.layout, Autograded(course), {}
        for who, was in collected.items():
            if digest_of(course, who) == was.put:
                back[who] = was
            else:
                outcome.stays[who] = "left as it is, since something else has replaced what was collected"
        with suppress(UnknownLesson):  # the gradebook doesn't know the lesson yet: there are no marks
            book = RegradeBook(layout.db_url, layout.course_id, course.lesson, course.config)
            stack.enter_context(book)
            _marks_back(course, log, book, back, outcome)
        for who, was in back.items():
            files_back(course, who, was)
            submission, there = course.submission(who), digest_of(course, who)
            (outcome.earlier if there else outcome.nothing).append(who)
            if files.there(submission):
                files.note_hand_in(submission)  # the time
        forget_collecting(course)
    return outcome


def _marks_back(
    course: ClassDirectory, log: ResultsLog, book: RegradeBook, back: dict[str, Was], outcome: TakenBack
) -> None:
    """Put the gradebook, the notebooks in `autograded/` and the log's word on what is stored back as `back` has them.
    Marks that the judge hasn't given since stay: a teacher may have changed them."""
    before, rows = book.marks(), book.rows(back)
    again = {who: was for who, was in back.items() if was.rows is not None and who in rows}
    graded = {who: was for who, was in again.items() if _graded_since(log, who, was, rows[who])}
    for who in [who for who in rows if who not in again]:
        book.withdraw(who)
        for step in (course.layout.autograded_directory, course.layout.feedback_directory):
            shutil.rmtree(course.folder(step, who), ignore_errors=True)
    book.restore({who: was.rows or {} for who, was in graded.items()}, {who: rows[who] for who in graded})
    times = {who: was.handed_in for who, was in again.items()}
    book.set_times({who: datetime.fromisoformat(time) if time else None for who, time in times.items()})
    files = Autograded(course)
    for who in graded:
        notebook = course.root / FOLDER / COLLECTED / course.lesson / who / "autograded"
        if notebook.is_file():
            files.put_back(files.path(course.submission(who)), notebook.read_bytes())
    stored = {who: was.stored for who, was in graded.items()} | {who: TAKEN_BACK for who in rows if who not in again}
    if stored:
        log.mark_stored(stored)
    after = book.marks()
    pairs = {who: (before[who].score, after[who].score if who in after else None) for who in rows if who in before}
    outcome.marks = {who: pair for who, pair in pairs.items() if pair[0] != pair[1]}


def _graded_since(log: ResultsLog, who: str, was: Was, now: Rows) -> bool:
    """Whether the judge has given other points since, or stored another result."""
    then = (was.rows or {}).get("grade", {})
    return log.stored.get(who, "") != was.stored or any(
        row[JUDGE] != then.get(name, row)[JUDGE] for name, row in now["grade"].items()
    )
