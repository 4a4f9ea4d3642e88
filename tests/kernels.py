"""Kernels that are forked from a process in which torch and matplotlib are imported, for which a new one takes two
seconds of processor time: for tests that run many notebooks.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from typing import Any

import pytest
from jupyter_client.provisioning import local_provisioner

FORKS = multiprocessing.get_context("forkserver")
PRELOADED = [
    "torch",
    "matplotlib.pyplot",
    "ipykernel.kernelapp",
    "IPython.core.completer",
    "grader.learner.check",
    "grader.views",
]


def _kernel(arguments: list[str], environment: dict[str, str], folder: str, ready: Connection) -> None:
    """In the child: what `python -m ipykernel_launcher` does."""
    os.setsid()  # a kernel is signalled with its group
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = ["ipykernel_launcher", *arguments]
    ready.send(True)
    ready.close()
    from ipykernel import kernelapp

    kernelapp.launch_new_instance()


@cache
def _start() -> None:
    """Start what is forked from, when the first kernel is asked for."""
    FORKS.set_forkserver_preload(PRELOADED)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")  # a kernel sets it before any import
        forkserver.ensure_running()


class ForkedKernel:
    """As much of a `subprocess.Popen` as Jupyter asks of a kernel's process."""

    stdin = stdout = stderr = None

    def __init__(self, command: list[str], env: dict[str, str], cwd: str | None = None, **_more: Any) -> None:
        if command[1:3] != ["-m", "ipykernel_launcher"]:
            raise ValueError(f"no kernel of Python's: {command}")
        _start()
        told, ready = FORKS.Pipe(duplex=False)
        self._process = FORKS.Process(
            target=_kernel, args=(command[3:], dict(env), cwd or os.getcwd(), ready), daemon=True
        )
        self._process.start()
        ready.close()
        told.recv()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int | None:
        self._process.join(timeout)
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


@contextmanager
def forked_kernels() -> Iterator[None]:
    """Inside, every kernel that this process starts is a fork."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(local_provisioner, "launch_kernel", ForkedKernel)
        yield
