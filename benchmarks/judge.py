"""What one more submission costs: nbgrader's stock autograder on lesson 01, and the judge on it and on every lesson.

    python benchmarks/judge.py [--submissions 30]

"Marginal" is what one more submission costs once everything is running. For nbgrader it is the time of a batch less
that of a batch of one, by submission; for the judge the mean over a batch in one worker that has graded one before.
The judge is measured before and after nbgrader, and the load of the machine is printed: it counts when others compute.
The other lessons are measured with their model solutions, in bubblewrap: where one more of any lesson takes more than
a tenth of what nbgrader's stock takes for one of lesson 01, the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

os.environ.setdefault("OMP_NUM_THREADS", "1")
ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from grader.exercises.registry import exercises  # noqa: E402
from grader.judge.grading import grade  # noqa: E402
from grader.judge.outline import Outline  # noqa: E402
from grader.judge.result import CONFINED, IN_BUBBLEWRAP  # noqa: E402
from grader.judge.sandbox import Sandbox  # noqa: E402
from grader.source.create import create  # noqa: E402

BIN = Path(sys.executable).parent
LESSON = "01_self_attention"
SOLVED = ROOT / "solutions" / f"{LESSON}.ipynb"
STOCK = "c = get_config()\nc.CourseDirectory.course_id = 'attention'\n"
TENTH = 0.1
VARIED = "def attention_scores(query, key):\n    # student {i}\n    return query @ key.transpose(-2, -1)"


class Peak:
    """The largest memory, `most`, that a process and its descendants hold at once (shared pages counted once), in MB,
    while the block runs."""

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
            self.most = max(self.most, sum(map(self._size, self.family())) / 1024)

    def family(self) -> list[int]:
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
    """A course directory with lesson 01 generated and the submissions collected; with `stock` nbgrader's own
    preprocessors."""
    solutions = folder / "solutions"
    solutions.mkdir(parents=True)
    shutil.copy(SOLVED, solutions)
    place = folder / "course"
    create(place, solutions, "attention")
    if stock:
        (place / "nbgrader_config.py").write_text(STOCK)
    else:
        with (place / "nbgrader_config.py").open("a") as file:
            file.write("c.JudgingExporter.add_students = True\n")
    run(place, "generate_assignment", LESSON)
    for i, data in enumerate(submissions):
        submitted = place / "submitted" / f"student{i:03}" / LESSON
        submitted.mkdir(parents=True)
        (submitted / f"{LESSON}.ipynb").write_bytes(data)
    return place


@dataclass(frozen=True)
class Cost:
    """Seconds on the clock and of the processors, and the largest memory in MB."""

    seconds: float
    cpu: float
    memory: float = 0.0


def run(place: Path, *command: str) -> Cost:
    """The cost of one nbgrader command in a course; the program ends if it fails."""
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    start, before = time.perf_counter(), children()
    with (place / "log.txt").open("w") as log:
        process = subprocess.Popen([BIN / "nbgrader", *command], cwd=place, env=environment, stdout=log, stderr=log)
        with Peak(process.pid) as peak:
            process.wait()
    if process.returncode:
        raise SystemExit((place / "log.txt").read_text()[-3000:])
    return Cost(time.perf_counter() - start, children() - before, peak.most)


def children() -> float:
    """Seconds of the processors that this program's ended children have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def autograde(folder: Path, stock: bool, submissions: list[bytes]) -> Cost:
    """What one more submission costs with `nbgrader autograde`; with `stock` its own preprocessors, else ours."""
    place = course(folder, stock, submissions)
    run(place, "autograde", LESSON, "--student=student000")  # makes the gradebook
    one = run(place, "autograde", LESSON, "--student=student001")
    rest = run(place, "autograde", LESSON)  # those that are left
    more = len(submissions) - 3
    return Cost((rest.seconds - one.seconds) / more, (rest.cpu - one.cpu) / more, rest.memory)


def judge(submissions: list[bytes], bubblewrap: bool, solved: Path = SOLVED) -> Cost:
    """What one more submission costs the judge in one worker, with or without bubblewrap; `solved` is the executed
    notebook of the lesson. Its memory is looked at afterwards, which takes time itself."""
    outline = Outline.of(solved.read_bytes())

    def grade_all(some: list[bytes]) -> None:
        for i, data in enumerate(some):
            result = grade(data, outline, secret=b"benchmark" * 4, student=f"student{i:03}", sandbox=sandbox)
            assert result.mark == result.points, result

    with mock.patch.dict(os.environ, {} if bubblewrap else {"PATH": ""}), Sandbox() as sandbox:
        assert sandbox.confinement == (IN_BUBBLEWRAP if bubblewrap else CONFINED), sandbox.no_bubblewrap
        grade_all(submissions[:1])
        start, before = time.perf_counter(), time.process_time() + _zygote(sandbox)
        grade_all(submissions)
        seconds, cpu = time.perf_counter() - start, time.process_time() + _zygote(sandbox) - before
        with Peak(os.getpid()) as peak:
            grade_all(submissions)
            time.sleep(0.6)
    return Cost(seconds / len(submissions), cpu / len(submissions), peak.most)


def _zygote(sandbox: Sandbox) -> float:
    """The seconds of the processors that a zygote, its ended children and bubblewrap have used."""
    used = 0
    for pid in Peak(sandbox.pid).family():
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        used += sum(map(int, fields[11:15]))
    return used / os.sysconf("SC_CLK_TCK")


def submission(number: int) -> bytes:
    """The solved notebook of lesson 01 as bytes, outputs and all, with one answer in the words of student `number`."""
    notebook = json.loads(SOLVED.read_text())
    cell = next(cell for cell in notebook["cells"] if cell["id"] == "attention_scores-solution")
    cell["source"] = VARIED.format(i=number)
    return json.dumps(notebook).encode()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--submissions", type=int, default=30)
    count = max(parser.parse_args().submissions, 4)
    exercises()
    submissions = [submission(i) for i in range(count)]
    load = [os.getloadavg()[0]]
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        rows["the judge, in bubblewrap"] = judge(submissions, bubblewrap=True)
        rows["the judge, without"] = judge(submissions, bubblewrap=False)
        rows["nbgrader autograde, stock"] = autograde(Path(folder, "stock"), True, submissions)
        rows["nbgrader autograde with the judge"] = autograde(Path(folder, "ours"), False, submissions)
        rows["the judge, in bubblewrap, again"] = judge(submissions, bubblewrap=True)
        rows["the judge, without, again"] = judge(submissions, bubblewrap=False)
    for solved in sorted(SOLVED.parent.glob("*.ipynb")):
        rows[f"the judge, {solved.stem}"] = judge([solved.read_bytes()] * 5, bubblewrap=True, solved=solved)
    load.append(os.getloadavg()[0])
    print(f"{count} submissions of {LESSON}, 5 of each lesson; load {load[0]:.1f} to {load[1]:.1f}")
    print(f"{'milliseconds for one more':40}{'clock':>9}{'times':>8}{'CPU':>9}{'times':>8}{'MB at most':>12}")
    stock = rows["nbgrader autograde, stock"]
    for name, cost in rows.items():
        clock, cpu = stock.seconds / cost.seconds, stock.cpu / cost.cpu
        print(f"{name:40}{cost.seconds * 1e3:9.1f}{clock:8.1f}{cost.cpu * 1e3:9.1f}{cpu:8.1f}{cost.memory:12.0f}")
    slow = [name for name, cost in rows.items() if "judge," in name and cost.seconds > TENTH * stock.seconds]
    if slow:
        raise SystemExit(f"more than a tenth of nbgrader's stock: {'; '.join(slow)}")


if __name__ == "__main__":
    main()
