"""What learners and authors wait for: the first check of a fresh kernel, `make site`, `grader build` of one lesson.

    python benchmarks/learner.py [--against COMMIT] [--runs 3] [--lesson 01] [kernel] [site] [build]

Seconds of the processors, medians of so many runs, and by the clock in brackets. With a commit all of it is measured
there too, in turn with this tree, in a worktree of its own with this environment; where something takes more than a
tenth longer here than there, the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jupyter_client.manager import start_new_kernel

os.environ.setdefault("OMP_NUM_THREADS", "1")
ROOT = Path(__file__).parents[1]
SLOWER, LEAST = 1.1, 0.1  # what may be chance, as a factor and in seconds
Times = tuple[float, float]
LEFT_OUT = (".git", ".venv*", ".cache", "__pycache__", "build", "dist", "node_modules", "site")
# As lesson 00 begins. torch comes first: its import is not the course's.
CELLS = {
    "import torch": "import torch\nfrom torch import Tensor",
    "import grader": "from grader import check, predict, show",
    "first check": "def first_steps(x: Tensor) -> Tensor:\n    return 2 * x + 1\ncheck(first_steps)",
    "second check": "check(first_steps)",
}
TIMED = "import time as _t\n_from = _t.process_time(), _t.perf_counter()\n{}\n"
TOLD = "print('@', _t.process_time() - _from[0], _t.perf_counter() - _from[1])"


def environment(tree: Path) -> dict[str, str]:
    """The variables with which this environment's Python takes the course from a tree, and remembers nobody's
    progress."""
    return {**os.environ, "PYTHONPATH": str(tree), "GRADER_PROGRESS": "off"}


def kernel(tree: Path, _lesson: str) -> dict[str, Times]:
    """What a learner waits for in a kernel that has just started, by what it is."""
    manager, client = start_new_kernel(kernel_name="python3", env=environment(tree), cwd=str(tree))
    times = {}
    try:
        for name, source in CELLS.items():
            said: list[str] = []
            reply = client.execute_interactive(
                TIMED.format(source) + TOLD,
                output_hook=lambda message, said=said: said.append(message["content"].get("text", "")),
                timeout=300,
            )
            if reply["content"]["status"] != "ok":
                raise SystemExit(json.dumps(reply["content"], indent=1))
            (line,) = (line for line in "".join(said).splitlines() if line.startswith("@"))
            worked, passed = map(float, line.split()[1:])
            times[name] = worked, passed
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    return times


def site(tree: Path, _lesson: str) -> dict[str, Times]:
    """`make site`, with the students' package."""
    with tempfile.TemporaryDirectory() as out:
        return {"make site": command(tree, tree, "-m", "website", "--out", out)}


def build(tree: Path, lesson: str) -> dict[str, Times]:
    """`grader build` of one lesson in a copy of the repository that has no cache: from nothing, and once more."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "copy")
        shutil.copytree(tree, folder, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
        words = ("-m", "grader", "build", lesson)
        return {f"build {lesson}": command(tree, folder, *words), "build again": command(tree, folder, *words)}


def command(tree: Path, folder: Path, *words: str) -> Times:
    """The seconds of a command of Python's: of the processors, and by the clock."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    variables = {name: value for name, value in environment(tree).items() if name != "CI"}  # CI ignores the cache
    done = subprocess.run([sys.executable, *words], cwd=folder, env=variables, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{tree}: {' '.join(words)} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    worked = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return worked, time.perf_counter() - start


@contextmanager
def trees(commit: str) -> Iterator[dict[str, Path]]:
    """This tree, and that of a commit if there is one, by name."""
    if not commit:
        yield {"here": ROOT}
        return
    with tempfile.TemporaryDirectory() as name:
        place = Path(name, "tree")
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", place, commit], cwd=ROOT, check=True)
        (place / "node_modules").symlink_to(ROOT / "node_modules")
        try:
            yield {"here": ROOT, commit: place}
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", place], cwd=ROOT, check=True)


PARTS = {"kernel": kernel, "site": site, "build": build}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="all without an argument")
    parser.add_argument("--against", default="", metavar="COMMIT")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--lesson", default="01")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start, {options.runs} runs")
    slower = []
    with trees(options.against) as places:
        print(f"{'seconds':16}" + "".join(f"{name:>20}" for name in places))
        for part in options.parts or PARTS:
            runs: dict[str, list[dict[str, Times]]] = {name: [] for name in places}
            for _ in range(options.runs):
                for name, place in places.items():
                    runs[name].append(PARTS[part](place, options.lesson))
            for step in runs["here"][0]:
                columns = [_medians([one[step] for one in runs[name]]) for name in places]
                print(
                    f"{step:16}" + "".join(f"{worked:11.2f} ({passed:6.2f})" for worked, passed in columns), flush=True
                )
                (worked, _passed), *others = columns
                slower += [step for other, _ in others if worked > max(other * SLOWER, other + LEAST)]
    print(f"load {os.getloadavg()[0]:.1f} at the end")
    if slower:
        raise SystemExit(f"slower than at {options.against}: {', '.join(slower)}")


def _medians(times: list[Times]) -> Times:
    worked, passed = zip(*times, strict=True)
    return statistics.median(worked), statistics.median(passed)


if __name__ == "__main__":
    main()
