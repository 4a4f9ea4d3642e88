"""Which of several notebooks of one student counts when they are collected: the rule, without a course."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import PurePosixPath
from types import SimpleNamespace

import pytest

from grader.handed_in.collect import _Collecting, _counting, _given_name, _one_of_each_upload, in_place
from grader.platforms.platform import Author, Found

NOON, HOUR = datetime(2026, 11, 22, 12), timedelta(hours=1)


def candidate(name: str, hours: float = 0, source: str = "zip", **about) -> Found:
    """A notebook that was given, which came so many hours after noon."""
    author = Author("moodle", **about)
    return Found(source, PurePosixPath(name), NOON + hours * HOUR, 1, bytes, author=author, data=name.encode())


THERE = in_place(b"there", NOON + 2 * HOUR)
FIRST, SECOND, LAST = candidate("first"), candidate("second", 1), candidate("last", 3)


@pytest.mark.parametrize(
    ("counts", "due", "chosen"),
    [
        ("last", None, LAST),
        ("last", NOON, LAST),
        ("first", NOON, FIRST),
        ("last-in-time", None, LAST),
        ("last-in-time", NOON + 1.5 * HOUR, SECOND),
        ("last-in-time", NOON + HOUR, SECOND),
        ("last-in-time", NOON - HOUR, LAST),
        ("best", NOON, THERE),
    ],
)
def test_which_one_counts(counts, due, chosen):
    assert _counting([FIRST, SECOND, THERE, LAST], due, counts) is chosen


def test_where_the_best_counts_and_none_is_there_the_last_waits_in_its_place():
    assert _counting([FIRST, LAST], None, "best") is LAST


def test_an_upload_is_one_attempt_however_many_notebooks_are_in_it():
    """The last of those that hold the lesson; another zip, person, platform's name or time is another upload."""
    early, late, other = candidate("a", key="1"), candidate("b", 1, key="1"), candidate("c", 2, key="1")
    assert _one_of_each_upload([late, early, other], [early, late]) == [late]
    assert _one_of_each_upload([other, late], []) == [other]
    several = [
        candidate("d", key="2"),
        candidate("e", source="another zip", key="1"),
        candidate("f", given="x"),
        candidate("g", given="y"),
        candidate("h", key="1", time=NOON),
    ]
    assert {*_one_of_each_upload([early, *several], [])} == {early, *several}


def test_feedback_goes_back_under_the_name_of_the_work_that_counts():
    one, two, plain = candidate("a", 0, given="one"), candidate("b", 1, given="two"), candidate("c", 2)
    assert _given_name([one, two, plain], one) == "one"
    assert _given_name([two, one, plain], plain) == "two"  # none that is named counts: the last of these
    assert _given_name([plain, THERE], plain) == ""


def collecting(grace: timedelta, own: datetime | None, everybodys: datetime | None) -> SimpleNamespace:
    until = {"ann": own, "": everybodys}
    return SimpleNamespace(_course=SimpleNamespace(configured=SimpleNamespace(grace=grace)), _until=until.get)


@pytest.mark.parametrize(
    ("minutes", "says_late", "extended", "late"),
    [
        (0, False, False, False),
        (61, False, False, True),  # grace is in the time until which it is in time
        (1, True, False, False),  # within the grace
        (60, True, False, False),
        (0, True, False, True),  # the platform has another due date
        (-10, True, False, True),
        (0, True, True, False),  # the platform knows nothing of an extension
        (24 * 60 + 61, False, True, True),
    ],
)
def test_whether_work_is_late(minutes, says_late, extended, late):
    due = NOON + HOUR
    own = due + 24 * HOUR if extended else due
    asked = collecting(HOUR, own, due)
    when = NOON + timedelta(minutes=minutes)
    assert _Collecting._is_late(asked, "ann", when, says_late, own) is late


def test_work_that_is_never_due_is_late_where_the_platform_says_so():
    asked = collecting(HOUR, None, None)
    assert [_Collecting._is_late(asked, "ann", NOON, says, None) for says in (True, False)] == [True, False]
