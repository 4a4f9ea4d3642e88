"""This machine's workers, forked from a process that is itself a fork of the command: what the command has imported of
Dask they have too, and torch is imported once for all of them. Dask's own way is a fresh interpreter for every worker,
or for a server that they are forked from: half a second more on two cores.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any, NoReturn

import dask
from distributed import Worker
from distributed.deploy.spec import ProcessInterface

from grader.subject.zygote import ONE_THREAD

NEVER_UP = 3  # exit status of a worker that did not come up
PAUSE = 0.1  # seconds before the next worker where one has died


class ForkServer:
    """Start it before this process has other threads. It and its workers end with this process at the latest."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """`settings` are Dask's, for the workers."""
        self._told: Callable[[], object] | None = None
        self._requests, theirs = Pipe()
        self.pid = os.fork()
        if self.pid == 0:
            _run(_serve, theirs, settings)
        theirs.close()
        self._watch = threading.Thread(target=self._wait)
        self._watch.start()

    def start(self, name: int, scheduler: str, options: Mapping[str, Any]) -> None:
        """Have a worker made that goes to this scheduler, and another one whenever it dies. Doesn't wait for it."""
        self._requests.send((name, scheduler, options))

    def tell(self, told: Callable[[], object]) -> None:
        """Have `told` called, from another thread, if this ends too soon: killed, or because a worker can't come up."""
        self._told = told

    def _wait(self) -> None:
        with contextlib.suppress(ChildProcessError):  # where somebody has us ignore SIGCHLD
            os.waitpid(self.pid, 0)
        if self._told is not None and not self._requests.closed:
            self._told()

    def ended(self) -> bool:
        """Whether it is gone."""
        return not self._watch.is_alive()

    def close(self) -> None:
        """End all at once: there is nothing left to lose, and a worker that is asked to close takes a second over it.
        Sandboxes end with their worker."""
        if not self._requests.closed:
            self._requests.close()
            self._watch.join()


class ForkedWorker(ProcessInterface):
    """A worker as Dask's clusters start them. `start` doesn't wait until it is there."""

    def __init__(self, scheduler: str, *, server: ForkServer, name: int, **options: Any) -> None:
        super().__init__()
        self._start = lambda: server.start(name, scheduler, options)

    async def start(self) -> None:
        self._start()
        await super().start()


def _run(function: Any, *args: Any) -> NoReturn:
    """In a fork: nothing of what the process did that it was forked from is taken up or cleaned up here."""
    status = NEVER_UP
    try:
        status = function(*args)
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(status)


def _serve(requests: Connection, settings: Mapping[str, Any]) -> int:
    """Fork workers until the other end is closed, or one doesn't come up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the whole group, and it is the command that ends us
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _close_all_but(requests.fileno())
    os.environ |= ONE_THREAD  # a process with more threads must not be forked
    importlib.import_module("grader.batch.ready")
    dask.config.set(settings)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters of it the command says
    workers: dict[Any, tuple[int, Any]] = {}  # by a pipe that ends with it: its number, what it was made from
    due: Any
    try:
        while True:
            for due in wait([requests, *workers]):
                if due is requests:
                    asked = requests.recv()
                else:
                    pid, (name, *rest) = workers.pop(due)
                    due.close()
                    _, status = os.waitpid(pid, 0)
                    if os.waitstatus_to_exitcode(status) == NEVER_UP:
                        return NEVER_UP
                    time.sleep(PAUSE)
                    asked = (f"{name} again", *rest)  # the scheduler may have the name of the dead one still
                alive, theirs = Pipe(duplex=False)
                pid = os.fork()
                if pid == 0:
                    requests.close()
                    _run(_work, *asked)
                theirs.close()
                workers[alive] = pid, asked
    except EOFError:
        return 0
    finally:
        for pid, _asked in workers.values():
            os.kill(pid, signal.SIGKILL)


def _close_all_but(kept: int) -> None:
    """The command's lock, its files and its end of other processes' sockets aren't for a fork to keep open."""
    os.closerange(3, kept)
    os.closerange(kept + 1, os.sysconf("SC_OPEN_MAX"))


def _work(name: int | str, scheduler: str, options: Mapping[str, Any]) -> int:
    """Be a worker until the scheduler ends it or is gone."""

    async def work() -> None:
        async with Worker(scheduler, name=name, **options) as worker:
            await worker.finished()

    asyncio.run(work())
    return 0
