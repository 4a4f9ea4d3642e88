"""Whether right answers pass on a busy machine: every model solution and every right sample, checked as a learner does.

    python benchmarks/busy.py [--loops 8] [--times 3] [-k NAME]

Busy loops compute beside it, in a session of their own, as a class does on one hub. torch has as many threads as it
takes by itself. What is refused, or not judged yet, is listed; anything at all gives exit code 1.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
os.environ["GRADER_PROGRESS"] = "off"

import torch  # noqa: E402

from grader import check  # noqa: E402
from grader.authoring.model_solutions import model_solution  # noqa: E402
from grader.authoring.samples import submissions  # noqa: E402
from grader.exercises.registry import exercises  # noqa: E402


@contextlib.contextmanager
def busy(loops: int) -> Iterator[None]:
    """Inside the block, so many processes compute for nothing."""
    code = "while True: pass"
    processes = [subprocess.Popen([sys.executable, "-c", code], start_new_session=True) for _ in range(loops)]
    try:
        yield
    finally:
        for process in processes:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def answers(wanted: str) -> Iterator[tuple[str, str, str]]:
    """The exercise, the kind of answer, and its source, for exercises whose name holds `wanted`."""
    right = [one for one in submissions() if not one.mistake]
    for name, exercise in exercises().items():
        if wanted in name:
            yield name, "model solution", model_solution(exercise)
            yield from ((name, one.title, one.source) for one in right if one.exercise == name)


def main() -> None:
    """Check and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loops", type=int, default=8)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("-k", default="", help="Only exercises with this in their name.")
    options = parser.parse_args()
    print(
        f"{os.cpu_count()} cores, {options.loops} busy loops, torch with {torch.get_num_threads()} threads", flush=True
    )
    refused, longest, count = [], 0.0, 0
    with busy(options.loops):
        for number in range(options.times):
            for name, title, source in answers(options.k):
                namespace: dict[str, object] = {"__name__": "__main__"}
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(source, namespace)
                    start = time.monotonic()
                    report = check(namespace[name], name, practice=True)
                longest, count = max(longest, time.monotonic() - start), count + 1
                if not report.passed:
                    refused.append(f"{name}, {title}: {report.mark:g} of {report.points:g}\n{report}")
                    print(refused[-1], flush=True)
            load = os.getloadavg()[0]
            print(
                f"round {number + 1}: {count} checks, {len(refused)} refused; longest {longest:.1f} s, load {load:.1f}"
            )
    if refused:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
