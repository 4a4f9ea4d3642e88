"""The subject behind a pipe: a child forked from a zygote runs the student's code, this process only talks to it."""

from __future__ import annotations

import math
import secrets
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from grader.subject.channel import Channel, Closed, Late
from grader.subject.protocol import Answer, Outcome, Request, outcome_from, to_plain
from grader.subject.values import Callback
from grader.subject.wire import WireError
from grader.subject.zygote import Zygote

# What the pipe itself may take beyond the time that the student's code has.
GRACE = 1.0
# Seconds in which a student's process answers a question or two: where more answers are due, it need not wake us for
# each.
PAUSE = 3e-4


@dataclass
class _Asked:
    """A request that was sent: the number that its answer bears, the seconds it has, its outcome once it is known."""

    token: int
    seconds: float
    outcome: Outcome | None = None


class ForkedSubject:
    """A student's code in a child of `zygote`; a context manager. The child starts empty: send it cells with "run"."""

    def __init__(self, zygote: Zygote, until: float = math.inf) -> None:
        """`until` is the time, on the monotonic clock, at which every answer is late."""
        self._zygote, self._until = zygote, until
        self._answer: Answer | None = None
        self._ended = ""
        self._open: deque[_Asked] = deque()
        end, self._number = zygote.begin_fork()
        self._channel: Channel | None = Channel(end)

    def answer_with(self, answer: Answer) -> None:
        """Set who answers the `Callback`s handed to the student's functions."""
        self._answer = answer

    def ask(self, request: Request) -> Outcome:
        """Carry out one request in the child. After a death or a time-out every outcome is "not-run"."""
        return next(self.ask_ahead([request]))

    def ask_ahead(self, requests: Sequence[Request], seconds: float = math.inf) -> Iterator[Outcome]:
        """Send all requests at once and give their outcomes one by one, while the child is at work on the next. Each
        has `seconds` at most. What was asked before is still there to be taken."""
        # Every answer bears its question's number, which nobody can know before: what comes ahead of time is no answer.
        tokens = [secrets.randbits(60) for _ in requests]
        limits = [min(request.seconds, seconds) for request in requests]
        if self._channel is not None and requests:
            plain = ({**to_plain(r), "seconds": limit} for r, limit in zip(requests, limits, strict=True))
            self._send(list(zip(tokens, plain, strict=True)), limits[0] + GRACE)
        asked = [_Asked(token, limit) for token, limit in zip(tokens, limits, strict=True)]
        self._open.extend(asked)
        return map(self._take, asked)

    def _take(self, wanted: _Asked) -> Outcome:
        """Outcomes come in the order in which they were asked for."""
        while wanted.outcome is None:
            first = self._open.popleft()
            first.outcome = self._collect(first.token, first.seconds)
        return wanted.outcome

    def abandon(self) -> None:
        """End the child: what it was asked is of no use any more."""
        self._ended = self._ended or "died"
        self.close()

    def _collect(self, token: int, seconds: float) -> Outcome:
        if self._channel is None:
            return Outcome(status="not-run")
        try:
            if not self._ended:
                return self._outcome(token, min(time.monotonic() + seconds, self._until) + GRACE)
        except Late:
            self._ended = "time-limit"
        except (Closed, WireError, ValueError):
            self._ended = self._ended or "died"
        self.close()
        return Outcome(status=self._ended)  # type: ignore[arg-type]

    @property
    def ended(self) -> bool:
        """Whether the child is gone."""
        return self._channel is None

    def _outcome(self, token: int, deadline: float) -> Outcome:
        assert self._channel is not None
        pause = PAUSE if self._open else 0.0
        while not self._ended:
            message: Any = self._channel.receive(max(deadline - time.monotonic(), 1e-3), pause)
            pause = 0.0  # a callback's answer is waited for
            if not isinstance(message, dict):
                raise ValueError("a message is a dict")
            if "outcome" in message:
                if message.get("token") != token:
                    raise ValueError("an answer to another question")
                return outcome_from(message["outcome"])
            number, args = message.get("callback"), message.get("args")
            if self._answer is None or type(number) is not int or not isinstance(args, tuple):
                raise ValueError("a callback that nobody expects")
            self._send(self._reply(Callback(number), args), deadline - time.monotonic())
        raise Closed(self._ended)

    def _reply(self, callback: Callback, args: tuple[Any, ...]) -> tuple[str, Any]:
        """What a callback gives; what it raises (a student may call it with anything) is the student's to see."""
        assert self._answer is not None
        try:
            return "ok", self._answer(callback, args)
        except Exception as error:
            return "raised", f"{type(error).__name__}: {error}"[:300]

    def _send(self, value: object, seconds: float) -> None:
        assert self._channel is not None
        try:
            self._channel.send(value, seconds)
        except Closed:
            self._ended = "died"
        except Late:  # a child that no longer reads
            self._ended = "time-limit"

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
