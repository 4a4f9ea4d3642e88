"""What one submission of lesson 01 costs: nbgrader's stock autograder and the judge, the same submissions in one run.

    python benchmarks/judge.py [--submissions 30]

"Marginal" is what one more submission costs once everything is running. For nbgrader it is the time of a batch less
that of a batch of one, by submission; for the judge the mean over a batch in one worker that has graded one before.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from grader.course import create  # noqa: E402
from grader.judge.grading import grade  # noqa: E402
from grader.judge.outline import Outline  # noqa: E402
from grader.judge.sandbox import Sandbox  # noqa: E402
from grader.registry import exercises  # noqa: E402
from tests.classroom.conftest import as_solution  # noqa: E402
from tests.judge import notebooks as nb  # noqa: E402

BIN = Path(sys.executable).parent
STOCK = "c = get_config()\nc.CourseDirectory.course_id = 'attention'\n"
VARIED = "def attention_scores(query, key):\n    # student {i}\n    return query @ key.transpose(-2, -1)"


class Peak:
    """The largest memory that a process and its descendants hold at once (shared pages counted once), in MB."""

    def __init__(self, pid: int) -> None:
        self.pid, self.most, self._stop = pid, 0.0, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(0.5):
            self.most = max(self.most, sum(map(self._size, self._family())) / 1024)

    def _family(self) -> list[int]:
        parents: dict[int, list[int]] = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                parent = int(path.read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            parents.setdefault(parent, []).append(int(path.parent.name))
        family = [self.pid]
        for pid in family:
            family += parents.get(pid, [])
        return family

    @staticmethod
    def _size(pid: int) -> int:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        except (OSError, StopIteration):
            return 0


def course(folder: Path, stock: bool, submissions: list[bytes]) -> Path:
    """A course directory with lesson 01 generated and the submissions collected."""
    solutions = folder / "solutions"
    solutions.mkdir(parents=True)
    built = ROOT / "solutions" / f"{nb.LESSON}.ipynb"
    notebook = built.read_bytes() if built.exists() else as_solution(nb.instructor())
    (solutions / f"{nb.LESSON}.ipynb").write_bytes(notebook)
    place = folder / "course"
    create(place, solutions, "attention")
    if stock:
        (place / "nbgrader_config.py").write_text(STOCK)
    run(place, "generate_assignment", nb.LESSON)
    for i, data in enumerate(submissions):
        submitted = place / "submitted" / f"student{i:03}" / nb.LESSON
        submitted.mkdir(parents=True)
        (submitted / f"{nb.LESSON}.ipynb").write_bytes(data)
    return place


def run(place: Path, *command: str) -> tuple[float, float]:
    """Seconds and peak memory of one nbgrader command."""
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    start = time.perf_counter()
    with (place / "log.txt").open("w") as log:
        process = subprocess.Popen([BIN / "nbgrader", *command], cwd=place, env=environment, stdout=log, stderr=log)
        with Peak(process.pid) as peak:
            process.wait()
    if process.returncode:
        raise SystemExit((place / "log.txt").read_text()[-3000:])
    return time.perf_counter() - start, peak.most


def autograde(folder: Path, stock: bool, submissions: list[bytes]) -> tuple[float, float]:
    """Marginal seconds and peak memory of `nbgrader autograde`."""
    place = course(folder, stock, submissions)
    run(place, "autograde", nb.LESSON, "--student=student000")  # makes the gradebook
    single, _ = run(place, "autograde", nb.LESSON, "--student=student001")
    rest, memory = run(place, "autograde", nb.LESSON)  # those that are left
    return (rest - single) / (len(submissions) - 3), memory


def judge(submissions: list[bytes]) -> tuple[float, float]:
    """Marginal seconds and peak memory of the judge in one worker."""
    outline = Outline.of(nb.instructor())
    times = []
    with Sandbox() as sandbox, Peak(os.getpid()) as peak:
        for i, data in enumerate([submissions[0], *submissions]):
            start = time.perf_counter()
            result = grade(data, outline, secret=b"benchmark" * 4, student=f"student{i:03}", place=sandbox)
            times.append(time.perf_counter() - start)
            assert result.mark == result.points, result
        time.sleep(0.6)
    return statistics.mean(times[1:]), peak.most


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--submissions", type=int, default=30)
    count = max(parser.parse_args().submissions, 4)
    exercises()
    submissions = [nb.submission(attention_scores=VARIED.format(i=i)) for i in range(count)]
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        rows["the judge, one worker"] = judge(submissions)
        rows["nbgrader autograde, stock"] = autograde(Path(folder, "stock"), True, submissions)
        rows["nbgrader autograde with the judge"] = autograde(Path(folder, "ours"), False, submissions)
        rows["the judge, one worker, again"] = judge(submissions)
    base = rows["nbgrader autograde, stock"][0]
    print(f"{count} submissions of {nb.LESSON}, milliseconds for one more")
    for name, (seconds, memory) in rows.items():
        print(f"{name:36} {seconds * 1000:9.1f} ms  {base / seconds:7.1f} times  {memory:7.0f} MB at most")


if __name__ == "__main__":
    main()
