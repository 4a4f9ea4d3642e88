"""The subject behind a pipe: a child forked from a zygote runs the student's code, and this process talks to it."""

from __future__ import annotations

import secrets
import time
from types import TracebackType
from typing import Any

from grader.subject.channel import READY, Channel
from grader.subject.errors import Closed, Late, TooLarge, WireError, ZygoteGone, say
from grader.subject.protocol import Answer, Outcome, Request, outcome_from, to_plain
from grader.subject.values import Callback
from grader.subject.zygote import Zygote

# Seconds for the pipe, beyond the time limit of the student's code.
GRACE = 1.0
CONFINE_SECONDS = 60.0
# What the results of one child may take in this process, where a check keeps them: the limit of one alone wouldn't do.
RESULTS_BYTES = 128 * 2**20
# Calls of one `Callback` or several during one request.
MAX_CALLBACKS = 10_000

TOO_MANY = ("raised", f"this function was called more than {MAX_CALLBACKS} times")


class ForkedSubject:
    """A student's code in a child of `zygote`; a context manager. The child starts empty: send it cells with "run". It
    gets `less_memory` bytes less than other children."""

    clock = staticmethod(time.monotonic)

    def __init__(self, zygote: Zygote, less_memory: int = 0) -> None:
        self._zygote = zygote
        self._answer: Answer | None = None
        self._room = RESULTS_BYTES
        end, self._number = zygote.fork(less_memory)
        self._channel: Channel | None = Channel(end)
        self._wait_until_confined()

    def _wait_until_confined(self) -> None:
        """Wait for the child to say that it is confined. `ZygoteGone` if it isn't: a fault of this machine, and none of
        the student's."""
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
        """Carry out one request in the child, within its seconds by the clock and `GRACE`. Once the child had to be
        ended, every outcome is "not-run"."""
        if self._channel is None:
            return Outcome(status="not-run")
        # The child can't know this number before the request, so it can't send an answer in advance.
        token = secrets.randbits(60)
        deadline = time.monotonic() + request.seconds * request.patience + GRACE
        try:
            try:
                self._send((token, to_plain(request)), deadline)
            except TooLarge as error:
                return Outcome(status="too-large", value=str(error))
            return self._receive(token, request, deadline)
        except Late:  # a child that no longer answers, or no longer reads
            outcome = Outcome(status="time-limit")
        except TooLarge as error:
            outcome = Outcome(status="too-large", value=str(error))
        except (Closed, ValueError):  # a child that is gone, or sends what no child of ours would
            outcome = Outcome(status="died")
        except BaseException:  # a fault of ours leaves the child in the middle of a request
            self.close()
            raise
        self.close()
        return outcome

    @property
    def ended(self) -> bool:
        """Whether the child is gone."""
        return self._channel is None

    def _receive(self, token: int, request: Request, deadline: float) -> Outcome:
        """The outcome of the request with this token; answers the child's callbacks meanwhile. `Late` after `deadline`,
        ValueError for a message that is none of ours."""
        callbacks = 0
        while True:
            message: Any = self._connected().receive(_left(deadline))
            if not isinstance(message, dict):
                raise ValueError("a message is a dict")
            if "outcome" in message:
                return self._outcome(message, token, request)
            number, args = message.get("callback"), message.get("args")
            if self._answer is None or type(number) is not int or not isinstance(args, tuple):
                raise ValueError("a callback that nobody expects")
            callbacks += 1
            self._send(self._reply(Callback(number), args) if callbacks <= MAX_CALLBACKS else TOO_MANY, deadline)

    def _outcome(self, message: dict[str, Any], token: int, request: Request) -> Outcome:
        received = message.get("token")
        if type(received) is not int or received != token:
            raise ValueError("an answer to another question")
        self._room -= self._connected().memory
        if self._room < 0:
            raise TooLarge(say("the results together take more than {most} bytes", most=RESULTS_BYTES))
        return outcome_from(message["outcome"], request)

    def _connected(self) -> Channel:
        assert self._channel is not None
        return self._channel

    def _send(self, value: object, deadline: float) -> None:
        try:
            self._connected().send(value, _left(deadline))
        except TooLarge:
            raise
        except WireError as error:  # our fault, not the child's
            raise RuntimeError("this can't be sent to a student's process") from error

    def _reply(self, callback: Callback, args: tuple[Any, ...]) -> tuple[str, Any]:
        """What is sent back for a callback: ("ok", its result) or ("raised", the error in words), since students may
        call it with anything."""
        assert self._answer is not None
        try:
            return "ok", self._answer(callback, args)
        except Exception as error:
            return "raised", f"{type(error).__name__}: {error}"[:300]

    def close(self) -> None:
        """End the child, if there is one."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None
            self._zygote.kill(self._number)

    def __enter__(self) -> ForkedSubject:
        return self

    def __exit__(self, *_error: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()


def _left(deadline: float) -> float:
    """Seconds left until `deadline`. `Late` if there are none: a child that keeps this process busy is late too."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise Late
    return left
