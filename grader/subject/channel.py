"""Frames over a socket, with a deadline."""

from __future__ import annotations

import socket
import time
from typing import Any

from grader.subject.wire import HEADER, WireError, decode, encode, frame_size


class Closed(Exception):
    """The other end is gone."""


class Late(Exception):
    """Nothing whole came before the deadline."""


class Channel:
    """Sends and receives plain data as frames of `grader.subject.wire`."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._read = bytearray()  # of frames to come

    def send(self, value: object, seconds: float | None = None) -> None:
        """Send one value; `Late` if the other end doesn't take it within `seconds`."""
        frame = encode(value)
        self._socket.settimeout(None if seconds is None else max(seconds, 1e-3))
        try:
            self._socket.sendall(frame)
        except TimeoutError:
            raise Late from None
        except OSError as error:
            raise Closed(str(error)) from None

    def receive(self, seconds: float | None = None) -> Any:
        """The next value; `Late` after `seconds`, `Closed` when the other end is gone, `WireError` for a broken
        frame.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        self._fill(HEADER.size, deadline)
        size = frame_size(self._read)
        self._fill(size, deadline)
        frame = self._read[:size]
        del self._read[:size]
        return decode(frame)

    def close(self) -> None:
        """Close this end."""
        self._socket.close()

    def _fill(self, size: int, deadline: float | None) -> None:
        """Read until there are `size` bytes at least; several small frames may come at once."""
        while len(self._read) < size:
            try:
                self._socket.settimeout(None if deadline is None else max(deadline - time.monotonic(), 1e-3))
                part = self._socket.recv(2**16)
            except TimeoutError:
                raise Late from None
            except OSError:
                part = b""
            if not part and self._read:
                raise WireError("the sender stopped in the middle of a frame")
            if not part:
                raise Closed("the other end closed the pipe")
            self._read += part
