"""What is downloaded from platforms: under their names, and with their times."""

from __future__ import annotations

import io
import os
import shutil
import zipfile
from collections.abc import Mapping
from datetime import UTC
from pathlib import Path

from grader.course.roster import Person
from tests.term.model import HandIn

PLATFORMS = ("moodle", "canvas", "folder", "exchange")
PEOPLE = (
    Person("ann", "Ann", "Lee", moodle="00731", canvas_id="501"),
    Person("bo", "Bo", "Ng", moodle="00732", canvas_id="502"),
    Person("cy", "Cy", "Roe", moodle="731", canvas_id="503"),
)
IDS = tuple(person.id for person in PEOPLE)
LESSON, SECOND = "00_start_here", "01_the_same_again"  # of one content: nothing but the name tells them apart
STRANGER = "another Ann Lee"  # who is not on the roster
NAMESAKES = {STRANGER: "ann"}
# Moodle's, of this assignment; and Canvas's, which the roster has in some courses.
NUMBERS = {"moodle": dict(zip((*IDS, STRANGER), (1001, 1002, 1003, 1999), strict=True))}
NUMBERS["canvas"] = {**{person.id: int(person.canvas_id) for person in PEOPLE}, STRANGER: 777}


def label(platform: str, who: str) -> str:
    """What a teacher calls somebody's work on a platform that has numbers."""
    person = next(person for person in PEOPLE if person.id == NAMESAKES.get(who, who))
    called = person.full_name if platform == "moodle" else f"{person.last_name}{person.first_name}".lower()
    return f"{called}_{NUMBERS[platform][who]}"


def as_given(place: Path, platform: str, shown: Mapping[str, HandIn], lesson: str) -> Path:
    """Make the zip or folder that a platform gives of what it shows, `place` or a file beside it."""
    if platform in NUMBERS:
        with zipfile.ZipFile(place.with_suffix(".zip"), "w") as archive:
            for who, hand_in in shown.items():
                name, data = _file_of(hand_in)
                path = f"{label(platform, who)}_{_rest(platform, place)}{name}"
                archive.writestr(zipfile.ZipInfo(path, hand_in.time.timetuple()[:6]), data)
        return place.with_suffix(".zip")
    shutil.rmtree(place, ignore_errors=True)
    for who, hand_in in shown.items():
        stamp = f"{hand_in.time:%Y-%m-%d %H:%M:%S} UTC"
        folder = place / (who if platform == "folder" else f"{who}+{lesson}+{stamp}+abc")
        folder.mkdir(parents=True)
        path = folder / f"{lesson}.ipynb"
        path.write_bytes(hand_in.data)
        seconds = hand_in.time.replace(tzinfo=UTC).timestamp()
        os.utime(path, (seconds, seconds))
    return place


def _rest(platform: str, place: Path) -> str:
    return "assignsubmission_file_/" if platform == "moodle" else f"{9000 + len(place.name)}_"


def _file_of(hand_in: HandIn) -> tuple[str, bytes]:
    """The file that a student uploads: a notebook, or a zip with an early date in it."""
    if not hand_in.wrapped:
        return "work.ipynb", hand_in.data
    inside = io.BytesIO()
    with zipfile.ZipFile(inside, "w") as archive:
        archive.writestr(zipfile.ZipInfo("work.ipynb", (2020, 1, 1, 0, 0, 0)), hand_in.data)
    return "work.zip", inside.getvalue()
