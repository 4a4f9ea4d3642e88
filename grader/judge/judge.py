"""A judge: a zygote that is kept ready, and started anew when it dies. It grades one submission at a time."""

from __future__ import annotations

from types import TracebackType

from grader.exercises.registry import exercises
from grader.judge.grading import failed, grade, ungraded
from grader.judge.limits import Limits
from grader.judge.outline import outline_of
from grader.judge.result import SubmissionResult
from grader.judge.sandbox import OpenZygote, Sandbox
from grader.subject.time_limit import TimeLimit, limit_in_thread
from grader.subject.zygote import ZygoteGone

# Seconds beyond a submission's limit. The limits themselves hold without it: this is for what nobody thought of.
MARGIN = 5.0


class Judge:
    """A context manager. `SandboxUnavailable` where no sandbox can be started; without `sandboxed` none is wanted."""

    def __init__(self, secret: bytes, limits: Limits, sandboxed: bool = True) -> None:
        self._secret, self._limits = secret, limits
        self._kind = Sandbox if sandboxed else OpenZygote
        self.place: Sandbox | OpenZygote = self._kind(limits)

    def grade(self, submission: bytes, instructor: bytes, student: str, unreadable: str = "") -> SubmissionResult:
        """Grade a notebook against the instructor's; or say that it is `unreadable`, which earns nothing. If the zygote
        dies meanwhile, another one is started, once. Whatever else goes wrong, or takes longer than all limits together
        allow, is a fault of ours and gives a result too: no points, and marked as broken."""
        outline = outline_of(instructor)
        if unreadable:
            return ungraded(unreadable, outline, exercises(), self.place.sandboxed)
        for attempt in (1, 2):
            try:
                with limit_in_thread(self._limits.submission_seconds + MARGIN):
                    return grade(submission, outline, secret=self._secret, student=student, place=self.place)
            except (Exception, TimeLimit) as error:
                self._restart()
                if attempt == 2 or not isinstance(error, ZygoteGone):
                    return failed(error, outline, exercises(), self.place.sandboxed)
        raise AssertionError

    def _restart(self) -> None:
        self.close()
        self.place = self._kind(self._limits)

    def close(self) -> None:
        """End the zygote."""
        self.place.close()

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *_error: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()
