"""Which system calls honest code makes in the judge's child: every right sample, every lesson's solution with all of
its worked examples, and the honest cells of the judge's tests.

    python tests/system_calls.py [--plain] [--keep FILE]

It needs strace, which the sandbox starts behind. Counted is what a child and its threads ask for once they are under
the filter. `--plain` leaves out bubblewrap. Printed are the calls with how often each was made and what the filter
answered: EPERM for one that is not in the table of grader/subject/seccomp.py.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from grader.authoring.samples import submissions  # noqa: E402
from grader.exercises.registry import exercises  # noqa: E402
from grader.judge import grading, sandbox  # noqa: E402
from grader.judge.limits import Limits  # noqa: E402
from grader.judge.outline import Outline  # noqa: E402
from grader.spec.evaluate import evaluate  # noqa: E402
from grader.subject import Request  # noqa: E402
from grader.subject.forked import ForkedSubject  # noqa: E402

# A traced process is slow.
LIMITS = Limits(check_seconds=300, cell_seconds=600, submission_seconds=1800)
LINE = re.compile(r"(?P<pid>\d+) +(?:<\.\.\. )?(?P<call>\w+)(?P<rest>.*)")
RESULT = re.compile(r"\) += (?P<value>-?\d+|\?)(?: (?P<error>E[A-Z]+))?")


class Traced(sandbox.Sandbox):
    """A sandbox whose zygote is traced, with whatever it forks, into a file."""

    trace = Path()

    def _start_behind(self, command: list[str]) -> None:
        super()._start_behind(["strace", "-f", "-qq", "-s", "0", "-o", str(self.trace), *command])


def samples(place: sandbox.Sandbox) -> list[str]:
    """Check every right sample; those that lost marks."""
    known, lost, seconds = exercises(), [], LIMITS.check_seconds
    for one in [one for one in submissions() if not one.mistake]:
        with ForkedSubject(place) as subject:
            subject.ask(Request("run", source=one.source, seconds=seconds))
            exercise = known[one.exercise]
            if not evaluate(exercise, subject, seed=b"a secret", larger=True, seconds=seconds, exercises=known).passed:
                lost.append(str(one))
    return lost


def lessons(place: sandbox.Sandbox) -> list[str]:
    """Grade every lesson's solution, its worked examples included; those that lost marks."""
    lost = []
    for path in sorted((ROOT / "solutions").glob("*.ipynb")):
        data = path.read_bytes()
        outline = Outline.of(data)
        result = grading.grade(data, outline, secret=b"a secret", student="ann", sandbox=place, limits=LIMITS)
        if [one for one in result.exercises if not one.passed]:
            lost.append(f"{path.stem}: {result.mark:g}")
    return lost


def honest(place: sandbox.Sandbox) -> list[str]:
    """Run what honest notebooks do beside their exercises."""
    from tests.judge.test_honest import HONEST

    lost = []
    for title, source in HONEST.items():
        with ForkedSubject(place) as subject:
            subject.ask(Request("run", source="import torch\nfrom torch import nn", seconds=60))
            for cell in (source, "product(torch.ones(2, 2), torch.ones(2, 2))"):
                outcome = subject.ask(Request("run", source=cell, seconds=60))
            if not outcome.ok:
                lost.append(f"{title}: {outcome.raised or outcome.status}")
    return lost


def confined(lines: Iterable[str]) -> tuple[Counter[str], dict[str, Counter[str]]]:
    """How often each call was made by a process under the filter or one of its threads, and which errors it gave."""
    calls: Counter[str] = Counter()
    errors: defaultdict[str, Counter[str]] = defaultdict(Counter)
    waiting: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)  # of threads whose maker isn't known yet
    inside: set[str] = set()

    def count(call: str, rest: str) -> None:
        calls[call] += "resumed>" not in rest.partition(")")[0]
        if (result := RESULT.search(rest)) and result["error"]:
            errors[call][result["error"]] += 1

    for line in lines:
        if not (match := LINE.match(line)) or match["call"] in ("exited", "killed"):
            continue
        pid, call, rest = match["pid"], match["call"], match["rest"]
        if pid not in inside:
            waiting[pid].append((call, rest))
            if call == "prctl" and "PR_SET_SECCOMP" in rest:
                inside.add(pid)
                waiting.pop(pid)
            continue
        count(call, rest)
        result = RESULT.search(rest)
        if call in ("clone", "clone3") and result and result["value"].isdigit() and result["value"] != "0":
            inside.add(result["value"])
            for earlier in waiting.pop(result["value"], []):
                count(*earlier)
    return calls, errors


def main() -> int:
    """1 if an honest answer lost marks."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--plain", action="store_true", help="without bubblewrap")
    words.add_argument("--keep", type=Path, help="keep what strace wrote in this file")
    asked = words.parse_args()
    if asked.plain:
        sandbox.bubblewraps = lambda: iter(())
    grading.without_unneeded_examples = lambda _names, work: work  # type: ignore[assignment]
    with tempfile.TemporaryDirectory() as folder:
        Traced.trace = asked.keep or Path(folder, "trace")
        with Traced(replace(LIMITS, memory=2 * LIMITS.memory)) as place:
            lost = [one for kind in (honest, samples, lessons) for one in kind(place)]
            print(f"confinement: {place.confinement}", flush=True)
        with Traced.trace.open(errors="replace") as lines:
            calls, errors = confined(lines)
    for name, number in calls.most_common():
        said = ", ".join(f"{count} {error}" for error, count in errors.get(name, Counter()).most_common())
        print(f"{number:9} {name}{f': {said}' if said else ''}")
    print(f"{len(calls)} calls. Lost marks: {len(lost)}")
    print("\n".join(lost))
    return int(bool(lost))


if __name__ == "__main__":
    sys.exit(main())
