"""Frames over a socket, with a deadline. It is looked at on every round: bytes may come without end, or one by one."""

from __future__ import annotations

import select
import socket
import time
from typing import Any

from grader.subject.errors import Closed, Late
from grader.subject.wire import HEADER, MAX_FRAME, decode, encode, frame_size, memory_of

# What a child says once it is confined.
READY = "ready"


class Channel:
    """Sends and receives plain data as frames of `grader.subject.wire`. `memory`: the bytes that the last value
    received may take."""

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        self._socket = end
        self._read = bytearray()  # bytes of frames not yet returned
        self.memory = 0  # bytes that the last value received may take

    def send(self, value: object, seconds: float | None = None) -> None:
        """Send one value; `Late` if the other end doesn't take it within `seconds` (None: no limit), `Closed` if it is
        gone, `WireError`, before anything is sent, if the value can't be sent. Reads meanwhile, because two ends that
        both send more than the pipe holds would block each other."""
        rest = memoryview(encode(value))
        deadline = None if seconds is None else time.monotonic() + seconds
        while rest:
            _look_at(deadline)
            try:
                rest = rest[self._socket.send(rest) :]
            except BlockingIOError:
                if self._wait(select.POLLIN | select.POLLOUT, deadline) & select.POLLIN:
                    self._take()
            except OSError as error:
                raise Closed(str(error)) from None

    def receive(self, seconds: float | None = None) -> Any:
        """The next value; `Late` after `seconds` (None: no limit), `Closed` when the other end is gone, `WireError` for
        a broken frame."""
        deadline = None if seconds is None else time.monotonic() + seconds
        self._fill(HEADER.size, deadline)
        size = frame_size(self._read)
        self._fill(size, deadline)
        self.memory = memory_of(self._read)
        frame = self._read[:size]
        del self._read[:size]
        return decode(frame)

    def close(self) -> None:
        """Close this end of the pipe; the other reads its end."""
        self._socket.close()

    def _fill(self, size: int, deadline: float | None) -> None:
        """Read until there are at least `size` bytes; `Late` after `deadline`, by `time.monotonic` (None: no limit)."""
        while len(self._read) < size:
            _look_at(deadline)
            try:
                self._take()
            except BlockingIOError:
                self._wait(select.POLLIN, deadline)

    def _take(self) -> None:
        """Read what has come, at most 64 KiB; BlockingIOError if nothing has, `Closed` at the end."""
        try:
            part = self._socket.recv(2**16)
        except BlockingIOError:
            raise
        except OSError:
            part = b""
        if not part:
            raise Closed("the other end closed the pipe" + " in the middle of a frame" * bool(self._read))
        self._read += part
        if len(self._read) > 2 * MAX_FRAME:
            raise Closed("the other end never stops sending")

    def _wait(self, wanted: int, deadline: float | None) -> int:
        """Wait until the pipe is ready for one of the `wanted` events of poll. Returns those that it is ready for;
        `Late` after `deadline`."""
        poll = select.poll()
        poll.register(self._socket, wanted)
        left = None if deadline is None else max(deadline - time.monotonic(), 0) * 1000
        ready = poll.poll(left)
        if not ready:
            raise Late
        return ready[0][1]


def _look_at(deadline: float | None) -> None:
    if deadline is not None and time.monotonic() > deadline:
        raise Late
