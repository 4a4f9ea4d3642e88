"""What being late costs: by the course's rule, by nbgrader's, by a course's own."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import datetime, timedelta
from types import SimpleNamespace

import pytest
from nbgrader.api import Gradebook
from nbgrader.plugins import LateSubmissionPlugin
from traitlets.config import Config

from grader.course.files import UntrustedFolder
from grader.course.lateness import (
    Deadlines,
    duration,
    extensions,
    in_time_until,
    is_late,
    last_in_time,
    late_penalty,
    note_extension,
    timestamp,
)

DUE = datetime(2026, 11, 10, 12, 0)
FIVE_MINUTES, TWENTY_HOURS, NEARLY_THREE_DAYS = (
    timedelta(minutes=5),
    timedelta(hours=20),
    timedelta(days=2, hours=20),
)
EXAMPLE = {"free_days": 2, "grace_minutes": 10, "percent_a_day": 10}


class OwnRule(LateSubmissionPlugin):
    """Takes off what the test says, whatever that is."""

    costs: float = 0.0

    def late_submission_penalty(self, student_id, score, total_seconds_late):
        return self.costs


def course(root, **rule) -> Deadlines:
    return Deadlines(Config({"CourseDirectory": {"root": str(root)}, "CourseLateness": rule}))


def lesson(number: int, due=DUE):
    return SimpleNamespace(name=f"{number:02}", duedate=due and due + timedelta(weeks=number), submissions=[])


def handed_in(*late: timedelta, who: str = "ann"):
    """What one student handed in, lesson after lesson, so late."""
    student = SimpleNamespace(id=who)
    student.submissions = [
        SimpleNamespace(assignment=one, student=student, student_id=who, extension=None, timestamp=one.duedate + time)
        for one, time in ((lesson(number), time) for number, time in enumerate(late))
    ]
    return student.submissions


def earns(deadlines: Deadlines, submissions) -> list[float]:
    return [16 - (deadlines.penalty("ann", 16.0, deadlines.late(one)) or 0.0) for one in submissions]


def test_the_example_of_the_documents_for_three_students(tmp_path):
    deadlines = course(tmp_path, **EXAMPLE)
    late = (FIVE_MINUTES, TWENTY_HOURS, NEARLY_THREE_DAYS)
    own = [handed_in(time, who=who) for who, time in zip(("ann", "bo", "cy"), late, strict=True)]
    assert [earns(deadlines, works) for works in own] == [[16], [16], [14.4]]
    assert [deadlines.late(works[0]).words(deadlines.rule) for works in own] == [
        "5 minutes late, within the grace period of 10 minutes",
        "20 hours late, 1 day begun: 1 free day",
        "2 days 20 hours late, 3 days begun: 2 free days, 1 at 10 %",
    ]


def test_one_student_has_the_free_days_once_a_term(tmp_path):
    works = handed_in(FIVE_MINUTES, TWENTY_HOURS, NEARLY_THREE_DAYS)
    assert earns(course(tmp_path, **EXAMPLE), works) == [16, 16, 12.8]
    assert earns(course(tmp_path, **EXAMPLE), [*reversed(works)]) == [12.8, 16, 16]  # whoever is asked about first


def test_free_days_go_by_when_a_hand_in_came_not_by_which_lesson_it_was(tmp_path):
    first, second = handed_in(timedelta(days=20), timedelta(hours=1))
    assert earns(course(tmp_path, **EXAMPLE), [first, second]) == [0, 16]


def test_more_late_days_than_are_free_cost_no_more_than_they_are(tmp_path):
    works = handed_in(timedelta(days=5), TWENTY_HOURS)
    works[0].timestamp = works[0].assignment.duedate + timedelta(days=5)
    assert earns(course(tmp_path, **EXAMPLE), works) == [11.2, 14.4]


def test_other_work_takes_free_days_only_where_it_was_late(tmp_path):
    deadlines = course(tmp_path, **EXAMPLE | {"free_days": 1})
    early, unknown, mine = handed_in(timedelta(), timedelta(), timedelta(days=1, hours=20))
    early.assignment.duedate = None
    unknown.timestamp = None  # an extension alone
    assert deadlines.late(mine).free == 1
    assert (deadlines.late(early).days, deadlines.late(unknown).days) == (0, 0)


def test_work_that_came_early_gives_no_free_days(tmp_path):
    _early, mine = handed_in(timedelta(days=-3), timedelta(days=1, hours=20))
    assert course(tmp_path, **EXAMPLE | {"free_days": 1}).late(mine).free == 1


def test_an_earlier_hand_in_of_the_same_lesson_uses_up_no_free_day(tmp_path):
    (stored,) = handed_in(TWENTY_HOURS)
    later = stored.timestamp + timedelta(hours=1)
    found = course(tmp_path, **EXAMPLE | {"free_days": 1}).late_if(
        stored.assignment, "ann", later, lambda: [stored], stored
    )
    assert (found.days, found.free) == (1, 1)


@pytest.mark.parametrize(("seconds", "penalty"), [(0.0, None), (1.0, 8.0)])
def test_one_second_is_late_by_nbgraders_rule(seconds, penalty):
    zero = Config({"LateSubmissionPlugin": {"penalty_method": "zero"}})
    assert late_penalty("ann", 8.0, seconds, zero) == penalty


@pytest.mark.parametrize(
    ("time", "words"),
    [
        (timedelta(), "0 seconds"),
        (timedelta(seconds=1), "1 second"),
        (timedelta(minutes=1, seconds=2), "1 minute 2 seconds"),
        (timedelta(hours=1, seconds=2), "1 hour 2 seconds"),
        (timedelta(days=2, hours=1, minutes=3), "2 days 1 hour"),
    ],
)
def test_a_length_of_time_is_said_by_its_two_largest_units(time, words):
    assert duration(time) == words


def test_a_line_of_extensions_that_is_torn_is_passed_over_and_the_first_one_counts(tmp_path):
    note_extension(tmp_path, "00", "bo", timedelta(days=1), "")
    with next(tmp_path.rglob("00.jsonl")).open("a") as file:
        file.write('{"format": 1, "student": "cy"}\n{"for')
    assert {who: noted.seconds for who, noted in extensions(tmp_path, "00").items()} == {"bo": 86400}


def test_how_late_is_said_where_lateness_has_no_price_by_the_day(tmp_path):
    deadlines = course(tmp_path)
    assert deadlines.late(handed_in(timedelta(days=1, hours=2, minutes=3))[0]).words(deadlines.rule) == (
        "1 day 2 hours late"
    )


def test_nbgraders_rule_gets_the_seconds_beyond_the_grace_and_the_free_days(monkeypatch, tmp_path):
    given = []
    monkeypatch.setattr(OwnRule, "late_submission_penalty", lambda *told: given.append(told[1:]))
    plugin = {"AssignLatePenalties": {"plugin_class": OwnRule}, "CourseDirectory": {"root": str(tmp_path)}}
    deadlines = Deadlines(Config({**plugin, "CourseLateness": {"free_days": 1, "grace_minutes": 10}}))
    assert earns(deadlines, handed_in(timedelta(days=1, hours=20))) == [16]
    assert given == [("ann", 16.0, (20 * 60 - 10) * 60.0)]


def test_a_penalty_has_two_decimals(tmp_path):
    deadlines = course(tmp_path, percent_a_day=10)
    assert deadlines.penalty("ann", 16.123, deadlines.late(handed_in(TWENTY_HOURS)[0])) == 1.61


def test_until_when_work_is_in_time_by_the_gradebook(monkeypatch, tmp_path):
    with Gradebook("sqlite://", "attention") as book:
        book.add_assignment("00", duedate=DUE)
        monkeypatch.setattr("grader.course.lateness.Gradebook", lambda _url, _course: nullcontext(book))
        config = Config({"CourseDirectory": {"root": str(tmp_path)}, "CourseLateness": {"grace_minutes": 10}})
        layout = SimpleNamespace(db_url="", course_id="", config=config)
        assert in_time_until(layout, "00")("ann") == DUE + timedelta(minutes=10)
        assert in_time_until(layout, "07")("ann") is None


@pytest.mark.parametrize(
    ("text", "time"),
    [
        (b"2026-11-10 12:00:00 UTC\n", DUE),
        (b"", None),
        (b"never", None),
        (b"\xff", None),
        (b" " * 101, None),
        (None, None),
    ],
)
def test_when_work_came_as_the_exchange_noted_it(tmp_path, text, time):
    if text is not None:
        (tmp_path / "timestamp.txt").write_bytes(text)
    assert timestamp(UntrustedFolder(tmp_path)) == time


def test_the_grace_is_no_part_of_a_day(tmp_path):
    deadlines = course(tmp_path, **EXAMPLE | {"free_days": 0})
    minute = timedelta(minutes=1)
    late = (10 * minute, 11 * minute, timedelta(days=1) + 10 * minute, timedelta(days=1) + 11 * minute)
    assert earns(deadlines, handed_in(*late)) == [16, 14.4, 14.4, 12.8]
    assert earns(deadlines, handed_in(timedelta(days=30))) == [0]


def test_free_days_and_grace_go_with_nbgraders_rule_too(tmp_path):
    zero = {"LateSubmissionPlugin": {"penalty_method": "zero"}, "CourseDirectory": {"root": str(tmp_path)}}
    deadlines = Deadlines(Config({**zero, "CourseLateness": {"free_days": 2, "grace_minutes": 10}}))
    own = [handed_in(time) for time in (FIVE_MINUTES, TWENTY_HOURS, NEARLY_THREE_DAYS)]
    assert [earns(deadlines, works) for works in own] == [[16], [16], [0]]
    assert earns(Deadlines(Config(zero)), own[0]) == [0]


def test_an_extension_moves_the_due_date_before_and_after_somebody_hands_in(tmp_path):
    (one,) = handed_in(NEARLY_THREE_DAYS)
    note_extension(tmp_path, "00", "ann", timedelta(days=9), "ill")
    note_extension(tmp_path, "00", "ann", timedelta(days=2), "ill")
    assert (extensions(tmp_path, "00")["ann"].seconds, extensions(tmp_path, "01")) == (2 * 86400, {})
    deadlines = course(tmp_path, **EXAMPLE | {"free_days": 0})
    assert deadlines.extended(one.assignment, "ann") == "due date moved by 2 days: ill"
    assert deadlines.extended(one.assignment, "bo") == ""
    assert earns(deadlines, [one]) == [14.4]
    assert deadlines.late(one).words(deadlines.rule, 1.6) == (
        "due date moved by 2 days: ill; 20 hours late, 1 day begun: 1 at 10 %, 1.6 points off"
    )
    one.extension = timedelta(days=3)  # by a teacher, in the gradebook
    assert deadlines.late(one).words(deadlines.rule) == "due date moved by 3 days"
    one.assignment.submissions = [one]
    until = deadlines.in_time_until(one.assignment)
    assert until("ann") == DUE + timedelta(days=3, minutes=10)
    assert until("bo") == DUE + timedelta(minutes=10)


def test_a_lesson_without_a_due_date_is_never_late(tmp_path):
    (one,) = handed_in(NEARLY_THREE_DAYS)
    one.assignment.duedate = None
    deadlines = course(tmp_path, **EXAMPLE)
    assert (earns(deadlines, [one]), deadlines.in_time_until(one.assignment)("ann")) == ([16], None)
    assert not is_late(DUE, None)
    assert not is_late(DUE, DUE)
    assert not is_late(None, DUE)


def test_within_the_grace_a_hand_in_is_in_time():
    times = [DUE, DUE + FIVE_MINUTES, DUE + TWENTY_HOURS]
    assert last_in_time(times, DUE + timedelta(minutes=10), lambda time: time) == DUE + FIVE_MINUTES
    assert last_in_time(times, DUE - FIVE_MINUTES, lambda time: time) == DUE + TWENTY_HOURS


@pytest.mark.parametrize(
    ("costs", "late", "penalty"),
    [(2.5, 60, 2.5), (1e9, 60, 10.0), (-5.0, 60, 0.0), (2.5, 0, None), (None, 60, None)],
)
def test_a_course_s_own_rule_takes_nothing_that_is_not_there_and_gives_nothing(monkeypatch, costs, late, penalty):
    monkeypatch.setattr(OwnRule, "costs", costs)
    config = Config({"AssignLatePenalties": {"plugin_class": OwnRule}})
    assert late_penalty("ann", 10.0, late, config) == penalty
