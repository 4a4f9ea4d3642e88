"""The subject behind a pipe: a child forked from a zygote runs the student's code, this process only talks to it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from types import TracebackType
from typing import Any

from grader.subject.channel import Channel, Closed, Late
from grader.subject.protocol import Answer, Outcome, Request, outcome_from, to_plain
from grader.subject.values import Callback
from grader.subject.wire import WireError

# What the pipe itself may take beyond the time that the student's code has.
GRACE = 1.0


class Zygote:
    """A running zygote; a context manager. Start it before other threads are busy: one serves any number of
    subjects.
    """

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "grader.subject.zygote", str(theirs.fileno())]
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=environment, stdin=subprocess.DEVNULL)
        theirs.close()
        self._control = ours
        self._answer()

    def fork(self) -> tuple[socket.socket, int]:
        """A new child: our end of its pipe, and its number."""
        ours, theirs = socket.socketpair()
        socket.send_fds(self._control, [b"fork\n"], [theirs.fileno()])
        theirs.close()
        return ours, int(self._answer())

    def kill(self, number: int) -> None:
        """End a child, whatever it is doing."""
        self._control.sendall(f"kill {number}\n".encode())
        self._answer()

    def close(self) -> None:
        """End the zygote and every child."""
        self._control.close()
        self._process.wait()

    def _answer(self) -> bytes:
        line = self._control.recv(64)
        if not line:
            raise RuntimeError("the zygote is gone")
        return line

    def __enter__(self) -> Zygote:
        return self

    def __exit__(self, *_error: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()


class ForkedSubject:
    """A student's code in a child of `zygote`; a context manager. The child starts empty: send it cells with "run"."""

    def __init__(self, zygote: Zygote) -> None:
        self._zygote = zygote
        self._answer: Answer | None = None
        end, self._number = zygote.fork()
        self._channel: Channel | None = Channel(end)

    def answer_with(self, answer: Answer) -> None:
        """Set who answers the `Callback`s handed to the student's functions."""
        self._answer = answer

    def ask(self, request: Request) -> Outcome:
        """Carry out one request in the child. After a death or a time-out every outcome is "not-run"."""
        if self._channel is None:
            return Outcome(status="not-run")
        deadline = time.monotonic() + request.seconds + GRACE
        try:
            self._channel.send(to_plain(request))
            return self._outcome(deadline)
        except Late:
            status = "time-limit"
        except (Closed, WireError, ValueError):
            status = "died"
        self.close()
        return Outcome(status=status)  # type: ignore[arg-type]

    def _outcome(self, deadline: float) -> Outcome:
        assert self._channel is not None
        while True:
            message: Any = self._channel.receive(max(deadline - time.monotonic(), 1e-3))
            if not isinstance(message, dict):
                raise ValueError("a message is a dict")
            if "outcome" in message:
                return outcome_from(message["outcome"])
            number, args = message.get("callback"), message.get("args")
            if self._answer is None or type(number) is not int or not isinstance(args, tuple):
                raise ValueError("a callback that nobody expects")
            self._channel.send(self._answer(Callback(number), args))

    def close(self) -> None:
        """End the child."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None
            self._zygote.kill(self._number)

    def __enter__(self) -> ForkedSubject:
        return self

    def __exit__(self, *_error: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()
