"""Frames over a socket, with a deadline."""

from __future__ import annotations

import socket
import time
from typing import Any

from grader.subject.wire import decode, encode, read_frame


class Closed(Exception):
    """The other end is gone."""


class Late(Exception):
    """Nothing whole came before the deadline."""


class Channel:
    """Sends and receives plain data as frames of `grader.subject.wire`."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end

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
        frame = read_frame(lambda size: self._read(size, deadline))
        if frame is None:
            raise Closed("the other end closed the pipe")
        return decode(frame)

    def close(self) -> None:
        """Close this end."""
        self._socket.close()

    def _read(self, size: int, deadline: float | None) -> bytes:
        parts: list[bytes] = []
        while size > 0:
            try:
                self._socket.settimeout(None if deadline is None else max(deadline - time.monotonic(), 1e-3))
                part = self._socket.recv(min(size, 2**20))
            except TimeoutError:
                raise Late from None
            except OSError:
                break
            if not part:
                break
            parts.append(part)
            size -= len(part)
        return b"".join(parts)
