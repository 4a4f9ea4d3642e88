"""The way back from an acceptance or an override, by the audit log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from grader.book import audit
from grader.book.autograded import MOST_BYTES, Autograded
from grader.book.regrade_book import JUDGE, RegradeBook, Rows
from grader.book.results_log import ResultsLog
from grader.course.class_directory import ClassDirectory
from grader.course.files import read_regular
from grader.course.lock import locked
from grader.errors import CourseError, Unreadable


@dataclass
class Undone:
    """What was taken back: the entry of the audit log, by student the marks before and after in points, and in words
    where something newer stays."""

    lesson: str
    entry: audit.AuditEntry
    marks: dict[str, tuple[float, float]] = field(default_factory=dict)
    stays: dict[str, str] = field(default_factory=dict)


def undo(root: Path, lesson: str) -> Undone:
    """Take the last acceptance or override back. What a teacher gave by hand since stays, and so does the mark of work
    that was graded again. `CourseError` if there is nothing to undo, `CommandFailed` if the gradebook can't be written.
    """
    course = ClassDirectory(root, lesson)
    course.share()
    with (
        locked(course.root),
        ResultsLog(course.root, course.lesson) as log,
        RegradeBook(course.layout.db_url, course.layout.course_id, course.lesson, course.config) as book,
    ):
        entry = audit.last(course.root, course.lesson)
        if entry is None:
            raise CourseError(f"{course.root}: there is nothing to undo for {course.lesson}.")
        outcome = Undone(course.lesson, entry)
        _take_back(course, log, book, outcome)
    return outcome


def _take_back(course: ClassDirectory, log: ResultsLog, book: RegradeBook, outcome: Undone) -> None:
    entry, before = outcome.entry, book.marks()
    rows = book.rows(entry.students)
    nothing = _without_a_hand_in(entry, rows)
    back: dict[str, tuple[Rows, ...]] = {}
    for who, noted in entry.students.items():
        if who in nothing:
            outcome.stays[who] = "They have no mark again, since they have handed in nothing."
        elif who not in rows:
            outcome.stays[who] = "Left out, since they are no longer in the gradebook."
        elif not (all(noted.rows) and any(_same(rows[who], kept) for kept in noted.rows)) or (
            noted.keys and log.stored.get(who) not in noted.keys
        ):
            outcome.stays[who] = "This work is left as it is, since it has been graded again."
        else:
            back[who] = noted.rows
    was, became = ({who: pair[i] for who, pair in back.items()} for i in (0, 1))
    newer = book.restore(was, became)
    for who in nothing:
        book.withdraw(who)
    outcome.stays |= {
        who: f"What a teacher has given by hand since then is kept, for {', '.join(names)}."
        for who, names in newer.items()
    }
    files = Autograded(course)
    folder = audit.notebooks_of(course.root, course.lesson, entry.id)
    stored = {}
    for who in back:
        if entry.students[who].keys:
            stored[who] = entry.students[who].keys[0]
            try:
                notebook = read_regular(folder / f"{who}.ipynb", MOST_BYTES)
            except (Unreadable, OSError) as error:
                outcome.stays[who] = f"The marks are back, but the notebook in {files.step}/ is not: {error}"
            else:
                files.put_back(files.path(course.submission(who)), notebook)
    if stored:
        log.mark_stored(stored)
    after = book.marks()
    outcome.marks = {who: (before[who].score, after[who].score) for who in entry.students if who in after}
    outcome.marks |= {who: (before[who].score, 0.0) for who in nothing}
    students = {who: audit.Noted(*pair, why=outcome.stays.get(who, "")) for who, pair in outcome.marks.items()}
    audit.add(course.root, course.lesson, audit.UNDO, students, undoes=entry.id)


def _same(now: Rows, then: Rows) -> bool:
    """Whether the judge's points are still those noted in `then`, which is what was there after an acceptance or, where
    an undoing was killed, before it."""
    return all(row[JUDGE] == now["grade"].get(name, row)[JUDGE] for name, row in then["grade"].items())


def _without_a_hand_in(entry: audit.AuditEntry, rows: Mapping[str, Rows]) -> list[str]:
    """Those who had nothing in the gradebook before the entry, and have nothing but what it gave them now."""
    return [
        who
        for who, noted in entry.students.items()
        if noted.rows and not noted.rows[0] and rows.get(who) == noted.rows[1]
    ]
