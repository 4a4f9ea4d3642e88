"""The time limit by a signal is over when its block is."""

from __future__ import annotations

import os
import signal

import pytest

from grader.subject import time_limit as module
from grader.subject.time_limit import time_limit

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers here")


def test_an_alarm_that_comes_while_the_limit_is_taken_off_does_not_keep_it_on(monkeypatch):
    def late(which, seconds, interval=0.0):
        if not seconds:
            os.kill(os.getpid(), signal.SIGALRM)
        return signal.setitimer(which, seconds, interval)

    monkeypatch.setattr(module._signal, "setitimer", late)
    try:
        with time_limit(30):
            pass
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
