"""Times as people write them: understood as they are meant, or refused."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

import pytest

from grader.course.moments import ABBREVIATIONS, WORLD, in_words, moment
from grader.errors import CourseError

NOON, WINTER = datetime(2026, 7, 1, 12), datetime(2026, 12, 1, 12)
PLACES = sorted(zone for zone in available_timezones() if "/" in zone)


def understood(text: str) -> str:
    return f"{moment(text, '--until').utc:%Y-%m-%d %H:%M}"


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2026-10-25 21:00 +0200", "2026-10-25 19:00"),
        ("2026-10-25 21:00 +02:00", "2026-10-25 19:00"),
        ("2026-10-25 21:00 +02", "2026-10-25 19:00"),
        ("2026-10-25 21:00+02:00", "2026-10-25 19:00"),
        ("2026-10-25T21:00:30-0330", "2026-10-26 00:30"),
        ("2026-10-25T21:00Z", "2026-10-25 21:00"),
        ("2026-10-25 21:00", "2026-10-25 21:00"),
        ("2026-10-25 9:00 utc", "2026-10-25 09:00"),
        ("2026-10-25 20:00 KST", "2026-10-25 11:00"),
        ("2026-10-25 20:00 Asia/Seoul", "2026-10-25 11:00"),
        ("2026-10-24 20:00 Europe/Berlin", "2026-10-24 18:00"),
        ("2026-10-25 20:00 europe/berlin", "2026-10-25 19:00"),
        ("2026-10-25 20:00 CET", "2026-10-25 19:00"),
        ("2026-10-25 02:30 Europe/Berlin", "2026-10-25 01:30"),  # it comes twice: the later one
        ("2026-10-25 02:30 CET", "2026-10-25 01:30"),
    ],
)
def test_what_is_written_is_understood(text, utc):
    assert understood(text) == utc


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2026-03-29 02:30 Europe/Berlin", "there is no such time there"),
        ("2026-07-01 18:00 CET", "CET isn't kept at that time of the year. Write CEST, or Europe/Berlin."),
        ("2026-12-01 18:00 PDT", "it isn't known for certain which zone 'PDT' is"),
        ("2026-12-01 18:00 Europe/Bonn", "which zone 'Europe/Bonn' is"),
        ("2026-12-01 18:00 +9900", "which zone '+9900' is"),
        ("2026-12-01 18:00 MEZ", "which zone 'MEZ' is"),
        ("2026-12-01 25:00 UTC", "expected a day, or a day and a time"),
        ("2026-02-30", "expected a day"),
        ("01.12.2026 18:00", "expected a day"),
        ("tomorrow", "expected a day"),
        ("2026-12-01 18:00 CET CET", "expected a day"),
        ("2026-12-01", "which hour of that day"),
    ],
)
def test_what_could_be_something_else_is_refused(text, said):
    with pytest.raises(CourseError) as refused:
        moment(text, "--until")
    assert str(refused.value.message).startswith(f"--until {text!r}: ")
    assert said in str(refused.value.message)


def test_every_abbreviation_that_is_taken_means_one_thing_and_no_other_is_taken():
    """Of all that the zones of the world use in a year."""
    offsets: defaultdict[str, set[timedelta]] = defaultdict(set)
    for place in PLACES:
        for day in range(0, 365, 14):
            here = (datetime(2026, 1, 1, 12, tzinfo=UTC) + timedelta(days=day)).astimezone(ZoneInfo(place))
            if (name := here.tzname() or "").isalpha():
                offsets[name].add(here.utcoffset() or timedelta())
    assert {name: found for name, found in offsets.items() if name in ABBREVIATIONS and len(found) > 1} == {}
    assert {"IST", "CST"} <= {name for name, found in offsets.items() if len(found) > 1}
    for name in offsets.keys() - ABBREVIATIONS.keys() - {*WORLD}:
        for when in (NOON, WINTER):
            with pytest.raises(CourseError, match="it isn't known for certain"):
                moment(f"{when:%Y-%m-%d %H:%M} {name}", "--until")


@pytest.mark.parametrize("when", [NOON, WINTER, datetime(2026, 10, 25, 0, 30), datetime(2026, 3, 29, 1)])
def test_what_is_said_of_a_time_is_understood_again_in_every_place(when):
    for place in PLACES:
        shown = in_words(when, ZoneInfo(place))
        local, _, utc = shown.partition(" (")
        assert understood((utc or local).rstrip(")")) == f"{when:%Y-%m-%d %H:%M}"
        there = when.replace(tzinfo=UTC).astimezone(ZoneInfo(place))
        if there.replace(fold=1).utcoffset() == there.utcoffset() and not there.second:
            assert understood(f"{there:%Y-%m-%d %H:%M} {place}") == f"{when:%Y-%m-%d %H:%M}", place


def test_a_day_alone_has_the_hour_that_is_given():
    due = datetime(2026, 11, 22, 22, 0, 30)
    assert moment("2026-11-24", "--until", due).utc == datetime(2026, 11, 24, 22, 0, 30)
