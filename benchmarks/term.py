"""From hand-ins in a Moodle zip to marks, feedback and a file to import: four commands of ours and four of nbgrader's.

    python benchmarks/term.py [--submissions 60,500,1000] [--stock-submissions 13]

Hand-ins of lesson 01, half of them right, the others wrong in three ways, no two alike. Each command counts from its
start to its end; in brackets the seconds that the processors worked for it, which say more where the machine has other
work. nbgrader has so many of the hand-ins only: what one more takes is told from that many and one, and the time for
all is worked out; the table says so. Where one more hand-in of ours takes clearly longer in a large class than in a
small one, the exit code is 1.
"""

from __future__ import annotations

import argparse
import csv
import itertools
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
POINTS = sum(cell["metadata"].get("nbgrader", {}).get("points", 0) for cell in nb.solved())
Times = tuple[float, float]
NAMES = r".*/(?P<student_id>student\d+) Person_\d+_assignsubmission_file_/(?P<file_id>\w+)"
UNDONE = "raise NotImplementedError('{i}')"
WRONG: tuple[dict[str, str], ...] = (
    # The wrong axis.
    {"stable_softmax": "def stable_softmax(x):\n    e = x.exp()\n    return e / e.sum(-2, keepdim=True)  # {i}"},
    # Not begun.
    {
        "scaled_dot_product_attention": f"def scaled_dot_product_attention(query, key, value):\n    {UNDONE}",
        "self_attention": f"def self_attention(x, w_query, w_key, w_value):\n    {UNDONE}",
    },
    # A name that isn't there, and wrong answers to the quiz.
    {
        "attention_scores": "def attention_scores(query, key):\n    return query @ key.transpose(-2, -1) / scale_{i}",
        "quiz_01": "quiz_01 = {{'scores_shape': (7, 5), 'read_weight': 0.{i}}}",
    },
)
# One more hand-in may take so many times as long, in the second half of the sizes, before it counts as growth: what
# other work on the machine does to the seconds of the processors.
NOISE = 1.5


def mixed(i: int) -> bytes:
    """The hand-in of student number `i`: every second one is right."""
    if i % 2 == 0:
        return submission(i)
    return nb.submission(**{name: source.format(i=i) for name, source in WRONG[i // 2 % len(WRONG)].items()})


def moodle(folder: Path, count: int) -> Path:
    """Write a list of people, and a zip as Moodle gives it with `count` hand-ins. Returns the path of the zip."""
    with (folder / "participants.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["First name", "Last name", "ID number"])
        rows.writerows([f"student{i:04}", "Person", f"student{i:04}"] for i in range(count))
    with zipfile.ZipFile(folder / "moodle.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for i in range(count):
            name = f"student{i:04} Person_{1000 + i}_assignsubmission_file_/{nb.LESSON}.ipynb"
            archive.writestr(zipfile.ZipInfo(name, (2026, 11, 20, 12, 0, 0)), mixed(i), zipfile.ZIP_DEFLATED)
    return folder / "moodle.zip"


def ours(folder: Path, count: int) -> dict[str, Times]:
    """The seconds of each of our commands by its name. The roster is entered before, once a term, and isn't counted."""
    place = course(folder, False, 0)
    moodle(folder, count)
    run(place, "grader", "roster", ".", "../participants.csv")
    times = {step: _timed(place, *command) for step, command in OURS.items()}
    _require(place, count, (place / "marks-moodle.csv").read_text().count(f",{POINTS}\n"))
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
    _require(place, count, (place / "grades.csv").read_text().count(f",{POINTS}.0,{POINTS}.0"))
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
    """The program ends unless every second hand-in has full marks (`full` do) and all have feedback, so that every step
    has done its work."""
    pages = len(list(place.glob(f"feedback/*/{nb.LESSON}/{nb.LESSON}.html")))
    if (full, pages) != ((count + 1) // 2, count):
        raise SystemExit(f"{place}: {full} of {count} have full marks, {pages} have feedback")


def growth(times: dict[int, dict[str, Times]]) -> list[str]:
    """The lines of the table of what one more hand-in takes of the processors, from each size to the next; a step that
    takes clearly more of them in a larger class has a "!"."""
    sizes = sorted(times)
    spans = list(itertools.pairwise(sizes))
    lines = [f"{'one more':10}" + "".join(f"{f'{few} to {many}':>16}" for few, many in spans)]
    for step in OURS:
        each = [(times[many][step][1] - times[few][step][1]) / (many - few) for few, many in spans]
        grows = any(
            after > NOISE * max(before, 0) and (after - before) * (many - few) > 1
            for before, after, (few, many) in zip(each, each[1:], spans[1:], strict=False)
        )
        lines.append(f"{step:10}" + "".join(f"{1000 * one:13.1f} ms" for one in each) + " !" * grows)
    return lines


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submissions", default="60,500,1000")
    parser.add_argument("--stock-submissions", type=int, default=13)
    options = parser.parse_args()
    part = options.stock_submissions
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(
            f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start; hand-ins of {nb.LESSON}", flush=True
        )
        one, few = (stock(folder / f"stock{count}", count) for count in (1, part))
        measured = {}
        for count in map(int, options.submissions.split(",")):
            measured[count] = ours(folder / f"ours{count}", count)
            told = {step: _scaled(one[step], few[step], part, count) for step in STOCK}
            show(count, {"ours": measured[count], f"nbgrader (from {part})": told})
    lines = growth(measured)
    print("\n".join(lines))
    print(f"load {os.getloadavg()[0]:.1f} at the end")
    if any(line.endswith("!") for line in lines):
        raise SystemExit(1)


def show(count: int, columns: dict[str, dict[str, Times]]) -> None:
    """Print the table of a class."""
    print(f"{f'{count} hand-ins':14}" + "".join(f"{title:>24}" for title in columns))
    for step in OURS:
        print(f"{step:14}" + "".join(_shown([times[step]]) for times in columns.values()))
    print(f"{'all':14}" + "".join(_shown([*times.values()]) for times in columns.values()), flush=True)


def _shown(times: Sequence[Times]) -> str:
    clock, processors = (sum(column) for column in zip(*times, strict=True))
    return f"{clock:14.1f} ({processors:7.1f})"


if __name__ == "__main__":
    main()
