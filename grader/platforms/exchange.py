"""nbgrader's exchange: folders on this machine, called "ann+LESSON+2026-11-22 18:00:00 UTC+RANDOM"."""

from __future__ import annotations

import re
from datetime import datetime

from grader.platforms.platform import Author, Platform, Source

NAME = re.compile(r"(?P<name>.+?)\+(?P<lesson>[^+]+)\+(?P<time>[^+]+ UTC)(?:\+[^+]*)?")


class Exchange(Platform):
    """nbgrader's exchange, and nbgrader's list of students."""

    key, title, rank = "nbgrader", "nbgrader's exchange", 40
    ids, is_headed, list_has = ("id",), frozenset({"id"}), "`id`"
    pattern = NAME
    names_in_words = "`ann+01_self_attention+2026-11-22 18:00:00 UTC+abc/`, in a folder on this machine, never in a zip"
    students_write = "the whole name; the folder has to belong to ann's account (`check_owner`)"
    times_in_words = "the folder's name"
    marks_in_words = "the gradebook itself"
    feedback_in_words = "`nbgrader release_feedback`"

    def authors(self, source: Source) -> dict[str, Author]:
        """By their folders' names, where these lie on this machine: only a folder's owner shows who made it."""
        found = {}
        for top, is_folder in source.tops.items():
            match = NAME.fullmatch(top) if is_folder and source.is_folder else None
            if match:
                time = _time(match["time"])
                found[top] = Author(self.key, top, top, ids=(match["name"],) if time else (), time=time)
        return found


def _time(text: str) -> datetime | None:
    from nbgrader.utils import parse_utc  # a teacher's package

    try:
        found: datetime = parse_utc(text)
    except Exception:  # anybody may make such a folder, and dateutil raises what it likes
        return None
    return found


PLATFORM = Exchange()
