"""When a hand-in was due, by how much it is late, and what that costs: worked out here and nowhere else.

A course's rule is `c.CourseLateness` in nbgrader_config.py: free days, grace, per cent a day (`settings.py`).
Extensions are the gradebook's; those of students who haven't handed in yet are in `.grader/extensions/LESSON.jsonl`,
where every extension is noted with its reason.

    {"format": 1, "student": "ann", "seconds": 172800.0, "why": "ill", "who": "teacher", "when": "2026-11-20T17:20:05"}
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.preprocessors import AssignLatePenalties
from nbgrader.utils import parse_utc

from grader.course.files import TIMESTAMP, UntrustedFolder
from grader.course.folder import EXTENSIONS
from grader.course.json_lines import append_line, lines_file, read_lines
from grader.course.settings import CourseSettings, settings_of
from grader.course.sharing import user_name
from grader.plain import made
from grader.sentences import Several, say, together

HandIn = TypeVar("HandIn")
DAY = timedelta(days=1)
# Lengths of time in words, for one and for more, each with its seconds.
_UNITS = (
    (say("{count} day"), say("{count} days"), 86_400),
    (say("{count} hour"), say("{count} hours"), 3_600),
    (say("{count} minute"), say("{count} minutes"), 60),
    (say("{count} second"), say("{count} seconds"), 1),
)


@dataclass(frozen=True)
class LateDays:
    """How late one hand-in is."""

    since: timedelta = field(default=timedelta())  # by how much, an extension included
    days: int = 0  # those begun after the grace
    free: int = 0  # of these, the ones that cost nothing
    moved: timedelta | None = None  # by how much an extension has moved the due date; None: not at all
    why: str = ""  # the extension's reason

    def words(self, rule: CourseSettings, penalty: float = 0.0) -> str:
        """How late a hand-in is, in words for a student and for an export; "" if there is nothing to say. `penalty` is
        in points."""
        moved = ""
        if self.moved:
            moved = say("due date moved by {time}", time=duration(self.moved))
            moved = say("{moved}: {why}", moved=moved, why=self.why) if self.why else moved
        late = self._late(rule, penalty) if self.since else ""
        return say("{moved}; {late}", moved=moved, late=late) if moved and late else moved or late

    def _late(self, rule: CourseSettings, penalty: float) -> str:
        since = duration(self.since)
        if not self.days:
            return say("{time} late, within the grace period of {grace}", time=since, grace=duration(rule.grace))
        charged, parts = self.days - self.free, [say("{time} late", time=since)]
        counted = [_count(self.free, say("{count} free day"), say("{count} free days"))] if self.free else []
        if charged and rule.percent_a_day is not None:
            counted.append(say("{count} at {percent} %", count=charged, percent=f"{rule.percent_a_day:g}"))
        if counted:
            begun = _count(self.days, say("{count} day begun"), say("{count} days begun"))
            parts.append(say("{begun}: {counted}", begun=begun, counted=Several(counted, ", ")))
        parts += [say("{points} points off", points=f"{penalty:g}")] if penalty else []
        return Several(parts, ", ")


class Deadlines:
    """What a course's settings, extensions and gradebook say of lateness. `CourseError` for a setting that is wrong."""

    def __init__(self, config: Any) -> None:
        self.rule, self._config = settings_of(config), config
        self._root = Path(str(config.CourseDirectory.get("root", ".")))
        self._extended: dict[str, dict[str, Extension]] = {}

    def due(self, assignment: Any, student: str, submission: Any = None) -> datetime | None:
        """When somebody's work on an `api.Assignment` is due (UTC, without a zone, as nbgrader has it); None if never.
        `submission` is their `api.SubmittedAssignment`, if they have handed in."""
        due: datetime | None = assignment.duedate
        return due and due + (self._moved(assignment, student, submission) or timedelta())

    def _moved(self, assignment: Any, student: str, submission: Any) -> timedelta | None:
        """By how much a student's due date is moved; None if it isn't. The gradebook's word counts before the file's: a
        teacher may have changed it there."""
        own: timedelta | None = None if submission is None else submission.extension
        noted = self._extensions(assignment.name).get(student)
        return own if own is not None or noted is None else timedelta(seconds=noted.seconds)

    def _extensions(self, lesson: str) -> dict[str, Extension]:
        if lesson not in self._extended:
            self._extended[lesson] = extensions(self._root, lesson)
        return self._extended[lesson]

    def in_time_until(self, assignment: Any) -> Callable[[str], datetime | None]:
        """A function that gives, for a student's id, until when their work on an `api.Assignment` is in time (UTC),
        extension and grace included; None if it always is."""
        due: datetime | None = assignment.duedate
        if due is None:
            return lambda _student: None
        rows = {submission.student_id: submission for submission in assignment.submissions}
        people = {*rows, *self._extensions(assignment.name)}
        moved = {who: self._moved(assignment, who, rows.get(who)) for who in people}
        return lambda student: due + (moved.get(student) or timedelta()) + self.rule.grace

    def extended(self, assignment: Any, student: str) -> str:
        """In words, by how much the due date of somebody who hasn't handed in is moved; empty if it isn't."""
        noted = self._extensions(assignment.name).get(student)
        return LateDays(moved=timedelta(seconds=noted.seconds), why=noted.why).words(self.rule) if noted else ""

    def late(self, submission: Any) -> LateDays:
        """How late a hand-in (an `api.SubmittedAssignment`) is by the course's rule."""
        works = lambda: submission.student.submissions  # noqa: E731  (asked for where somebody is late)
        return self.late_if(submission.assignment, submission.student_id, submission.timestamp, works, submission)

    def late_if(
        self,
        assignment: Any,
        student: str,
        handed_in: datetime | None,
        works: Callable[[], Iterable[Any]],
        submission: Any = None,
    ) -> LateDays:
        """How late somebody's work on an `api.Assignment` is if it was handed in then (UTC; None is not late); `works`
        gives all that they handed in, of which `submission` is this lesson's. Free days are used up in the order in
        which hand-ins came, so that none changes the mark of an earlier one."""
        moved = self._moved(assignment, student, submission)
        noted = self._extensions(assignment.name).get(student)
        why = noted.why if noted and moved and noted.seconds == moved.total_seconds() else ""
        due = self.due(assignment, student, submission)
        days, left = self._days(handed_in, due), self.rule.free_days
        since = max(handed_in - due, timedelta()) if due and handed_in else timedelta()
        if days and left:
            others = [work for work in works() if work.assignment.name != assignment.name and work.timestamp]
            left -= sum(
                self._days(work.timestamp, self.due(work.assignment, student, work))
                for work in others
                if (work.timestamp, work.assignment.name) < (handed_in, assignment.name)
            )
        return LateDays(since, days, min(days, max(left, 0)), moved, why)

    def _days(self, handed_in: datetime | None, due: datetime | None) -> int:
        """The days begun since the end of the grace; 0 if the work was in time, or one of the times isn't known."""
        if handed_in is None or due is None:
            return 0
        return max(math.ceil((handed_in - due - self.rule.grace) / DAY), 0)

    def penalty(self, student: str, score: float, late: LateDays) -> float | None:
        """The points that a hand-in's lateness costs of its score in points; None if it costs nothing by rule."""
        if self.rule.percent_a_day is None:
            charged = late.since - self.rule.grace - late.free * DAY
            return late_penalty(student, score, charged.total_seconds() if late.days else 0.0, self._config)
        share = min((late.days - late.free) * self.rule.percent_a_day / 100, 1.0)
        return round(score * share, 2) if share else None


def in_time_until(layout: Any, lesson: str) -> Callable[[str], datetime | None]:
    """As `Deadlines.in_time_until`, from the gradebook of a course, whose `CourseDirectory` of nbgrader's is `layout`:
    until when each student's work is in time. None for everybody where the gradebook doesn't know the lesson."""
    deadlines = Deadlines(layout.config)
    with Gradebook(layout.db_url, layout.course_id) as book:
        try:
            return deadlines.in_time_until(book.find_assignment(lesson))
        except MissingEntry:
            return lambda _student: None


def last_in_time(hand_ins: Sequence[HandIn], until: datetime | None, time: Callable[[HandIn], datetime]) -> HandIn:
    """The last of several hand-ins, in the order of their times, that came by `until`; if all are late, the last.
    `time` gives the time of one."""
    return ([attempt for attempt in hand_ins if not is_late(time(attempt), until)] or hand_ins)[-1]


def is_late(handed_in: datetime | None, until: datetime | None) -> bool:
    """Whether a hand-in is late; it isn't if nobody knows when it came or was due."""
    return until is not None and handed_in is not None and handed_in > until


def late_penalty(student: str, score: float, seconds: float, config: Any) -> float | None:
    """The points that so many seconds cost of a score, by nbgrader's own plug-in or the course's, between 0 and the
    score; None if they cost nothing by rule."""
    if seconds <= 0:
        return None
    assign = AssignLatePenalties(config=config)
    assign.init_plugin()
    penalty = assign.plugin_inst.late_submission_penalty(student, score, seconds)
    return None if penalty is None else min(max(float(penalty), 0.0), score)


def timestamp(folder: UntrustedFolder) -> datetime | None:
    """When a submission was handed in (UTC), as nbgrader's exchange noted it; None if that can't be told."""
    try:
        found: datetime | None = parse_utc(folder.read(TIMESTAMP, 100).decode().strip())
    except Exception:  # a student wrote it, and dateutil raises what it likes
        return None
    return found


# --- extensions -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Extension:
    """A line of the file of extensions: by how many seconds a student's due date is moved, why, who said so and when
    (UTC)."""

    student: str
    seconds: float
    why: str
    who: str
    when: str


def extensions(course: Path, lesson: str) -> dict[str, Extension]:
    """By student the last extension that is noted for a lesson; empty if there is none. A line that is torn or of
    another form is passed over."""
    latest = {}
    for _number, line in read_lines(lines_file(course, EXTENSIONS, lesson)):
        with suppress(ValueError):
            extension: Extension = made(Extension, line, "extension")
            latest[extension.student] = extension
    return latest


def note_extension(course: Path, lesson: str, student: str, moved: timedelta, why: str) -> None:
    """Append one extension to the lesson's file: by how much the due date moves for a student, and why."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    extension = Extension(student, moved.total_seconds(), why, user_name(os.getuid()), now)
    append_line(course, EXTENSIONS, lesson, asdict(extension))


def duration(time: timedelta) -> str:
    """A length of time in words, by its two largest units.

    >>> duration(timedelta(days=2, hours=20)), duration(timedelta(minutes=5))
    ('2 days 20 hours', '5 minutes')
    """
    left = int(time.total_seconds())
    said: list[str] = []
    for one, more, size in _UNITS:
        if left >= size or (size == 1 and not said):
            said.append(_count(left // size, one, more))
        left %= size
        if len(said) == 2:
            break
    return together(*said)


def _count(number: int, one: str, more: str) -> str:
    return say(one if number == 1 else more, count=number)
