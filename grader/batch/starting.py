"""Starts the workers while the command opens the gradebook: both take a second or two, and neither needs the other."""

from __future__ import annotations

import contextlib
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from grader.batch.key import GradingSettings
from grader.errors import CommandFailed
from grader.judge.limits import Limits
from grader.judge.sandbox import MAGICS, PACKAGES, HandedOver, Sandbox, SandboxUnavailable

if TYPE_CHECKING:
    from grader.batch.cluster import Judges
    from grader.batch.forkserver import ForkServer


class Starting:
    """A context manager around workers with their judges, in the making."""

    def __init__(self, scheduler: str | None) -> None:
        """Without a scheduler a sandbox is started, before it is known whether there is anything to grade: a zygote
        takes longer than all else to start, and from one those of all workers are made."""
        self._scheduler = scheduler
        self._stack = contextlib.ExitStack()
        self._pool = ThreadPoolExecutor(1)
        self._sandbox: Sandbox | None = None
        self._why = ""
        self._started: Future[Judges] | None = None
        if scheduler is None:
            try:
                self._sandbox = Sandbox(packages=(MAGICS,), wait=False)
            except SandboxUnavailable as error:
                self._why = str(error)  # it may not be needed

    def begin(self, workers: int, terms: GradingSettings, plots: bool) -> None:
        """There is something to grade: start so many workers. With `plots` the sandbox is ready to draw."""
        if self._scheduler is not None:
            self._started = self._pool.submit(self._connect, self._scheduler, terms)
            return
        if terms.sandboxed and self._why:
            raise _cannot_grade(self._why)
        from grader.batch.cluster import SETTINGS
        from grader.batch.forkserver import ForkServer

        server = ForkServer(SETTINGS)
        self._stack.callback(server.close)
        zygotes = self._hand_over(workers, terms.limits, PACKAGES if plots else (MAGICS,)) if terms.sandboxed else {}
        self._started = self._pool.submit(self._start, workers, server, terms, zygotes)

    def _hand_over(self, workers: int, limits: Limits, packages: tuple[str, ...]) -> dict[int, HandedOver]:
        """A zygote for each worker, by the worker's name."""
        assert self._sandbox is not None
        try:
            return {i: self._sandbox.hand_over(limits, packages) for i in range(workers)}
        except SandboxUnavailable as error:
            raise _cannot_grade(error) from error

    def _connect(self, scheduler: str, terms: GradingSettings) -> Judges:
        from grader.batch.cluster import Judges, connected

        return self._stack.enter_context(Judges(self._stack.enter_context(connected(scheduler)), terms, {}))

    def _start(
        self, workers: int, server: ForkServer, terms: GradingSettings, zygotes: dict[int, HandedOver]
    ) -> Judges:
        from grader.batch.cluster import Judges, own_cluster

        client = self._stack.enter_context(own_cluster(workers, server))
        return self._stack.enter_context(Judges(client, terms, zygotes))

    def judges(self) -> Judges:
        """The judges, once they are ready; raises what kept them from it."""
        assert self._started is not None
        return self._started.result()

    def dismiss(self) -> None:
        """All is graded. A sandbox takes a moment to end, and can do so while the rest is stored."""
        if self._sandbox is not None:
            self._sandbox.leave()

    def __enter__(self) -> Starting:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._started is not None:
            self._started.exception()
        self._stack.close()
        self._pool.shutdown()
        if self._sandbox is not None:
            self._sandbox.abort()


def _cannot_grade(why: object) -> CommandFailed:
    return CommandFailed(f"The workers can't grade: {why}")
