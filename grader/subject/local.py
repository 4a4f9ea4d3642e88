"""The subject in the learner's own process, without a pipe."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from grader.subject.executor import Executor
from grader.subject.protocol import Answer, Outcome, Request


class LocalSubject:
    """The names in `namespace`, as they are now. Its clock is the processor's, since others may keep the machine busy;
    by the clock on the wall a check may take `patience` times as long."""

    clock = staticmethod(time.process_time)
    patience = 6.0

    def __init__(self, namespace: dict[str, Any]) -> None:
        self._executor = Executor(namespace)

    def ask(self, request: Request) -> Outcome:
        """Carry out one request in this process."""
        return self._executor.carry_out(replace(request, patience=self.patience))

    def answer_with(self, answer: Answer) -> None:
        """Set who answers the `Callback`s handed to the student's functions."""
        self._executor.answer = answer
