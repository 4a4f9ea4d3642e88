"""A class at once: from command to gradebook, nbgrader's stock autograder and `grader autograde`, in one run.

    python benchmarks/batch.py [stock] [throughput] [loop]        all three without an argument
    python benchmarks/batch.py stock --submissions 60 --stock-submissions 12
    python benchmarks/batch.py throughput --sizes 60,300,1500

"stock": the same submissions of lesson 01 with `nbgrader autograde` and its own preprocessors, and with ours on 1 and
2 workers, before it and again after it. Everything counts, from the start of a command to its end; ours takes seconds,
so its times are medians of three runs. "One more" is what a submission adds once all is running: for nbgrader a batch
less a batch of one, for ours a batch less a batch of four. With --stock-submissions the time of stock is extrapolated
from so many, and the table says so.
"throughput": ours at several class sizes. "loop": a class of which one submission never ends.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeVar

os.environ.setdefault("OMP_NUM_THREADS", "1")
ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.judge import BIN, STOCK, VARIED, Peak  # noqa: E402
from grader.book.results_log import latest  # noqa: E402
from grader.source.create import create  # noqa: E402
from tools import notebooks as nb  # noqa: E402

ENVIRONMENT = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
LOOPS = "def attention_scores(query, key):\n    while True:\n        pass"
LIMIT = 5
RUNS = 3
T = TypeVar("T")


def submission(i: int) -> bytes:
    """The right answers of student number `i` as a notebook, unlike all others."""
    return nb.submission(attention_scores=VARIED.format(i=i))


def course(folder: Path, stock: bool, count: int) -> Path:
    """A course directory with lesson 01 generated and `count` submissions collected; with `stock` nbgrader's own
    preprocessors."""
    solutions = folder / "solutions"
    solutions.mkdir(parents=True)
    shutil.copy(ROOT / "solutions" / f"{nb.LESSON}.ipynb", solutions)
    place = folder / "course"
    create(place, solutions, "attention")
    if stock:
        (place / "nbgrader_config.py").write_text(STOCK)
    else:
        with (place / "nbgrader_config.py").open("a") as file:
            file.write("c.JudgingExporter.add_students = True\n")
    run(place, "nbgrader", "generate_assignment", nb.LESSON)
    submit(place, 0, count)
    return place


def submit(place: Path, start: int, count: int) -> None:
    """Hand in for `count` students, from number `start` on."""
    for i in range(start, start + count):
        folder = place / "submitted" / f"student{i:04}" / nb.LESSON
        folder.mkdir(parents=True)
        (folder / f"{nb.LESSON}.ipynb").write_bytes(submission(i))
        (folder / "timestamp.txt").write_text("2026-11-20 10:00:00 UTC")


def run(place: Path, *command: str) -> tuple[float, str]:
    """The seconds that a command takes in a course, by the clock, and what it prints."""
    start = time.perf_counter()
    _run(place, command, contextlib.nullcontext)
    return time.perf_counter() - start, (place / "out.txt").read_text()


def memory(place: Path, *command: str) -> float:
    """Peak memory of one command in MB. Its time wouldn't count, since looking at memory takes a good part of a
    core."""
    return _run(place, command, Peak).most


def _run(place: Path, command: Sequence[str], watch: Callable[[int], AbstractContextManager[T]]) -> T:
    with (place / "out.txt").open("w") as out, (place / "log.txt").open("w") as log:
        process = subprocess.Popen([BIN / command[0], *command[1:]], cwd=place, env=ENVIRONMENT, stdout=out, stderr=log)
        with watch(process.pid) as watched:
            process.wait()
    if process.returncode:
        raise SystemExit((place / "log.txt").read_text()[-3000:] + (place / "out.txt").read_text()[-3000:])
    return watched


def ours(place: Path, workers: int) -> tuple[float, str]:
    """The seconds and the output of one run of our command on a course that has not been graded yet."""
    return run(place, *_ours(workers))


def _ours(workers: int) -> tuple[str, ...]:
    return "grader", "autograde", ".", nb.LESSON, "--json", "--workers", str(workers)


def measure_stock(count: int, part: int) -> None:
    """Print the table of nbgrader's own command, and ours on 1 and 2 workers, for `count` submissions. Of stock only
    `part` are measured, if that isn't all."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [ours_row(folder / f"ours{workers}", workers, count) for workers in (1, 2)]
        place = course(folder / "stock", True, 1)
        most = memory(place, "nbgrader", "autograde", nb.LESSON)  # makes what is made once, too
        submit(place, 1, 1)
        one, _ = run(place, "nbgrader", "autograde", nb.LESSON)
        submit(place, 2, part)
        batch, _ = run(place, "nbgrader", "autograde", nb.LESSON)
        more = (batch - one) / (part - 1)
        whole = one + (count - 1) * more
        rows.append((f"nbgrader autograde, stock{'' if part == count else f' (from {part})'}", whole, more, most))
        rows += [ours_row(folder / f"again{workers}", workers, count) for workers in (1, 2)]
    print(f"{count} submissions of {nb.LESSON}, from command to gradebook")
    print(f"{'':34} {'seconds':>8} {'times':>7} {'one more':>12} {'times':>7} {'at most':>9}")
    for title, seconds, each, most in rows:
        more_of_it = f"{each * 1000:9.1f} ms {more / each:7.1f} {most:6.0f} MB"
        print(f"{title:34} {seconds:8.1f} {whole / seconds:7.1f} {more_of_it}")


def ours_row(folder: Path, workers: int, count: int) -> tuple[str, float, float, float]:
    """A row of the table: its title, seconds, seconds for one more, and the peak memory in MB."""
    few, _ = ours_often(folder / "few", workers, 4)
    seconds, last = ours_often(folder / "all", workers, count)
    most = memory(last, *_ours(workers), "--force")
    return f"ours, {workers} worker{'s' * (workers > 1)}", seconds, (seconds - few) / (count - 4), most


def ours_often(folder: Path, workers: int, count: int) -> tuple[float, Path]:
    """The median seconds of `RUNS` runs, each on a copy of the same course, and the folder of the last copy."""
    made, times = course(folder, False, count), []
    for i in range(RUNS):
        place = shutil.copytree(made, folder / f"copy{i}")
        seconds, told = ours(place, workers)
        assert json.loads(told)["summary"]["full"] == count
        times.append(seconds)
    return statistics.median(times), place


def measure_throughput(sizes: list[int]) -> None:
    """Print seconds and rates of ours for classes of several sizes, on 2 workers."""
    print("ours on 2 workers")
    print(f"{'submissions':>11} {'seconds':>8} {'a second':>9} {'without the start':>18} {'at most':>9}")
    start = 0.0
    with tempfile.TemporaryDirectory() as name:
        for size in (4, *sizes):
            place = course(Path(name, str(size)), False, size)
            seconds, _ = ours(place, 2)
            if size == 4:
                start = seconds
                print(f"{size:11} {seconds:8.1f}")
                continue
            rate = (size - 4) / (seconds - start)
            again, _ = ours(place, 2)
            most = memory(place, *_ours(2), "--force")
            print(f"{size:11} {seconds:8.1f} {size / seconds:9.1f} {rate:18.1f} {most:6.0f} MB", flush=True)
            print(f"{'again':>11} {again:8.1f}", flush=True)


def measure_loop(count: int) -> None:
    """Print what one submission that never ends does to the others, of `count`, on one worker."""
    with tempfile.TemporaryDirectory() as name:
        times = []
        for loops in (False, True):
            place = course(Path(name, str(loops)), False, count)
            with (place / "nbgrader_config.py").open("a") as file:
                file.write(f"c.JudgingExporter.limits = {{'check_seconds': {LIMIT}, 'submission_seconds': {LIMIT}}}\n")
            if loops:
                path = place / "submitted" / "student0002" / nb.LESSON / f"{nb.LESSON}.ipynb"
                path.write_bytes(nb.submission(attention_scores=LOOPS))
            seconds, told = ours(place, 1)
            times.append(seconds)
            own = latest(place, nb.LESSON)["student0002"].result.seconds
            marks = json.loads(told)["marks"]
            full = max(marks.values())
            assert [name for name, mark in marks.items() if mark < full] == ["student0002"] * loops
    print(f"{count} submissions on one worker: {times[0]:.1f} s; one of them loops forever: {times[1]:.1f} s,")
    print(f"{times[1] - times[0]:.1f} s more with a limit of {LIMIT} s for a submission, of which it took {own:.1f} s;")
    print("all others have full marks")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help="stock, throughput, loop")
    parser.add_argument("--submissions", type=int, default=60)
    parser.add_argument("--stock-submissions", type=int)
    parser.add_argument("--sizes", default="60,300,1500")
    options = parser.parse_args()
    parts = options.parts or ["stock", "throughput", "loop"]
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start")
    if "stock" in parts:
        measure_stock(options.submissions, options.stock_submissions or options.submissions)
    if "throughput" in parts:
        measure_throughput([int(size) for size in options.sizes.split(",")])
    if "loop" in parts:
        measure_loop(options.submissions)


if __name__ == "__main__":
    main()
