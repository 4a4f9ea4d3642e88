"""Which of the hand-ins that one student's work came in counts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from grader.course.lateness import last_in_time
from grader.course.settings import BEST
from grader.platforms.platform import HERE, Found


def in_place(data: bytes, time: datetime) -> Found:
    """The notebook that is in place already, with the time at which it came (UTC)."""
    return Found("", HERE, time, len(data), lambda: data, data=data, in_place=True)


def called(notebook: Found) -> str:
    """What a list calls a notebook."""
    return "the one collected earlier" if notebook.in_place else notebook.name


def given_name(here: Sequence[Found], chosen: Found) -> str:
    """The name that a platform gave to the work that counts, or else to the last; "" if none did."""
    named = [notebook for notebook in here if notebook.author.given]
    own = [notebook for notebook in named if notebook.data == chosen.data]
    return max(own or named, key=lambda notebook: notebook.time).author.given if named else ""


def one_of_each_upload(here: list[Found], own: Collection[Found]) -> list[Found]:
    """One notebook of each upload, the last of those that hold the lesson: else a hundred in one zip would be a hundred
    attempts."""
    chosen: dict[object, Found] = {}
    for notebook in sorted(here, key=lambda notebook: (notebook in own, notebook.time)):
        author = notebook.author
        chosen[notebook.source, author.platform, author.key or author.given, author.time] = notebook
    return list(chosen.values())


def counting(candidates: list[Found], due: datetime | None, counts: str) -> Found:
    """The notebook that counts, of candidates in the order of their times. Which has the best mark is known when all
    are graded: until then the one that is there stays."""
    if counts == BEST:
        return next((notebook for notebook in candidates if notebook.in_place), candidates[-1])
    if counts == "first":
        return candidates[0]
    return last_in_time(candidates, due, lambda notebook: notebook.time) if counts == "last-in-time" else candidates[-1]
