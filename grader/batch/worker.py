"""What runs on a Dask worker: a plug-in that holds a judge, and the task that grades some submissions."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from distributed import Worker, WorkerPlugin, get_worker

from grader.book.rebuild import dump, rebuild
from grader.course.release import Release
from grader.judge.fingerprint import GradingSettings, version_for
from grader.judge.outline import outline_of

if TYPE_CHECKING:
    from grader.judge.judge import Judge


@dataclass(frozen=True)
class Task:
    """One submission: its bytes, or why there are none; `remarks` on which notebook it is; `quick`: within less time,
    see `Limits.quick`."""

    student: str
    data: bytes
    unreadable: str = ""
    remarks: tuple[str, ...] = ()
    quick: bool = False


@dataclass(frozen=True)
class Graded:
    """What came of a task: the result as plain data and the notebook for `autograded/`, or how grading failed."""

    result: dict[str, Any] | None = None
    notebook: bytes = b""
    failed: str = ""

    @property
    def timed_out(self) -> bool:
        """Whether anything took too long."""
        return self.result is not None and bool(self.result["timed_out"])


class OtherVersion(RuntimeError):
    """A worker has another version of the course's package than the command."""


class JudgePlugin(WorkerPlugin):
    """Holds a judge from the plug-in's registration to its end. It grades one submission at a time; a worker with more
    threads gains nothing by them."""

    # Registered twice, it stays as it is.
    idempotent = True

    def __init__(self, settings: GradingSettings, release: Release, version: str) -> None:
        self.settings, self.release, self.version = settings, release, version
        self.judge: Judge | None = None

    def setup(self, worker: Worker) -> None:
        """Start the judge. What is wrong here (no sandbox, another version) ends the command before it grades."""
        if version_for(self.settings.instructor) != self.version:
            raise OtherVersion(f"{worker.address} has another version of the course's package, or of torch.")
        # Only a worker needs torch: the command that reads this file doesn't.
        from grader.exercises.registry import exercises
        from grader.judge.judge import Judge

        exercises(outline_of(self.settings.instructor).own)  # says what is wrong with a file
        self._alone = threading.Lock()
        self.judge = Judge(
            self.settings.secret, self.settings.limits, self.settings.unsafe, self.settings.carry_forward
        )

    def teardown(self, worker: Worker) -> None:
        """End the judge."""
        if self.judge is not None:
            self.judge.close()

    def grade(self, task: Task) -> Graded:
        """Grade one submission. An error of our own is told in words, and costs this submission's result only."""
        assert self.judge is not None
        settings = self.settings
        limits = settings.limits.quick if task.quick else settings.limits
        try:
            with self._alone:
                result = self.judge.grade(task.data, settings.instructor, task.student, task.unreadable, limits)
            result = result.with_remarks(task.remarks)
            notebook = dump(rebuild(settings.instructor, task.data, result, self.release, settings.limits))
            return Graded(result.to_plain(), notebook)
        except Exception as error:
            return Graded(failed=failure(error))


def judge(name: str, tasks: Sequence[Task]) -> list[Graded]:
    """What Dask runs; `name` is the plug-in's."""
    plugin = get_worker().plugins[name]
    assert isinstance(plugin, JudgePlugin)
    return [plugin.grade(task) for task in tasks]


def failure(error: Exception) -> str:
    """An error of the judge's own, in words."""
    return f"The judge failed: {type(error).__name__}: {error}"[:300]
