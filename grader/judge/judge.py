"""A judge: a zygote that is kept ready, and started anew when it dies. It grades one submission at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import TracebackType

from grader.exercises.registry import exercises
from grader.judge.grading import failed, grade, ungraded
from grader.judge.limits import Limits
from grader.judge.outline import outline_of
from grader.judge.result import SubmissionResult
from grader.judge.sandbox import NOT_INSTALLED, Sandbox, SandboxUnavailable, landlock_abi
from grader.learner.doctor import Observation
from grader.learner.memory_limit import memory_limit, process_limit
from grader.subject.time_limit import TimeLimit, limit_in_thread
from grader.subject.zygote import ZygoteGone

# Seconds beyond a submission's limit. The limits themselves hold without it: this is for what nobody thought of.
MARGIN = 5.0


class Judge:
    """A context manager. `SandboxUnavailable` where code can't be confined; with `unsafe` that isn't wanted."""

    def __init__(self, secret: bytes, limits: Limits, unsafe: bool = False, carry_forward: str = "none") -> None:
        self._secret, self._limits, self._unsafe, self._carry_forward = secret, limits, unsafe, carry_forward
        self.place = Sandbox(limits, unsafe)

    def grade(
        self, submission: bytes, instructor: bytes, student: str, unreadable: str = "", limits: Limits | None = None
    ) -> SubmissionResult:
        """Grade a notebook against the instructor's; or say that it is `unreadable`, which earns nothing. If the zygote
        dies meanwhile, another one is started, once. Whatever else goes wrong, or takes longer than all limits together
        allow, is a fault of ours and gives a result too: no points, and marked as broken. `limits` are for this one."""
        limits = limits or self._limits
        outline = outline_of(instructor)
        known = exercises(outline.own)
        if unreadable:
            return ungraded(unreadable, outline, known, self.place.confinement)
        for attempt in (1, 2):
            try:
                with limit_in_thread(limits.longest + MARGIN):
                    return grade(
                        submission,
                        outline,
                        secret=self._secret,
                        student=student,
                        place=self.place,
                        limits=limits,
                        known=known,
                        carry_forward=self._carry_forward,
                    )
            except (Exception, TimeLimit) as error:
                self._restart()
                if attempt == 2 or not isinstance(error, ZygoteGone):
                    return failed(error, outline, known, self.place.confinement)
        raise AssertionError

    def _restart(self) -> None:
        self.close()
        self.place = Sandbox(self._limits, self._unsafe)

    def close(self) -> None:
        """End the zygote."""
        self.place.close()

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *_error: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()


def confinement_here() -> Iterator[Observation]:
    """What this machine has to confine students' code with, and what stands in the way of more."""
    more = "docs/grading.md says what helps."
    try:
        yield Observation("Landlock", f"version {landlock_abi()}, of Linux {os.uname().release}")
        with Sandbox() as place:
            yield Observation("A student's process", f"is {place.confinement}")
            why = place.no_bubblewrap
    except SandboxUnavailable as error:
        yield Observation("A student's process", str(error), more)
        return
    yield _limits_around()
    if why == NOT_INSTALLED:
        yield Observation("Bubblewrap", why, "On Debian and Ubuntu: apt-get install bubblewrap.", needed=False)
    elif why:
        good = f"It would be a second wall: good to have, not needed. {more}"
        yield Observation("Bubblewrap", f"doesn't start here: {why}", good, needed=False)


def _limits_around() -> Observation:
    """What would hold if the judge's own limits didn't: those of the control group that it runs in."""
    memory, processes = memory_limit(), process_limit()
    told = [f"{memory.size / 1e9:.1f} GB of memory"] if memory else []
    told += [f"{processes:,d} processes and threads"] if processes else []
    if told:
        return Observation("Limits around the judge", f"{' and '.join(told)}, for it and all that it starts")
    advice = "Good to have, not needed. docs/grading.md says how to set limits."
    return Observation("Limits around the judge", "none but the judge's own", advice, needed=False)
