"""The subject behind a pipe: a child forked from a zygote runs the student's code, and this process talks to it."""

from __future__ import annotations

import secrets
import time
from types import TracebackType
from typing import Any

from grader.subject.channel import READY, Channel, Closed, Late
from grader.subject.protocol import Answer, Outcome, Request, outcome_from, to_plain
from grader.subject.values import Callback
from grader.subject.wire import WireError
from grader.subject.zygote import Zygote, ZygoteGone

# Seconds for the pipe, beyond the time limit of the student's code.
GRACE = 1.0
CONFINE_SECONDS = 60.0


class ForkedSubject:
    """A student's code in a child of `zygote`; a context manager. The child starts empty: send it cells with "run"."""

    def __init__(self, zygote: Zygote) -> None:
        self._zygote = zygote
        self._answer: Answer | None = None
        end, self._number = zygote.fork()
        self._channel: Channel | None = Channel(end)
        self._wait_until_confined()

    def _wait_until_confined(self) -> None:
        """A child that can't confine itself ends: a fault of this machine, and none of the student's."""
        try:
            said = self._connected().receive(CONFINE_SECONDS)
        except (Closed, Late, WireError) as error:
            said = error
        if said == READY:
            return
        self.close()
        raise ZygoteGone(f"a student's process could not be confined ({said or 'it ended'})")

    def answer_with(self, answer: Answer) -> None:
        """Set who answers the `Callback`s handed to the student's functions."""
        self._answer = answer

    def ask(self, request: Request) -> Outcome:
        """Carry out one request in the child. After a death or a time-out every outcome is "not-run"."""
        if self._channel is None:
            return Outcome(status="not-run")
        # The child can't know this number before the request, so it can't send an answer in advance.
        token = secrets.randbits(60)
        deadline = time.monotonic() + request.seconds + GRACE
        try:
            self._send((token, to_plain(request)), deadline)
            return self._receive(token, deadline)
        except Late:  # a child that no longer answers, or no longer reads
            outcome = Outcome(status="time-limit")
        except (Closed, WireError, ValueError):  # a child that is gone, or sends malformed messages
            outcome = Outcome(status="died")
        self.close()
        return outcome

    @property
    def ended(self) -> bool:
        """Whether the child is gone."""
        return self._channel is None

    def _receive(self, token: int, deadline: float) -> Outcome:
        """The outcome of the request with this token. Answers the child's callbacks meanwhile."""
        while True:
            message: Any = self._connected().receive(max(deadline - time.monotonic(), 1e-3))
            if not isinstance(message, dict):
                raise ValueError("a message is a dict")
            if "outcome" in message:
                if message.get("token") != token:
                    raise ValueError("an answer to another question")
                return outcome_from(message["outcome"])
            number, args = message.get("callback"), message.get("args")
            if self._answer is None or type(number) is not int or not isinstance(args, tuple):
                raise ValueError("a callback that nobody expects")
            self._send(self._reply(Callback(number), args), deadline)

    def _connected(self) -> Channel:
        assert self._channel is not None
        return self._channel

    def _send(self, value: object, deadline: float) -> None:
        try:
            self._connected().send(value, max(deadline - time.monotonic(), 1e-3))
        except WireError as error:  # our fault, not the child's
            raise RuntimeError("this can't be sent to a student's process") from error

    def _reply(self, callback: Callback, args: tuple[Any, ...]) -> tuple[str, Any]:
        """The result of a callback, or what it raises, for the student: they may call it with anything."""
        assert self._answer is not None
        try:
            return "ok", self._answer(callback, args)
        except Exception as error:
            return "raised", f"{type(error).__name__}: {error}"[:300]

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
