"""From hand-ins in a Moodle zip to marks, feedback and a file to import: four commands of ours and four of nbgrader's.

    python benchmarks/term.py [--submissions 120] [--stock-submissions 8]

The same right and different hand-ins of lesson 01, in one run: ours (on as many workers as there are cores), nbgrader,
ours again. Each command counts from its start to its end; in brackets the seconds that the processors worked for it,
which say more where the machine has other work. nbgrader has so many of the hand-ins only: what one more takes is told
from that many and one, and the time for all is worked out; the table says so.
"""

from __future__ import annotations

import argparse
import csv
import os
import resource
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.batch import course, run, submission  # noqa: E402
from tools import notebooks as nb  # noqa: E402

OURS = {
    "collect": ("grader", "collect", ".", nb.LESSON, "../moodle.zip"),
    "mark": ("grader", "autograde", ".", nb.LESSON),
    "feedback": ("grader", "feedback", ".", nb.LESSON, "--zip", "moodle"),
    "export": ("grader", "export", ".", "--to", "moodle"),
}
STOCK = {
    "collect": ("nbgrader", "zip_collect", nb.LESSON),
    "mark": ("nbgrader", "autograde", nb.LESSON),
    "feedback": ("nbgrader", "generate_feedback", nb.LESSON),
    "export": ("nbgrader", "export"),
}
Times = tuple[float, float]
NAMES = r".*/(?P<student_id>student\d+) Person_\d+_assignsubmission_file_/(?P<file_id>\w+)"


def moodle(folder: Path, count: int) -> Path:
    """Write a list of people, and a zip as Moodle gives it with `count` hand-ins. Returns the path of the zip."""
    with (folder / "participants.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["First name", "Last name", "ID number"])
        rows.writerows([f"student{i:04}", "Person", f"student{i:04}"] for i in range(count))
    with zipfile.ZipFile(folder / "moodle.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for i in range(count):
            name = f"student{i:04} Person_{1000 + i}_assignsubmission_file_/{nb.LESSON}.ipynb"
            archive.writestr(zipfile.ZipInfo(name, (2026, 11, 20, 12, 0, 0)), submission(i), zipfile.ZIP_DEFLATED)
    return folder / "moodle.zip"


def ours(folder: Path, count: int) -> dict[str, Times]:
    """The seconds of each of our commands by its name. The roster is entered before, once a term, and isn't counted."""
    place = course(folder, False, 0)
    moodle(folder, count)
    run(place, "grader", "roster", ".", "../participants.csv")
    times = {step: _timed(place, *command) for step, command in OURS.items()}
    _require(place, count, (place / "marks-moodle.csv").read_text().count(",16\n"))
    return times


def stock(folder: Path, count: int) -> dict[str, Times]:
    """The seconds of each of nbgrader's commands by its name, with its own settings."""
    place = course(folder, True, 0)
    with (place / "nbgrader_config.py").open("a") as file:
        file.write(f"c.FileNameCollectorPlugin.named_regexp = {NAMES!r}\n")
    archive = place / "downloaded" / nb.LESSON / "archive"
    archive.mkdir(parents=True)
    shutil.move(moodle(folder, count), archive)
    times = {step: _timed(place, *command) for step, command in STOCK.items()}
    _require(place, count, (place / "grades.csv").read_text().count(",16.0,16.0"))
    return times


def _timed(place: Path, *command: str) -> Times:
    """The seconds of one command, on the clock and of the processors."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds, _ = run(place, *command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _scaled(one: Times, few: Times, part: int, count: int) -> Times:
    """The times for `count` hand-ins, from those of one and of `part`."""
    first, second = (a + (count - 1) * max(b - a, 0) / (part - 1) for a, b in zip(one, few, strict=True))
    return first, second


def _require(place: Path, count: int, full: int) -> None:
    """The program ends unless all hand-ins have full marks (`full` do) and feedback, so that every step has done its
    work."""
    pages = len(list(place.glob(f"feedback/*/{nb.LESSON}/{nb.LESSON}.html")))
    if (full, pages) != (count, count):
        raise SystemExit(f"{place}: {full} of {count} have full marks, {pages} have feedback")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submissions", type=int, default=120)
    parser.add_argument("--stock-submissions", type=int, default=8)
    options = parser.parse_args()
    count, part = options.submissions, options.stock_submissions
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start; {count} hand-ins of {nb.LESSON}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        columns = {"ours": ours(folder / "ours", count)}
        one, few = stock(folder / "one", 1), stock(folder / "few", part)
        told = {step: _scaled(one[step], few[step], part, count) for step in STOCK}
        columns |= {f"nbgrader (from {part})": told, "ours again": ours(folder / "again", count)}
    print(f"{'seconds':10}" + "".join(f"{title:>24}" for title in columns))
    for step in OURS:
        print(f"{step:10}" + "".join(_shown([times[step]]) for times in columns.values()))
    print(f"{'all':10}" + "".join(_shown([*times.values()]) for times in columns.values()))


def _shown(times: Sequence[Times]) -> str:
    clock, processors = (sum(column) for column in zip(*times, strict=True))
    return f"{clock:14.1f} ({processors:7.1f})"


if __name__ == "__main__":
    main()
