"""Shared fixtures."""

from __future__ import annotations

import gc
import itertools
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

# Before torch is imported: two workers on two cores gain nothing from more threads.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# A test run is nobody's progress.
os.environ["GRADER_PROGRESS"] = "off"

import pytest

from grader.subject import Request, Subject
from grader.subject.forked import ForkedSubject
from grader.subject.local import LocalSubject
from grader.subject.zygote import Zygote

MOST_FILES = 40  # in the list of slow ones


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """`--dist loadfile`, but all of tests/batch is one worker's: its tests share a cluster and a course."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "tests/batch" if nodeid.startswith("tests/batch/") else super()._split_scope(nodeid)

    return Scheduling(config, log) if config.option.dist == "loadfile" else None


def pytest_configure() -> None:
    """Few garbage collections: most of what tests make is gone without them, and they take a tenth of the time."""
    gc.set_threshold(50_000, 20, 20)


def pytest_collection_finish() -> None:
    """What was imported stays to the end: no garbage collection has to look through it again."""
    gc.freeze()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """With `--durations`, what each file costs: many quick tests of one file stand in no list of slow tests."""
    if not terminalreporter.config.option.durations:
        return
    seconds, tests = Counter[str](), Counter[str]()
    for report in itertools.chain.from_iterable(terminalreporter.stats.values()):
        if isinstance(report, pytest.TestReport):
            seconds[report.location[0]] += report.duration
            tests[report.location[0]] += report.when == "call"
    terminalreporter.section("slowest files")
    for file, spent in seconds.most_common(MOST_FILES):
        terminalreporter.line(f"{spent:8.1f}s  {tests[file]:5} tests  {file}")


@pytest.fixture(autouse=True)
def no_shell_is_left() -> Iterator[None]:
    """The shell of a notebook that ran in this process goes with its test: a later one that starts a kernel would be
    taken for a kernel itself."""
    yield
    if shell := sys.modules.get("grader.subject.shell"):
        shell.Shell.clear_instance()


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    """One zygote for a worker's whole run."""
    with Zygote() as running:
        yield running


@pytest.fixture(params=["same process", "forked process"])
def subject_of(request: pytest.FixtureRequest, zygote: Zygote) -> Iterator[Callable[[str], Subject]]:
    """Makes a subject of either kind from a submission's source."""
    opened: list[ForkedSubject] = []

    def make(source: str) -> Subject:
        subject: Subject
        if request.param == "same process":
            subject = LocalSubject({"__name__": "__main__"})
        else:
            subject = ForkedSubject(zygote)
            opened.append(subject)
        # Generous: a submission's own imports may take seconds where other tests run beside it.
        outcome = subject.ask(Request("run", source=source, seconds=60))
        assert outcome.ok, outcome
        return subject

    make.kind = request.param  # type: ignore[attr-defined]
    yield make
    for subject in opened:
        subject.close()
