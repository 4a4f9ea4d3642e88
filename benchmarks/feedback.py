"""Pages of feedback: nbgrader's own `generate_feedback`, the same command with our exporter, and `grader feedback`.

    python benchmarks/feedback.py --submissions 60

One course with so many graded submissions of lesson 01, each unlike all others. The three take turns, and every page is
made anew. Seconds are those of the processor, medians of three runs: what else the machine does hardly counts. "One
more" is what a page adds once all is running: the command for many less the command for one. nbgrader's own makes ten
pages at most, since each takes as long as the others.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.batch import course, run  # noqa: E402
from tools import notebooks as nb  # noqa: E402

RUNS = 3
# What nbgrader_config.py of a course of ours changes about it, as nbgrader has it by itself.
STOCK = """
c.GenerateFeedback.exporter_class = "nbconvert.exporters.HTMLExporter"
c.GenerateFeedback.preprocessors = [
    "nbgrader.preprocessors.GetGrades", "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor"
]
c.HTMLExporter.filters = {}
"""
GENERATE = ("nbgrader", "generate_feedback", nb.LESSON, "--force")
OURS = ("grader", "feedback", ".", nb.LESSON)


def seconds(folder: Path, *command: str) -> float:
    """The seconds of the processor that one command takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(folder, *command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def prepared(folder: Path, submissions: int) -> Path:
    """A course with so many graded submissions, in `folder`."""
    place = course(folder / "ours", False, submissions)
    run(place, "grader", "autograde", ".", nb.LESSON)
    return place


def measure(place: Path, submissions: int) -> None:
    """Let the three commands take turns in a course with so many submissions, and print a table."""
    with tempfile.TemporaryDirectory() as name:
        stock = shutil.copytree(place, Path(name, "stock"))
        with (stock / "nbgrader_config.py").open("a") as file:
            file.write(STOCK)
        few = min(10, submissions)
        rows = {
            "nbgrader generate_feedback, stock": (
                stock,
                few,
                (*GENERATE, "--student=student000?"),
                "--student=student0000",
            ),
            "the same with our exporter": (place, submissions, GENERATE, "--student=student0000"),
            "grader feedback": (place, submissions, (*OURS, "--force"), "student0000"),
        }
        times: dict[str, list[tuple[float, float]]] = {title: [] for title in rows}
        for _ in range(RUNS):
            for title, (folder, _count, many, student) in rows.items():
                alone = [word for word in many if not word.startswith("--student")]
                times[title].append((seconds(folder, *alone, student), seconds(folder, *many)))
        pages = {
            folder: folder / "feedback" / "student0000" / nb.LESSON / f"{nb.LESSON}.html" for folder in (stock, place)
        }
        sizes = {folder: page.stat().st_size for folder, page in pages.items()}
    print(f"{submissions} submissions of {nb.LESSON}")
    print(f"{'':36} {'pages':>6} {'seconds':>8} {'one more':>11} {'times':>7} {'a page has':>11}")
    first = 0.0
    for title, (folder, count, _many, _student) in rows.items():
        one, many = (statistics.median(column) for column in zip(*times[title], strict=True))
        more = (many - one) / (count - 1)
        first = first or more
        print(
            f"{title:36} {count:6} {many:8.1f} {more * 1000:8.1f} ms {first / more:7.1f} {sizes[folder] / 1000:8.0f} kB"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submissions", type=int, default=60)
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start")
    with tempfile.TemporaryDirectory() as name:
        measure(prepared(Path(name), options.submissions), options.submissions)


if __name__ == "__main__":
    main()
