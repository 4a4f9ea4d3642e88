"""A judge: a zygote that is kept ready, and started anew when it dies. It grades one submission at a time.

The zygote starts first, and takes seconds to import torch. Meanwhile this process imports it too, so nothing here may
import it any earlier.
"""

from __future__ import annotations

import threading
from types import TracebackType

from grader.judge.limits import Limits
from grader.judge.outline import Outline
from grader.judge.result import SubmissionResult
from grader.judge.sandbox import Sandbox
from grader.subject.errors import ZygoteGone
from grader.subject.time_limit import TimeLimit, limit_in_thread

# Seconds beyond a submission's limit. The limits themselves hold without it: this is for what nobody thought of.
MARGIN = 5.0


def _import_grading() -> None:
    """Import torch, what grades, and every specification."""
    from grader.exercises.registry import exercises
    from grader.judge import grading  # noqa: F401

    exercises()


class Judge:
    """A context manager that grades, one submission after the other. Raises `SandboxUnavailable` where code can't be
    confined; with `unsafe` it doesn't try to. `carry_forward` is a key of `CARRY_FORWARD`."""

    def __init__(self, secret: bytes, limits: Limits, unsafe: bool = False, carry_forward: str = "none") -> None:
        self._secret, self._limits, self._unsafe, self._carry_forward = secret, limits, unsafe, carry_forward
        self.sandbox = Sandbox(limits, unsafe, _import_grading)
        self._alone = threading.Lock()

    def grade(
        self, submission: bytes, outline: Outline, student: str, unreadable: str = "", limits: Limits | None = None
    ) -> SubmissionResult:
        """Grade a notebook by the instructor's `outline`; if `unreadable` says why it can't be read, it earns nothing.
        `limits` replace the judge's own this once. If the zygote dies, another is started, once. Any other fault of
        ours, or more time than all limits allow together, gives a result too: no points, and marked as broken."""
        from grader.exercises.registry import exercises
        from grader.judge.grading import failed, grade, ungraded

        limits = limits or self._limits
        known = exercises(outline.own)
        if unreadable:
            return ungraded(unreadable, outline, known, self.sandbox.confinement)
        with self._alone:
            for attempt in (1, 2):
                try:
                    with limit_in_thread(limits.longest + MARGIN):
                        return grade(
                            submission,
                            outline,
                            secret=self._secret,
                            student=student,
                            sandbox=self.sandbox,
                            limits=limits,
                            known=known,
                            carry_forward=self._carry_forward,
                        )
                except (Exception, TimeLimit) as error:
                    self._restart()
                    if attempt == 2 or not isinstance(error, ZygoteGone):
                        return failed(error, outline, known, self.sandbox.confinement)
        raise AssertionError

    def _restart(self) -> None:
        self.close()
        self.sandbox = Sandbox(self._limits, self._unsafe)

    def close(self) -> None:
        """End the sandbox's zygote and all its children."""
        self.sandbox.close()

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *_error: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()
