"""What a learning platform gives a teacher in the term of docs/teaching.md: a list of people, and zips of hand-ins.

The people are those of `sample_class`; zuse, whose code never ends, hands in nothing here.
"""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from demo.sample_class import CLASS, LESSON, SOLUTIONS, solved

SURNAMES = (
    *("Abel", "Brandt", "Costa", "Dubois", "Eriksen", "Ferrari", "Garcia", "Horvat", "Ito", "Jansen", "Kaya", "Lopez"),
    *("Moreau", "Novak", "O'Neil", "Popescu", "Quist", "Rossi", "Sato", "Tanaka", "Ueda", "Varga", "Weber", "Zhang"),
)
NAMES = {who: f"{who.capitalize()} {last}" for who, last in zip(CLASS, SURNAMES, strict=True)}
NAMES |= dict.fromkeys(("edsger", "emmy"), "E. Ferrari")  # two people of one name
NOTHING = "zuse"
GROUPS = {"ada": "Group A", "barbara": "Group A", "frances": "Group B", "hedy": "Group B"}
DUE = datetime(2026, 11, 22, 22, 0, tzinfo=UTC)
IN_TIME, AGAIN = timedelta(days=-2), timedelta(days=-1)
LATE = {
    "alan": timedelta(minutes=5),
    "dorothy": timedelta(hours=20),
    "donald": timedelta(days=2, hours=20),
    "karen": timedelta(days=3, hours=20),
}


def write(folder: Path) -> None:
    """`participants.csv`; `01.zip`, in which four are late; `01-again.zip`, in which john has found his mistake;
    `00.zip` of groups with hidden names, and `Grades-00.csv`, which has the names."""
    folder.mkdir(parents=True)
    with (folder / "participants.csv").open("w", newline="", encoding="utf-8-sig") as file:
        rows = csv.writer(file)
        rows.writerow(["First name", "Last name", "ID number", "Email address"])
        rows.writerows([*name.split(" ", 1), who, f"{who}@example.org"] for who, name in NAMES.items())
    made = {who: make() for who, make in CLASS.items() if who != NOTHING}
    handed_in = {who: (data, LATE.get(who, IN_TIME)) for who, data in made.items()}
    _zip(folder / "01.zip", handed_in)
    _zip(folder / "01-again.zip", {**handed_in, "john": (solved()(), AGAIN)})
    _groups(folder)


def _groups(folder: Path) -> None:
    """Everybody in a group who has opened the assignment has the group's work in the zip; barbara hasn't."""
    work = (SOLUTIONS / "00_start_here.ipynb").read_bytes()
    with zipfile.ZipFile(folder / "00.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for number, (who, group) in enumerate(GROUPS.items(), 2001):
            if who != "barbara":
                archive.writestr(f"{group}-Participant_{number}_assignsubmission_file_/00_start_here.ipynb", work)
    with (folder / "Grades-00.csv").open("w", newline="", encoding="utf-8-sig") as file:
        rows = csv.writer(file)
        rows.writerow(["Identifier", "Full name", "ID number", "Email address", "Status", "Group", "Grade"])
        for number, (who, group) in enumerate(GROUPS.items(), 2001):
            rows.writerow([f"Participant {number}", NAMES[who], who, f"{who}@example.org", "", group, ""])


def _zip(path: Path, handed_in: Mapping[str, tuple[bytes, timedelta]]) -> None:
    """Times are from the due date on. A zip has them in the zone of this machine."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, (who, (data, late)) in enumerate(handed_in.items(), 1001):
            name = f"{NAMES[who]}_{number}_assignsubmission_file_/{LESSON}.ipynb"
            time = (DUE + late).astimezone().timetuple()[:6]
            archive.writestr(zipfile.ZipInfo(name, time), data, zipfile.ZIP_DEFLATED)
