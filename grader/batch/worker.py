"""What runs on a Dask worker: a plug-in that owns the sandbox, and the task that grades one submission."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from distributed import Worker, WorkerPlugin, get_worker

from grader.batch.finish import Finished, Release, finish
from grader.batch.key import GradingSettings, specifications
from grader.judge.outline import Outline
from grader.judge.result import SubmissionResult
from grader.judge.sandbox import HandedOver, OpenZygote, Sandbox
from grader.subject.zygote import ZygoteGone


@dataclass(frozen=True)
class Task:
    """One submission: its bytes, or why there are none."""

    student: str
    data: bytes
    why: str = ""


class OtherVersion(RuntimeError):
    """A worker has another version of the course's package than the command."""


class Judge(WorkerPlugin):
    """Holds the terms and a zygote in its sandbox, from the plug-in's registration to its end. It grades one submission
    at a time; a worker with more threads gains nothing by them."""

    # Registered twice, it stays as it is.
    idempotent = True

    def __init__(self, terms: GradingSettings, version: str, sandboxes: Mapping[int, HandedOver] | None = None) -> None:
        """`sandboxes` are in the making for workers of these names, who are on the command's own machine."""
        self.terms, self.version, self._sandboxes = terms, version, sandboxes or {}
        self._place: Any = None

    def setup(self, worker: Worker) -> None:
        """Start the zygote. What is wrong here (no sandbox, another version) ends the command before it grades."""
        if specifications() != self.version:
            raise OtherVersion(f"{worker.address} has another version of the course's package installed.")
        self._alone = threading.Lock()
        given = self._sandboxes.get(worker.name) if isinstance(worker.name, int) else None
        # The zygote imports torch, a matter of seconds, and this process does the same beside it.
        with ThreadPoolExecutor(1) as beside:
            ready = beside.submit(importlib.import_module, "grader.batch.ready")
            self._place = given.take_over() if given is not None else None
            self.place()
            ready.result()

    def teardown(self, worker: Worker) -> None:
        """End the zygote."""
        if self._place is not None:
            self._place.close()
            self._place = None

    def place(self) -> Any:
        """The zygote, started if there is none."""
        if self._place is None:
            kind = Sandbox if self.terms.sandboxed else OpenZygote
            self._place = kind(self.terms.limits)
        return self._place

    @cached_property
    def outline(self) -> Outline:
        """Made once a worker."""
        return Outline.of(self.terms.instructor)

    def grade(self, task: Task, meanwhile: Callable[[], object]) -> SubmissionResult:
        """Grade a submission. If the zygote dies meanwhile, another one is started, once."""
        with self._alone:
            try:
                return self._graded(task, meanwhile)
            except ZygoteGone:
                self.teardown(get_worker())
                return self._graded(task, meanwhile)

    def _graded(self, task: Task, meanwhile: Callable[[], object]) -> SubmissionResult:
        from grader.judge.grading import grade

        secret, student = self.terms.secret, task.student
        result = grade(task.data, self.outline, secret=secret, student=student, place=self.place(), meanwhile=meanwhile)
        return replace(result, unreadable=task.why) if task.why else result


Judged = tuple[dict[str, Any], Finished] | str


def judge(name: str, tasks: Sequence[Task], release: Release) -> list[Judged]:
    """What Dask runs, for some submissions: of each the result as plain data with what becomes of it, or why there is
    none. `name` is the plug-in's."""
    plugin = get_worker().plugins[name]
    assert isinstance(plugin, Judge)
    work = _Work(plugin, release)
    for task in tasks:
        work.judge(task)
    work.finish()
    return work.judged


class _Work:
    """Some submissions. One is finished while the next one's process is being made."""

    def __init__(self, plugin: Judge, release: Release) -> None:
        self._plugin, self._release = plugin, release
        self._open: tuple[Task, SubmissionResult] | None = None
        self.judged: list[Judged] = []

    def judge(self, task: Task) -> None:
        try:
            result = self._plugin.grade(task, meanwhile=self.finish)
        except Exception as error:
            self.finish()
            self.judged.append(failure(error))
        else:
            self.finish()
            self._open = task, result

    def finish(self) -> None:
        """Finish the last one, if it isn't yet."""
        if self._open is None:
            return
        (task, result), self._open = self._open, None
        try:
            self.judged.append((result.to_plain(), finish(result, task.data, self._plugin.terms, self._release)))
        except Exception as error:
            self.judged.append(failure(error))


def failure(error: Exception) -> str:
    """An error of the judge's own, in words."""
    return f"The judge failed: {type(error).__name__}: {error}"[:300]
