"""When a hand-in was due, by how much it is late, and what that costs: worked out here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.preprocessors import AssignLatePenalties
from nbgrader.utils import parse_utc

from grader.course.files import TIMESTAMP, UntrustedFolder

HandIn = TypeVar("HandIn")


def due_dates(assignment: Any) -> Callable[[str], datetime | None]:
    """When a student's work on an `api.Assignment` is due (UTC, without a zone, as nbgrader keeps it), an extension
    included; None if it is never due."""
    due: datetime | None = assignment.duedate
    own = {} if due is None else {one.student_id: due_date(one) for one in assignment.submissions}
    return lambda student: own.get(student, due)


def due_dates_in(layout: Any, lesson: str) -> Callable[[str], datetime | None]:
    """The same from the gradebook of a course, whose `CourseDirectory` of nbgrader's is `layout`; None for everybody
    where it doesn't know the lesson."""
    with Gradebook(layout.db_url, layout.course_id) as book:
        try:
            return due_dates(book.find_assignment(lesson))
        except MissingEntry:
            return lambda _student: None


def last_in_time(hand_ins: Sequence[HandIn], due: datetime | None, time: Callable[[HandIn], datetime]) -> HandIn:
    """Of hand-ins in the order of their times the last that isn't late; where all are, the last."""
    return ([one for one in hand_ins if not seconds_late(time(one), due)] or hand_ins)[-1]


def due_date(submission: Any) -> datetime | None:
    """When an `api.SubmittedAssignment` was due, its extension included."""
    due: datetime | None = submission.assignment.duedate
    return due if due is None or submission.extension is None else due + submission.extension


def seconds_late(handed_in: datetime | None, due: datetime | None) -> float:
    """By how many seconds a hand-in is late; 0 if it isn't, or if nobody knows when it came or was due."""
    return 0.0 if due is None or handed_in is None else max((handed_in - due).total_seconds(), 0.0)


def late_penalty(student: str, score: float, late: float, config: Any) -> float | None:
    """What so many seconds cost of a score, by nbgrader's own plug-in or the course's, between 0 and the score; None if
    it costs nothing by rule."""
    if late <= 0:
        return None
    assign = AssignLatePenalties(config=config)
    assign.init_plugin()
    penalty = assign.plugin_inst.late_submission_penalty(student, score, late)
    return None if penalty is None else min(max(float(penalty), 0.0), score)


def timestamp(folder: UntrustedFolder) -> datetime | None:
    """When a submission was handed in, as nbgrader's exchange noted it; None if that can't be told."""
    try:
        text = folder.read(TIMESTAMP, 100).decode().strip()
        found: datetime | None = parse_utc(text) if text else None
    except Exception:  # a student wrote it, and dateutil raises what it likes
        return None
    return found
