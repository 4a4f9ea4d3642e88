"""Starts a zygote (see `grader.subject.zygote_process`) and has it fork."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from types import TracebackType
from typing import Self

from grader.subject.errors import ZygoteGone

ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class Zygote:
    """A running zygote; a context manager. Start it before other threads are busy: one serves any number of
    subjects, one after the other.
    """

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._forks = 0
        with theirs:
            self._process = self._start(theirs.fileno())
        self._answer()

    def _start(self, descriptor: int) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "grader.subject.zygote_process", str(descriptor)]
        environment = {**os.environ, **ONE_THREAD}
        return subprocess.Popen(command, pass_fds=[descriptor], env=environment, stdin=subprocess.DEVNULL)

    @property
    def pid(self) -> int:
        """The process that was started; the zygote ends with it."""
        return self._process.pid

    def fork(self, less_memory: int = 0) -> tuple[socket.socket, int]:
        """Fork a new child: our end of its pipe, and its number. It gets `less_memory` bytes less than others.
        `ZygoteGone` if the zygote has ended."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self._control, [f"fork {less_memory}".encode()], [theirs.fileno()])
                self._answer()
            except OSError as error:
                ours.close()
                raise ZygoteGone("the zygote is gone") from error
            except ZygoteGone:
                ours.close()
                raise
        self._forks += 1
        return ours, self._forks

    def kill(self, number: int) -> None:
        """End the child with this number, whatever it is doing. Doesn't wait: the next fork comes after it."""
        with contextlib.suppress(OSError):  # a zygote that is gone has taken its children along
            self._control.send(f"kill {number}".encode())

    def close(self) -> None:
        """End the zygote, which ends all its children, and wait for it."""
        self._control.close()
        self._process.wait()

    def _answer(self) -> bytes:
        try:
            packet = self._control.recv(64)
        except OSError:
            packet = b""
        if not packet:
            raise ZygoteGone("the zygote is gone")
        return packet

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()
