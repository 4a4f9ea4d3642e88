"""Starts the workers while the command opens the gradebook: both take a second or two, and neither needs the other."""

from __future__ import annotations

import contextlib
import os
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import forkserver
from typing import TYPE_CHECKING

from grader.batch.key import Terms
from grader.errors import FoundWanting
from grader.judge.sandbox import HandedOver, Sandbox, SandboxUnavailable

if TYPE_CHECKING:
    from grader.batch.cluster import Judges


def _serve_forks() -> None:
    """Start the process that this machine's workers are forked from: it imports torch while this one imports Dask, and
    once for all of them."""
    os.environ["OMP_NUM_THREADS"] = "1"  # a process with more threads must not be forked
    forkserver.set_forkserver_preload(["grader.batch.ready"])
    forkserver.ensure_running()


class Starting:
    """A context manager around workers with their judges, in the making."""

    def __init__(self, scheduler: str | None, workers: int, terms: Terms) -> None:
        self._scheduler, self._workers, self._terms = scheduler, workers, terms
        self._stack = contextlib.ExitStack()
        self._pool = ThreadPoolExecutor(1)
        self._sandbox: Sandbox | None = None
        self._zygotes: dict[int, HandedOver] = {}  # by name of the worker that is to have it
        if scheduler is None:
            _serve_forks()
            if terms.sandboxed:
                self._start_sandbox()
        self._started = self._pool.submit(self._start)

    def _start_sandbox(self) -> None:
        """For the workers to come: a zygote takes longer than all else to start, and from one the others are made."""
        try:
            self._sandbox = self._stack.enter_context(Sandbox(self._terms.limits, wait=False))
            self._zygotes = {i: self._sandbox.hand_over() for i in range(self._workers)}
        except SandboxUnavailable as error:
            self._stack.close()
            raise FoundWanting(f"The workers can't grade: {error}") from error

    def _start(self) -> Judges:
        from grader.batch.cluster import Judges, connected

        client = self._stack.enter_context(connected(self._scheduler, self._workers))
        return self._stack.enter_context(Judges(client, self._terms, self._zygotes))

    def judges(self) -> Judges:
        """The judges, once they are ready; raises what kept them from it."""
        return self._started.result()

    def dismiss(self) -> None:
        """All is graded. A sandbox takes a tenth of a second to end, and can do so while the rest is stored."""
        if self._sandbox is not None:
            self._sandbox.leave()

    def __enter__(self) -> Starting:
        return self

    def __exit__(self, *_error: object) -> None:
        self._started.exception()
        self._stack.close()
        self._pool.shutdown()
