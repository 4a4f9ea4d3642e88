"""`make test` and `make test-more`: run the checks of the project, stage by stage, and print how long each took.

All stages run, whatever fails. `python tests/stages.py lint types` runs the stages named.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
RUNNING: set[subprocess.Popen[str]] = set()  # the programs of the stages that run now
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
# One process a core, each with one thread: more of either only gets in the way. A file is one worker's: what its tests
# share is made once, and a notebook is one kernel. In the order of the folders: else files with few tests come last,
# and those that grade whole classes are the longest.
WORKERS = ["-n", str(min(os.cpu_count() or 1, 8)), "--dist", "loadfile", "--no-loadscope-reorder"]
# What anybody runs, without a plug-in and without a variable of ours: `pytest --nbval solutions notebooks`.
NBVAL = ["pytest", "--nbval", "solutions", "notebooks", "-n", "2", "--dist", "loadfile"]
# What of tests/judge runs as another user each time.
OTHERS = ["tests/judge/test_honest.py"]
# What goes through whole commands, a cluster or a sandbox of its own, or a thousand samples: `make test-more`.
WHOLE = [
    "tests/batch",
    "tests/feedback",
    "tests/nbgrader_plugins",
    *(f"tests/judge/test_{name}.py" for name in ("awkward", "escape", "process_settings", "sandbox")),
    *(f"tests/judge/test_threats_{name}.py" for name in ("code", "package")),
    "tests/authoring/test_spoilt.py",
    *(f"tests/exercises/test_{name}.py" for name in ("device", "process_settings")),
    "tests/exercises/test_statements.py::test_what_is_said_of_mutants_is_true",
    "tests/exercises/test_submissions.py::test_wrong_submission_loses_marks_and_is_named",
    "tests/lessons/test_lesson_08_figures.py",
    "tests/handed_in/test_order.py::test_whatever_write_a_collecting_is_cut_off_at_the_next_one_makes_it_whole",
    *(
        f"tests/source/test_source.py::test_{name}"
        for name in ("the_page_runs_as_it_is_written", "every_command_that_an_update_prints_works")
    ),
]
# What takes longest and rarely breaks: whole terms and classes, commands that are killed, several users.
SLOW = [
    "tests/demo",
    "tests/term/test_faults.py",
    *(f"tests/batch/test_{name}.py" for name in ("best", "faults", "hand_in", "killed", "other_users")),
    *(f"tests/batch/test_{name}.py" for name in ("machines", "names", "own_cells", "postgres", "shared")),
    "tests/batch/test_own_exercise.py::test_the_page_from_start_to_end",
    "tests/batch/test_run.py::test_command_line",
    *(f"tests/batch/test_ctrl_c.py::test_{name}" for name in ("regrade", "collect_feedback_and_export", "watch")),
    "tests/batch/test_ctrl_c.py::test_autograde[impatiently]",
    "tests/batch/test_term.py::test_an_extension_before_somebody_hands_in_counts_when_they_do",
    "tests/batch/test_term.py::test_an_extension_in_one_lesson_gives_back_the_free_days_of_another",
    "tests/batch/test_term.py::test_lateness_follows_whatever_changes_after_grading",
    "tests/batch/test_uncollect.py::test_to_be_settled_is_said_in_every_list_and_export",
    "tests/batch/test_watch.py::test_one_who_never_ends_holds_up_nobody",
    "tests/batch/test_regrade.py::test_learners_file_and_the_class_before_and_after_a_correction",
    *(f"tests/course/test_{name}.py" for name in ("forget", "sharing")),
    "tests/nbgrader_plugins/test_not_activated.py",
    "tests/nbgrader_plugins/test_nbgrader.py::test_without_a_sandbox_grading_refuses_unless_told_and_then_says_so",
    "tests/judge/test_awkward.py::test_the_marks_of_stock_nbgrader_are_those_in_the_file",
    "tests/judge/test_pipe.py::test_fault_that_reaches_the_judge_is_a_flagged_result_and_the_next_is_graded",
    *(f"tests/authoring/test_{name}.py" for name in ("mutants", "new")),
    "tests/lessons/test_interrupted.py",
]
# What else has docstrings with examples: tools of the tests, the site, the metadata of the package.
EXAMPLES = ["tests/stages.py", "tests/lessons/printed.py", "setup.py", "website"]


def without(paths: list[str]) -> list[str]:
    """pytest's options that leave these files, folders and tests out."""
    return [f"--{'deselect' if '::' in path else 'ignore'}={path}" for path in paths]


STAGES: dict[str, list[list[str]]] = {
    # Chromium, node, bubblewrap, and what npm fetches: a linter, axe-core.
    "programs": [[sys.executable, "tests/programs.py"]],
    "lint": [["ruff", "check", "."], ["ruff", "format", "--check", "."]],
    "types": [["mypy"]],
    "web": [
        ["npm", "run", "--silent", "lint"],
        ["npm", "run", "--silent", "test"],
    ],
    "unit": [
        [
            *PYTEST,
            *WORKERS,
            "--durations=40",
            "tests",
            *without([f"tests/{one}" for one in ("test_notebooks.py", "browser", "hub", "release", "website")]),
            *without(WHOLE + SLOW),
        ],
    ],
    # The stub that a notebook in the sandbox imports has an answer to every name, pytest's own included.
    "examples": [[*PYTEST, "--doctest-modules", "--ignore=grader/judge/inside", "grader", *EXAMPLES]],
    "build": [["grader", "build", "--check"]],
    "outputs": [NBVAL],
    "marks": [[*PYTEST, "tests/test_notebooks.py"]],
    "whole": [[*PYTEST, *WORKERS, "--durations=40", *WHOLE, *without(SLOW)]],
    # As nobody where this is root, and as root where it isn't. `make test-other-user` runs all of tests/judge so.
    "other-user": [[sys.executable, "tools/another_user.py", *PYTEST, *OTHERS]],
    "browser": [[*PYTEST, "tests/browser"]],
    # The site, how long it took, and what is on its pages.
    "site": [[sys.executable, "-m", "website"], [*PYTEST, "tests/website"]],
    # Here tests/batch is shared among all workers: see tests/conftest.py.
    "slow": [[*PYTEST, *WORKERS, "--dist", "loadscope", *SLOW]],
    "release": [[*PYTEST, "tests/release"]],
}
# What runs as anybody would run it, without a variable of ours.
PLAIN = ("outputs",)
# `make test-more` runs the first of these, `make test-slow` the last two, `make test` all others.
LATER = ("whole", "other-user", "browser", "site", "slow", "release")
# These need what others install, so they come first.
FIRST = ("programs",)
# One process each, and most of them often wait, for a browser, for pip or for a kernel: these run beside all others,
# the longest first. On two cores one at a time: so both are busy to the end, also where tests of `unit` wait.
LANES = 1 if (os.cpu_count() or 1) < 3 else 2
BESIDE = ("site", "browser", "marks", "other-user", "build", "examples", "release")
# How pytest's lines on the tests that failed begin, and how many of a stage the table at the end repeats.
FAULTS = ("FAILED ", "ERROR ")
SHOWN = 10


@dataclass
class Outcome:
    """How a stage went; `counts` are pytest's, added up over its commands, `faults` its lines on tests that failed."""

    seconds: float = 0.0
    failed: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


def show(line: str) -> None:
    """Print a line as it comes."""
    print(line, end="", flush=True)


def variables(*, plain: bool = False) -> dict[str, str]:
    """The variables of a stage's commands. With `plain` they are those of whoever calls `make test`, in an environment
    that is activated."""
    environment = dict(os.environ)
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment.get('PATH', '')}"
    if plain:
        return environment
    # A test run is nobody's progress. Where this number is set, pytest doesn't cut what it says last of failed tests.
    environment |= {"OMP_NUM_THREADS": "1", "GRADER_PROGRESS": "off", "BUILD_NUMBER": "1"}
    # Some hundred Pythons start, and all would compile the same files.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment.setdefault("SAMPLES", "first")  # see tests/exercises/test_submissions.py
    return environment


def run_stage(
    commands: list[list[str]], tell: Callable[[str], object] = show, environment: dict[str, str] | None = None
) -> Outcome:
    """Run a stage's commands, all of them, and `tell` the lines that they print."""
    start, outcome = time.monotonic(), Outcome()
    for command in commands:
        tell(f"$ {' '.join(['python' if part == sys.executable else part for part in command])}\n")
        with subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment or variables(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            assert process.stdout is not None
            RUNNING.add(process)
            last = ""
            for line in process.stdout:
                tell(line)
                last = line
                if line.startswith(FAULTS):
                    outcome.faults.append(line.rstrip())
        RUNNING.discard(process)
        outcome.failed |= process.returncode != 0
        if "pytest" in command:
            outcome.counts.update(summary(last))
    outcome.seconds = time.monotonic() - start
    return outcome


def summary(line: str) -> dict[str, int]:
    """The counts of pytest's last line.

    >>> summary("1 failed, 98 passed, 2 skipped in 36.08s")
    {'failed': 1, 'passed': 98, 'skipped': 2}
    """
    found = re.findall(r"(\d+) (passed|failed|skipped|error|xfailed|xpassed)", line)
    return {word: int(number) for number, word in found}


def report(outcomes: dict[str, Outcome], seconds: float) -> str:
    """A table of the stages, the tests that failed, and in the last line the sum of it all and the seconds it took."""
    lines = [f"{'stage':10} {'seconds':>8}  result"]
    total: Counter[str] = Counter()
    for name, outcome in outcomes.items():
        total.update(outcome.counts)
        verdict = "FAILED" if outcome.failed else "passed"
        lines.append(f"{name:10} {outcome.seconds:8.1f}  {verdict}  {_listed(outcome.counts)}".rstrip())
    for name, outcome in outcomes.items():
        lines += [f"{name}: {fault[:300]}" for fault in outcome.faults[:SHOWN]]
        if len(outcome.faults) > SHOWN:
            lines.append(f"{name}: and {len(outcome.faults) - SHOWN} more")
    failed = [name for name, outcome in outcomes.items() if outcome.failed]
    verdict = f"stages failed: {', '.join(failed)}" if failed else f"all {len(outcomes)} stages passed"
    return "\n".join([*lines, f"=== {verdict}; tests: {_listed(total) or 'none'} in {seconds:.1f}s ==="])


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{number} {word}" for word, number in sorted(counts.items()))


def main(wanted: list[str]) -> int:
    """Run the stages wanted, or all of `make test`; the exit code is 1 if any failed."""
    unknown = [name for name in wanted if name not in STAGES]
    if unknown:
        print(f"no stage {unknown[0]!r}; there are: {', '.join(STAGES)}", file=sys.stderr)
        return 2
    start = time.monotonic()
    usual = [name for name in STAGES if name not in LATER]
    names = sorted(wanted or usual, key=lambda name: name not in FIRST)
    outcomes: dict[str, Outcome] = {}
    lines: dict[str, list[str]] = {name: [] for name in BESIDE if name in names}
    with ThreadPoolExecutor(LANES) as pool:
        running = {}
        for name in names:
            if name not in FIRST and not running:
                running = {one: pool.submit(run_stage, STAGES[one], lines[one].append) for one in lines}
            if name not in BESIDE:
                print(f"\n=== {name} ===", flush=True)
                outcomes[name] = run_stage(STAGES[name], environment=variables(plain=name in PLAIN))
        for name, future in running.items():
            outcomes[name] = future.result()
            print(f"\n=== {name} ===\n{''.join(lines[name])}", flush=True)
    print(f"\n{report(outcomes, time.monotonic() - start)}")
    return 1 if any(outcome.failed for outcome in outcomes.values()) else 0


def end_with_children(number: int, _frame: object) -> None:
    """Interrupt what the stages run, as Ctrl+C does, so that pytest ends its workers and sandboxes, and leave."""
    for process in list(RUNNING):
        process.send_signal(signal.SIGINT)
    os._exit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, end_with_children)
    sys.exit(main(sys.argv[1:]))
