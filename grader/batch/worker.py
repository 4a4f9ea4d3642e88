"""What runs on a Dask worker: a plug-in that owns the sandbox, and the task that grades one submission."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from distributed import Worker, WorkerPlugin, get_worker

from grader.batch.finish import Finished, Release, finish
from grader.batch.key import Terms, specifications
from grader.judge.outline import Outline
from grader.judge.result import Result


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

    def __init__(self, terms: Terms, version: str) -> None:
        self.terms, self.version = terms, version
        self._place: Any = None

    def setup(self, worker: Worker) -> None:
        """Start the zygote. What is wrong here (no sandbox, another version) ends the command before it grades."""
        if specifications() != self.version:
            raise OtherVersion(f"{worker.address} has another version of the course's package installed.")
        self._alone = threading.Lock()
        self.place()

    def teardown(self, worker: Worker) -> None:
        """End the zygote."""
        if self._place is not None:
            self._place.close()
            self._place = None

    def place(self) -> Any:
        """The zygote, started if there is none."""
        from grader.judge.sandbox import OpenZygote, Sandbox

        if self._place is None:
            kind = Sandbox if self.terms.sandboxed else OpenZygote
            self._place = kind(self.terms.limits)
        return self._place

    @cached_property
    def outline(self) -> Outline:
        """Made once a worker."""
        return Outline.of(self.terms.instructor)

    def grade(self, task: Task) -> Result:
        """Grade a submission. If the zygote dies meanwhile, another one is started, once."""
        from grader.subject.forked import ZygoteGone

        with self._alone:
            try:
                return self._graded(task)
            except ZygoteGone:
                self.teardown(get_worker())
                return self._graded(task)

    def _graded(self, task: Task) -> Result:
        from grader.judge.grading import grade

        result = grade(task.data, self.outline, secret=self.terms.secret, student=task.student, place=self.place())
        return replace(result, unreadable=task.why) if task.why else result


def judge(name: str, task: Task, release: Release) -> tuple[dict[str, Any], Finished]:
    """The task: the result as plain data, and what becomes of it. `name` is the plug-in's."""
    plugin = get_worker().plugins[name]
    assert isinstance(plugin, Judge)
    result = plugin.grade(task)
    return result.to_plain(), finish(result, task.data, plugin.terms, release)
