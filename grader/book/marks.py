"""The marks of a course as the gradebook has them, and the total that the course's rules make of them.

A mark is the gradebook's score less its late penalty. There is none where nothing was handed in, or it isn't known by
whom, where nothing is due or graded yet, where the student is excused, and where something still waits for a mark by
hand: they are told apart. The total is of what is due and graded.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook

from grader.course.class_directory import submissions_of
from grader.course.lateness import Deadlines
from grader.course.roster import Person, Roster, did_you_mean, full_names
from grader.course.settings import CourseSettings, settings_of
from grader.course.to_settle import unsettled
from grader.errors import CourseError
from grader.lesson_names import choose
from grader.nbgrader_settings import CONFIG

MARKED, MISSING, EXCUSED, OPEN = "marked", "not handed in", "excused", "waiting to be marked by hand"
LATER, UNGRADED, UNSETTLED = "not due yet", "handed in, not graded yet", "not settled yet whose hand-in it is"
COUNTING = (MARKED, MISSING, OPEN)


@dataclass(frozen=True)
class Mark:
    """One student's mark of one lesson. `state` is one of this module's, such as "not handed in"; `points` is None
    unless it is "marked". `due`: the student's due date has passed or, where a lesson has none, somebody's work in it
    is graded. `late` says in words by how much it is late, what that costs, and whether the due date was moved."""

    state: str
    points: float | None = None
    due: bool = True
    late: str = ""

    @property
    def note(self) -> str:
        """Why the mark is blank, doesn't count yet or is lower, in words; "" if none of these."""
        why = self.state if self.points is None else "" if self.due else f"{LATER}, not in the total"
        return ", ".join(filter(None, (why, self.late)))


@dataclass
class Marks:
    """The marks of a course: `possible` has the points of each lesson, `people` everybody by id, `marks` the marks by
    student and lesson, `totals` by student per cents of all, None where there is no total."""

    possible: dict[str, float] = field(default_factory=dict)
    people: dict[str, Person] = field(default_factory=dict)
    marks: dict[str, dict[str, Mark]] = field(default_factory=dict)
    totals: dict[str, float | None] = field(default_factory=dict)


def rules_of(config: Any, lessons: Sequence[str]) -> CourseSettings:
    """The course's settings, with the lessons' full names in `weights` and `excused`. `CourseError` for one that is
    wrong, or names a lesson that isn't there."""
    mine = settings_of(config)

    def lesson(key: str, name: str) -> str:
        found = choose(name, lessons)
        if found is None:
            raise CourseError(
                f"{CONFIG}.py: c.CourseMarks.{key}: got {name!r}, expected one of the lessons, {', '.join(lessons)}."
            )
        return found

    weights = {lesson("weights", name): weight for name, weight in mine.weights.items()}
    excused = {who: [lesson("excused", name) for name in names] for who, names in mine.excused.items()}
    return replace(mine, weights=weights, excused=excused)


def marks_of(course: Path, layout: Any, config: Any) -> Marks:
    """Everybody's marks, of those on the roster and those in the gradebook but not of those who have left, with their
    totals by the course's rules.
    `CourseError` if the rules aren't right, or name a student who isn't there."""
    found = Marks()
    with Gradebook(layout.db_url, layout.course_id) as book:
        assignments = sorted(book.assignments, key=lambda assignment: str(assignment.name))
        found.possible = {assignment.name: float(assignment.max_score) for assignment in assignments}
        rules = rules_of(config, list(found.possible))
        people = {
            student.id: Person(student.id, student.first_name or "", student.last_name or "", student.email or "")
            for student in book.students
        }
        roster = Roster.of(course)
        known = dict(sorted({**people, **roster.people}.items()))
        found.people = {who: person for who, person in known.items() if who not in roster.withdrawn}
        found.marks = {who: {} for who in found.people}
        deadlines = Deadlines(config)
        for assignment in assignments:
            for who, mark in _marks(course, layout, assignment, found.people, deadlines):
                found.marks[who][assignment.name] = mark
        for who, lessons in rules.excused.items():
            if who not in known:
                meant = did_you_mean(who, full_names(known))
                raise CourseError(
                    f"{CONFIG}.py: c.CourseMarks.excused: neither the roster nor the gradebook has a student "
                    f"{who!r}.{meant}"
                )
            if who in found.marks:
                found.marks[who] |= {lesson: Mark(EXCUSED) for lesson in lessons}
    found.totals = {who: total(marks, found.possible, rules) for who, marks in found.marks.items()}
    return found


def _marks(
    course: Path, layout: Any, assignment: Any, people: Iterable[str], deadlines: Deadlines
) -> Iterator[tuple[str, Mark]]:
    """Each student's id and mark of one lesson (an `api.Assignment`), also of those who handed in nothing."""
    lesson, until, now = assignment.name, deadlines.in_time_until(assignment), datetime.now(UTC).replace(tzinfo=None)
    rows = {submission.student_id: submission for submission in assignment.submissions}
    graded = {who: submission for who, submission in rows.items() if is_graded(submission, layout)}
    handed_in = {submission.student for submission in submissions_of(layout, lesson)[0]}
    to_settle = unsettled(course, lesson)
    for who in people:
        last, row = until(who), rows.get(who)
        due = bool(graded) if last is None else last < now
        penalty = (row.late_submission_penalty if row is not None else None) or 0.0
        late = deadlines.extended(assignment, who)
        if row is not None:
            late = deadlines.late(row).words(deadlines.rule, penalty)
        if who in graded:
            yield who, replace(_mark(graded[who]), due=due, late=late)
        elif who in handed_in:
            yield who, Mark(UNGRADED, due=due, late=late)
        else:
            yield who, Mark(UNSETTLED if who in to_settle else MISSING if due else LATER, due=due, late=late)


def is_graded(submission: Any, layout: Any) -> bool:
    """Whether an `api.SubmittedAssignment` was graded: one may be there for an extension only."""
    grades = [grade for notebook in submission.notebooks for grade in notebook.grades]
    who, lesson = submission.student_id, submission.assignment.name
    return (
        any(grade.auto_score is not None or grade.manual_score is not None for grade in grades)
        or Path(layout.format_path(layout.autograded_directory, who, lesson)).is_dir()
    )


def _mark(submission: Any) -> Mark:
    return Mark(OPEN) if waits(submission) else Mark(MARKED, round(score_of(submission), 2))


def waits(submission: Any) -> bool:
    """Whether something of an `api.SubmittedAssignment` is waiting to be marked by hand."""
    grades = [grade for notebook in submission.notebooks for grade in notebook.grades]
    return bool(submission.needs_manual_grade) or any(
        grade.auto_score is None and grade.manual_score is None for grade in grades
    )


def score_of(submission: Any) -> float:
    """The score of an `api.SubmittedAssignment` less its late penalty."""
    return max(0.0, float(submission.score) - (submission.late_submission_penalty or 0.0))


def total(marks: Mapping[str, Mark], possible: Mapping[str, float], rules: CourseSettings) -> float | None:
    """Per cent of the lessons that are due and graded; what should have been handed in, and wasn't, has 0 of them. None
    while something that could count is waiting to be marked by hand, and where nothing counts.

    >>> marks = {"01": Mark(MARKED, 5.0), "02": Mark(MARKED, 10.0), "03": Mark(MISSING), "04": Mark(EXCUSED)}
    >>> possible = dict.fromkeys(marks, 10.0)
    >>> total(marks, possible, CourseSettings()), total(marks, possible, CourseSettings(weights={"02": 2.0}, best_of=2))
    (50.0, 83.33)
    """
    counting = {
        name: mark
        for name, mark in marks.items()
        if mark.due and mark.state in COUNTING and rules.weights.get(name, 1) > 0
    }
    if any(mark.state == OPEN for mark in counting.values()):
        return None
    shares = [
        ((mark.points or 0.0) / possible[name] if possible[name] else 0.0, float(rules.weights.get(name, 1)))
        for name, mark in counting.items()
    ]
    shares.sort(key=lambda share: -share[0])
    best = shares[: rules.best_of or None]
    weight = sum(weight for _share, weight in best)
    return round(100 * sum(share * weight for share, weight in best) / weight, 2) if weight else None


def pseudonymous(marks: Marks, secret: bytes) -> Marks:
    """A copy of the marks without names: an id that only who has the secret can work out stands for each person."""
    names = {who: hmac.new(secret, who.encode(), hashlib.sha256).hexdigest()[:16] for who in marks.people}
    ordered = sorted(names, key=lambda who: names[who])
    return Marks(
        marks.possible,
        {names[who]: Person(names[who]) for who in ordered},
        {names[who]: marks.marks[who] for who in ordered},
        {names[who]: marks.totals[who] for who in ordered},
    )
