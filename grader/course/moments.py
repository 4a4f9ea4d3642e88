"""A day and a time as people write them: what zone they mean, and what was understood.

A zone is an offset (+0200, +02:00, Z), a name (Europe/Berlin), or one of the few abbreviations that mean the same
everywhere. Another abbreviation is refused: IST is the time of India, of Ireland and of Israel. (nbgrader's `parse_utc`
passes over what it doesn't know, and takes +0200 for 200 seconds.)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from grader.errors import CourseError

WRITTEN = re.compile(
    r"(?P<day>\d{4}-\d{2}-\d{2})"
    r"(?:[ T]+(?P<time>\d{1,2}:\d{2}(?::\d{2})?) ?(?P<zone>[+-]\d{1,2}(?::?\d{2})?|[A-Za-z]\S*)?)?"
)
OFFSET = re.compile(r"([+-])(\d{1,2}):?(\d{2})?")
# Abbreviations that mean one thing, and a place that keeps them.
ABBREVIATIONS = {
    **dict.fromkeys(("WET", "WEST"), "Europe/Lisbon"),
    **dict.fromkeys(("CET", "CEST"), "Europe/Berlin"),
    **dict.fromkeys(("EET", "EEST"), "Europe/Athens"),
    "KST": "Asia/Seoul",
    "JST": "Asia/Tokyo",
    **dict.fromkeys(("AEST", "AEDT"), "Australia/Sydney"),
    **dict.fromkeys(("NZST", "NZDT"), "Pacific/Auckland"),
}
WORLD = ("UTC", "GMT", "Z")
HOW = (
    'expected a day, or a day and a time with its zone, for example "{0}", "{0} 18:00 UTC", "{0} 18:00 +0200" or '
    '"{0} 18:00 Europe/Berlin"'
)


@dataclass(frozen=True)
class Moment:
    """A time as it was understood: `utc` without a zone, as nbgrader has times, and the `zone` in which it is shown:
    that in which it was written, or this machine's."""

    utc: datetime
    zone: tzinfo | None = None

    def __str__(self) -> str:
        return in_words(self.utc, self.zone)


def in_words(utc: datetime, zone: tzinfo | None = None) -> str:
    """A time (UTC, without a zone) in a zone and in UTC; without a `zone` in this machine's.

    >>> in_words(datetime(2026, 10, 25, 19), ZoneInfo("Europe/Berlin"))
    '2026-10-25 20:00 CET (2026-10-25 19:00 UTC)'
    """
    local = utc.replace(tzinfo=UTC).astimezone(zone)
    shown = f"{utc:%Y-%m-%d %H:%M} UTC"
    return shown if not local.utcoffset() else f"{local:%Y-%m-%d %H:%M} {local.tzname()} ({shown})"


def moment(text: str, what: str, hour_of: datetime | None = None) -> Moment:
    """The time that somebody wrote; in UTC if no zone is named. With a day alone, the hour is that of `hour_of`.
    `CourseError`, which begins with `what`, if it is no time, if its zone could be several, or if the clocks are put
    forward past it. The hour that comes twice when clocks are put back is the second one."""
    found = WRITTEN.fullmatch(text.strip())
    try:
        if found is None:
            raise ValueError
        day = datetime.fromisoformat(found["day"])
        hours = [int(number) for number in (found["time"] or "0:0").split(":")]
        local = day.replace(hour=hours[0], minute=hours[1], second=hours[2] if hours[2:] else 0, fold=1)
    except ValueError:
        today = f"{datetime.now(UTC):%Y-%m-%d}"
        raise CourseError(f"{what} {text!r}: {HOW.format(today)}.") from None
    if found["time"] is None:
        if hour_of is None:
            raise CourseError(f"{what} {text!r}: which hour of that day? {HOW.format(found['day'])}.")
        return Moment(datetime.combine(day, hour_of.time()))
    zone = _zone(found["zone"] or "UTC", local, f"{what} {text!r}")
    aware = local.replace(tzinfo=zone)
    utc = aware.astimezone(UTC)
    if utc.astimezone(zone).replace(tzinfo=None) != local:
        raise CourseError(f"{what} {text!r}: there is no such time there, since the clocks are put forward past it.")
    return Moment(utc.replace(tzinfo=None), zone if found["zone"] else None)


@cache
def _places() -> dict[str, str]:
    """The names of the zones of the world's places, by these names in small letters."""
    return {known.casefold(): known for known in available_timezones() if "/" in known}


def _zone(name: str, local: datetime, what: str) -> tzinfo:
    """The zone of that name; `CourseError`, which begins with `what`, if it is unknown, could be several, or isn't kept
    at that time."""
    if offset := OFFSET.fullmatch(name):
        ahead = timedelta(hours=int(offset[2]), minutes=int(offset[3] or 0))
        if ahead < timedelta(hours=15):
            return timezone(ahead if offset[1] == "+" else -ahead)
    if name.upper() in WORLD:
        return UTC
    if place := ABBREVIATIONS.get(name.upper()):
        kept = local.replace(tzinfo=ZoneInfo(place)).tzname()
        if kept == name.upper():
            return ZoneInfo(place)
        raise CourseError(f"{what}: {name} isn't kept at that time of the year. Write {kept}, or {place}.")
    if known := _places().get(name.casefold()):
        return ZoneInfo(known)
    raise CourseError(
        f"{what}: it isn't known for certain which zone {name!r} is. Write its difference to UTC, for example +0200, "
        "or a place, for example Europe/Berlin or Asia/Seoul."
    )
