"""A class on several machines: submissions a second with 1, 2 and 4 workers, and what goes through the network.

    python benchmarks/machines.py [--submissions 60] [--few 12] [--workers 1,2,4]

Every machine is a network namespace of this one (tools/machines.py), so all of them share its cores: with more workers
than cores the rate can't grow. It needs root. What one more submission of lesson 01 takes is told from two runs on the
same cluster, over a few submissions and over more: by the clock, in seconds of the processors (of the command, of the
scheduler, of a worker with its sandbox) and in bytes that cross the cables, all headers included.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.batch import course  # noqa: E402
from tools import notebooks as nb  # noqa: E402
from tools.machines import Cluster  # noqa: E402

COLUMNS = ("clock", "command", "scheduler", "workers", "sent", "received")


def run(cluster: Cluster, made: Path, name: str) -> dict[str, float]:
    """Grade a course on the cluster: the seconds by the clock, those of the processors, and the bytes that the
    teacher's machine has sent and received."""
    place = Path(shutil.copytree(made, cluster.teacher.home / name))
    start, before = time.perf_counter(), _state(cluster)
    options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    process = cluster.autograde(place, nb.LESSON, "--add-students", **options)
    assert process.stderr is not None
    said = process.stderr.read()
    _pid, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(said)
    after = _state(cluster)
    used = {"clock": time.perf_counter() - start, "command": usage.ru_utime + usage.ru_stime}
    return used | {key: after[key] - before[key] for key in before}


def _state(cluster: Cluster) -> dict[str, float]:
    sent, received = cluster.teacher.traffic()
    workers = sum(worker.processor_seconds() for worker in cluster.workers)
    return {
        "scheduler": cluster.scheduler.processor_seconds(),
        "workers": workers,
        "sent": float(sent),
        "received": float(received),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submissions", type=int, default=60)
    parser.add_argument("--few", type=int, default=12)
    parser.add_argument("--workers", default="1,2,4")
    options = parser.parse_args()
    count, few = options.submissions, options.few
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start")
    print(f"one more hand-in of {nb.LESSON}, from {few} to {count} of them")
    print(f"{'workers':>7} {'a second':>9}" + "".join(f"{name:>11}" for name in COLUMNS))
    with tempfile.TemporaryDirectory() as name:
        small, large = (course(Path(name, str(size)), False, size) for size in (few, count))
        size = (large / "submitted" / "student0000" / nb.LESSON / f"{nb.LESSON}.ipynb").stat().st_size
        for workers in map(int, options.workers.split(",")):
            with Cluster(workers) as cluster:
                run(cluster, small, "warm")  # the scheduler and the workers import the course once
                first, second = run(cluster, small, "small"), run(cluster, large, "large")
            more = {key: (second[key] - first[key]) / (count - few) for key in COLUMNS}
            figures = "".join(f"{more[key]:11.3f}" if more[key] < 100 else f"{more[key]:11.0f}" for key in COLUMNS)
            print(f"{workers:7} {1 / more['clock']:9.2f}{figures}   all: {second['clock']:.1f} s", flush=True)
    print(f"seconds and bytes for each; a notebook has {size} bytes; load {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
