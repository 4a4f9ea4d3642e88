"""nbgrader's exchange as a watch sees it: what has arrived, what of it counts, which feedback students find there."""

from __future__ import annotations

import filecmp
import logging
import os
import stat
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbgrader.auth import Authenticator
from nbgrader.exchange import ExchangeError
from nbgrader.utils import notebook_hash

from grader.atomic import write_atomically
from grader.course.class_directory import ClassDirectory, can_be_a_student
from grader.course.files import SECRET_BYTES, SECRET_FILE, UntrustedFolder
from grader.course.lateness import timestamp
from grader.course.settings import BEST
from grader.errors import CourseError, Unreadable
from grader.handed_in.earlier import archive_hand_in
from grader.handed_in.exchange import (
    OVER,
    CollectRegularFiles,
    Record,
    ReleaseAllFeedback,
    foreign_owner,
)
from grader.markup import render
from grader.nbgrader_settings import foreign_exchange
from grader.printable import printable

HAND_INS = 200  # of one student, the last ones: whoever makes more of them than that holds up nobody else
LOOK_UP = 60.0  # seconds until the roster is read again, and what was nobody's is looked at again
SETTLED = 60.0  # seconds after which a hand-in counts as whole whatever it lacks
OWN = "claims to be submitted by"  # nbgrader's words
NOT_OURS = (
    "`grader watch` needs nbgrader's own exchange, a folder that all students on the machine can reach. These "
    "settings replace it: {}. Collect and release with the other system's commands, and grade with `grader autograde`."
)


@dataclass(frozen=True)
class Arrival:
    """One hand-in in the exchange; `name` is that of its folder, which tells the student."""

    name: str
    student: str
    lesson: str


@dataclass
class CopyReport:
    """How copying went. `failed` has the students whose hand-in could not be copied, `over` their hand-ins beyond the
    course's limit, by student, and `problems` sentences."""

    failed: set[str] = field(default_factory=set)
    over: dict[str, list[UntrustedFolder]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


class Inbound:
    """The folder into which students hand in. As long as nothing is new it is listed, nothing more. Anybody on the
    machine may make folders in it, with any name: those of nobody on the roster are passed over at once, and counted.

    `roster` gives the ids of those who may hand in; None for everybody. `CourseError` where the exchange isn't
    nbgrader's own, or isn't there.
    """

    def __init__(self, layout: Any, roster: Callable[[], Collection[str] | None] = lambda: None) -> None:
        foreign = foreign_exchange(layout.config)
        if foreign:
            raise CourseError(NOT_OURS.format(", ".join(foreign)))
        collector = CollectRegularFiles(coursedir=layout, config=layout.config)
        if not Path(collector.root).is_dir():
            raise CourseError(
                f"The exchange {collector.root} isn't there, so nobody can hand anything in. `grader doctor` shows "
                "what to do."
            )
        self.folder = Path(collector.root) / layout.course_id / "inbound"
        self.seen: set[str] = set()
        self.nobodys: set[str] = set()
        self._check_owner, self._roster = bool(collector.check_owner), roster
        self.known, self._looked_up = roster(), time.monotonic()

    def new(self) -> list[Arrival]:
        """What has arrived whole and isn't `seen` yet, the oldest first as far as names tell; empty also where nothing
        was released."""
        try:
            names = set(os.listdir(self.folder))
        except FileNotFoundError:  # nothing was released yet
            names = set()
        self.seen &= names
        self.nobodys &= names
        if time.monotonic() - self._looked_up >= LOOK_UP:  # somebody may have come to the roster meanwhile
            self.nobodys.clear()
            self._looked_up = time.monotonic()
            with suppress(Exception):  # a gradebook that is locked: those who were known are
                self.known = self._roster()
        found = []
        for name in names - self.seen - self.nobodys:
            parts = name.rsplit("+", 3)
            if len(parts) < 3:
                self.seen.add(name)
            elif self._is_nobodys(name, parts[0]):
                self.nobodys.add(name)
            elif _is_whole(self.folder / name):
                found.append((parts[2], Arrival(name, parts[0], parts[1])))
        return [entry for _time, entry in sorted(found, key=lambda pair: (pair[0], pair[1].name))]

    def _is_nobodys(self, name: str, student: str) -> bool:
        if not can_be_a_student(student) or (self.known is not None and student not in self.known):
            return True
        try:
            return self._check_owner and bool(foreign_owner((self.folder / name).lstat().st_uid, student))
        except OSError:  # removed meanwhile
            return True


def _is_whole(folder: Path) -> bool:
    """Whether `nbgrader submit` is done with a folder: opening it to everybody is the last thing that it does."""
    try:
        about = folder.lstat()
    except OSError:  # removed meanwhile
        return False
    if not stat.S_ISDIR(about.st_mode):
        return True  # no submission, and refused as such
    if about.st_mode & stat.S_IWOTH and os.path.lexists(folder / SECRET_FILE):
        return True
    return time.time() - about.st_mtime > SETTLED


class _Said(logging.Handler):
    """Keeps the warnings of nbgrader's exchange as lines, in place of printing them."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(printable(record.getMessage()))


def _logger() -> tuple[logging.Logger, _Said]:
    said, log = _Said(), logging.Logger("grader watch")
    log.addHandler(said)
    return log, said


def collect(course: ClassDirectory, students: Collection[str] | None = None) -> CopyReport:
    """Copy the hand-ins that count to `submitted/`, of these students or (None) of all. What was collected before
    stays. `CourseError` if the exchange can't be read."""
    layout, rule = course.layout, course.configured.counts
    layout.student_id, layout.assignment_id = "*", course.lesson
    collector = CollectRegularFiles(coursedir=layout, config=course.config, authenticator=_authenticator(course))
    collector.students, collector.update = students, rule != "first"
    collector.before_duedate = rule == "last-in-time"
    collector.log, said = _logger()
    outcome = CopyReport()
    try:
        collector.start()
    except ExchangeError as error:
        raise CourseError(f"The exchange can't be read: {error}") from error
    for record in collector.src_records:
        student = record["username"]
        there = timestamp(course.submission(student).folder)
        if there is None or (there < record["timestamp"] and rule in ("last", BEST)):
            outcome.failed.add(student)
    inbound, mine = Path(collector.inbound_path), collector.students
    for student, records in collector.allowed.items() if rule == BEST else ():
        if mine is None or student in mine:
            for record in records[-HAND_INS:]:
                with suppress(Unreadable):  # what can't be read earns nothing
                    data = _folder(inbound, record).read(f"{course.lesson}.ipynb", course.limits().notebook_bytes)
                    archive_hand_in(course, student, record["timestamp"], data)
    for student, records in collector.over.items():
        if records and (mine is None or student in mine):
            outcome.over[student] = [_folder(inbound, record) for record in records[-HAND_INS:]]
    # Those over the limit are listed apart; what belongs to whoever collects is theirs to hand in.
    ours = (OVER.format(collector.attempts), OWN)
    outcome.problems = [line for line in said.lines if not any(text in line for text in ours)]
    return outcome


def _folder(inbound: Path, record: Record) -> UntrustedFolder:
    return UntrustedFolder(inbound, Path(record["filename"]), record.get("owner"))


def _authenticator(course: ClassDirectory) -> Authenticator:
    return Authenticator(config=course.config)


def refuse(course: ClassDirectory, folder: UntrustedFolder) -> None:
    """Put a page where the student of a hand-in beyond the limit, `folder`, looks for its feedback: it says why there
    is none."""
    said = f"It was not graded: {OVER.format(course.configured.attempts)} Your earlier hand-ins count."
    try:
        secret = folder.read(SECRET_FILE, SECRET_BYTES).decode()
    except (Unreadable, UnicodeDecodeError):
        return  # whoever spoils it finds no feedback
    names = {course.lesson} | {path.stem for path in folder.names() if path.suffix == ".ipynb" and not path.parts[1:]}
    for name in sorted(names)[:10]:
        page = folder.root.parent / "feedback" / f"{notebook_hash(secret=secret, notebook_id=name)}.html"
        if page.parent.is_dir() and not page.exists():
            html = render("watch/refused.html", title=f"Your hand-in for {course.lesson}", said=said)
            write_atomically(page, html, 0o644, durable=False)


def release(course: ClassDirectory, students: Collection[str]) -> tuple[set[str], list[str]]:
    """Put the feedback of these students where they find it. Returns those whose feedback isn't there all the same, and
    the problems as sentences."""
    layout, problems = course.layout, []
    releaser = ReleaseAllFeedback(coursedir=layout, config=course.config, authenticator=_authenticator(course))
    releaser.log, said = _logger()
    layout.assignment_id, root = course.lesson, Path(releaser.root)
    waiting = [student for student in sorted(students) if not is_released(course, student, root)]
    try:
        for student in waiting:
            layout.student_id = student
            releaser.start()
    except (ExchangeError, OSError) as error:
        problems.append(f"Feedback can't be released: {error}")
    finally:
        layout.student_id = "*"
    return {student for student in waiting if not is_released(course, student, root)}, problems + said.lines


def is_released(course: ClassDirectory, student: str, root: Path) -> bool:
    """Whether the student's pages under `feedback/` are in the exchange, whose folder is `root`, just as they are;
    False if there are none."""
    pages = list(_pages(course, student))
    folder = root / course.layout.course_id / "feedback"
    return bool(pages) and all(_same(page, folder / f"{name}.html") for page, name in pages)


def _pages(course: ClassDirectory, student: str) -> Iterator[tuple[Path, str]]:
    folder = course.folder(course.layout.feedback_directory, student)
    try:
        secret = (folder / SECRET_FILE).read_text()
    except (OSError, UnicodeDecodeError):
        return
    for page in folder.glob("*.html"):
        yield page, notebook_hash(secret=secret, notebook_id=page.stem)


def _same(one: Path, other: Path) -> bool:
    with suppress(OSError):
        return filecmp.cmp(one, other, shallow=False)
    return False
