"""What a learning platform gives a teacher in the term of docs/teaching.md: a list of people, and zips of hand-ins.

The people are those of `sample_class`; zuse, whose code never ends, hands in nothing here.
"""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Mapping
from pathlib import Path

from demo.sample_class import CLASS, LESSON, solved

SURNAMES = (
    *("Abel", "Brandt", "Costa", "Dubois", "Eriksen", "Ferrari", "Garcia", "Horvat", "Ito", "Jansen", "Kaya", "Lopez"),
    *("Moreau", "Novak", "O'Neil", "Popescu", "Quist", "Rossi", "Sato", "Tanaka", "Ueda", "Varga", "Weber", "Zhang"),
)
NAMES = dict(zip(CLASS, SURNAMES, strict=True))
NOTHING = "zuse"
IN_TIME, LATE, AGAIN = (2026, 11, 20, 12, 0, 0), (2026, 11, 23, 18, 0, 0), (2026, 11, 21, 12, 0, 0)


def write(folder: Path) -> None:
    """`participants.csv`; `01.zip`, in which karen is late; `01-again.zip`, in which john has found his mistake."""
    folder.mkdir(parents=True)
    with (folder / "participants.csv").open("w", newline="", encoding="utf-8-sig") as file:
        rows = csv.writer(file)
        rows.writerow(["First name", "Last name", "ID number", "Email address"])
        rows.writerows([who.capitalize(), last, who, f"{who}@example.org"] for who, last in NAMES.items())
    made = {who: make() for who, make in CLASS.items() if who != NOTHING}
    handed_in = {who: (data, LATE if who == "karen" else IN_TIME) for who, data in made.items()}
    _zip(folder / "01.zip", handed_in)
    _zip(folder / "01-again.zip", {**handed_in, "john": (solved()(), AGAIN)})


def _zip(path: Path, handed_in: Mapping[str, tuple[bytes, tuple[int, int, int, int, int, int]]]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, (who, (data, time)) in enumerate(handed_in.items(), 1001):
            name = f"{who.capitalize()} {NAMES[who]}_{number}_assignsubmission_file_/{LESSON}.ipynb"
            archive.writestr(zipfile.ZipInfo(name, time), data, zipfile.ZIP_DEFLATED)
