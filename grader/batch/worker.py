"""What runs on a Dask worker: a plug-in that holds a judge, and the task that grades some submissions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from distributed import Worker, WorkerPlugin, get_worker

from grader.book.rebuild import StoredNotebook, stored_notebook
from grader.book.results_log import LoggedResult
from grader.course.release import Release
from grader.errors import OtherVersion
from grader.judge.fingerprint import GradingSettings, version_for
from grader.judge.result import SubmissionResult

if TYPE_CHECKING:
    from grader.book.gradebook import GradebookEntry
    from grader.judge.judge import Judge


@dataclass(frozen=True)
class Task:
    """What somebody handed in, as a run reads it, once: what a worker grades is what the key is of, even if the file
    changes meanwhile. Two tasks are one if they have the same work of the same student."""

    student: str
    data: bytes  # the notebook that counts, without its outputs
    unreadable: str = ""  # why there is none
    remarks: tuple[str, ...] = ()  # on which notebook it is
    quick: bool = False  # within less time, see `Limits.quick`
    drawn_for: str = ""  # for whom inputs are drawn; "" for the student
    lesson: str = ""
    digest: str = ""  # of the whole notebook; "" where it can't be read as a file
    key: str = field(default="", compare=False)  # what its result is filed under
    version: str = field(default="", compare=False)  # what it is graded by, as the log names it

    def logged(self, result: SubmissionResult) -> LoggedResult:
        """The line of the log for a result that came in now."""
        return LoggedResult.now(self.key, self.student, self.lesson, self.digest, result, self.version)


@dataclass(frozen=True)
class GradedSubmission:
    """A graded submission on its way to the log, the files and the gradebook."""

    record: LoggedResult
    made: StoredNotebook  # what is stored beside it
    regraded: bool = False  # whether the same work was graded before

    def entry(self, handed_in: datetime | None) -> GradebookEntry:
        """What the gradebook gets of it; `handed_in` is when the work came (UTC), None if that isn't known."""
        from grader.book.gradebook import GradebookEntry  # with nbgrader and SQLAlchemy, which a worker doesn't need

        kept = self.record.kept if self.regraded or self.record.kept else None
        return GradebookEntry(self.record.student, self.record.result, self.made.own, handed_in, kept)


Outcome = GradedSubmission | str  # of a task; or why grading failed, in words


def timed_out(outcome: Outcome) -> bool:
    """Whether a check of a submission ran into its time limit."""
    return isinstance(outcome, GradedSubmission) and outcome.record.result.timed_out


# The judges of this worker, by all that one depends on, and how many lessons hold each: a course's next lesson needn't
# wait until torch is imported once more.
_judges: dict[tuple[object, ...], Judge] = {}
_held: Counter[tuple[object, ...]] = Counter()


class JudgePlugin(WorkerPlugin):
    """Holds a judge on a worker from the plug-in's registration to its end; those of several lessons hold one together.
    It grades one submission at a time; a worker with more threads gains nothing by them. `version` is the one that the
    command has."""

    # Registered twice, it stays as it is.
    idempotent = True

    def __init__(self, settings: GradingSettings, release: Release, version: str) -> None:
        self.settings, self.release, self.version = settings, release, version
        self.judge: Judge | None = None

    def setup(self, worker: Worker) -> None:
        """Start the judge. What is wrong here (no sandbox; `OtherVersion` of the package or of torch) ends the command
        before it grades."""
        if version_for(self.settings.outline) != self.version:
            raise OtherVersion(f"{worker.address} has a different version of the course's package or of torch.")
        # Only a worker needs torch: the command that reads this file doesn't.
        from grader.judge.judge import Judge

        settings = self.settings
        how = (settings.secret, settings.limits, settings.unsafe, settings.carry_forward)
        self.judge = _judges[how] = _judges.get(how) or Judge(*how)
        self._how = how
        _held[how] += 1
        from grader.exercises.registry import exercises

        try:
            exercises(settings.outline.own)  # says what is wrong with a file
        except BaseException:
            self.teardown(worker)
            raise

    def teardown(self, worker: Worker) -> None:
        """Give the worker's judge back; the last lesson that does ends it, and its sandbox with it."""
        if self.judge is None:
            return
        self.judge = None
        _held[self._how] -= 1
        if not _held[self._how]:
            _judges.pop(self._how).close()

    def grade(self, task: Task) -> Outcome:
        """Grade one submission. An error of our own is told in words, and costs this submission's result only."""
        assert self.judge is not None
        settings = self.settings
        limits = settings.limits.quick if task.quick else settings.limits
        try:
            drawn_for = task.drawn_for or task.student
            result = self.judge.grade(task.data, settings.outline, drawn_for, task.unreadable, limits)
            result = result.with_remarks(task.remarks)
            made = stored_notebook(settings.outline, task.data, result, self.release, settings.limits)
            return GradedSubmission(task.logged(result), made)
        except Exception as error:
            return failure(error)


def judge(name: str, tasks: Sequence[Task]) -> list[Outcome]:
    """Grade tasks with the plug-in called `name`: what Dask runs on a worker."""
    plugin = get_worker().plugins[name]
    assert isinstance(plugin, JudgePlugin)
    return [plugin.grade(task) for task in tasks]


def failure(error: Exception) -> str:
    """An error of the judge's own, in words: at most 300 characters."""
    return f"The judge failed: {type(error).__name__}: {error}"[:300]
