"""The time limit by a signal is over when its block is."""

from __future__ import annotations

import importlib
import os
import signal
import time

import pytest

from grader.subject import time_limit as module
from grader.subject.time_limit import TimeLimit, limit_in_thread, time_limit

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


@pytest.mark.parametrize("limit", [time_limit, limit_in_thread])
def test_an_import_is_not_interrupted_and_the_code_has_its_time_after_it(limit, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(module, "AGAIN_SECONDS", 0.05)
    (tmp_path / "takes_long.py").write_text("import time\nfor _ in range(40):\n    time.sleep(0.02)\nvalue = 1\n")
    reached = []

    def code():
        import takes_long  # type: ignore[import-not-found]

        reached.append(takes_long.value)
        while True:
            time.sleep(0.01)

    with pytest.raises(TimeLimit), limit(0.2):
        code()
    assert reached == [1], "the import was interrupted"


@pytest.mark.parametrize("limit", [time_limit, limit_in_thread])
def test_an_endless_import_is_interrupted_later(limit, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(module, "AGAIN_SECONDS", 0.05)
    monkeypatch.setattr(module, "IMPORT_SECONDS", 0.2)
    (tmp_path / "never_ends.py").write_text("import time\nwhile True:\n    time.sleep(0.01)\n")
    with pytest.raises(TimeLimit), limit(0.1):
        importlib.import_module("never_ends")


def busy(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


@pytest.mark.parametrize("limit", [time_limit, limit_in_thread])
def test_by_the_processor_code_has_its_seconds_however_long_the_clock_says(limit):
    with limit(0.3, 100.0):
        busy(0.1)
        time.sleep(0.5)  # as where others have the machine
        busy(0.1)
    start = time.process_time()
    with pytest.raises(TimeLimit) as over, limit(0.3, 100.0):
        busy(30)
    assert time.process_time() - start < 10
    assert not over.value.waited


@pytest.mark.parametrize("limit", [time_limit, limit_in_thread])
def test_code_that_waits_is_ended_by_the_clock(limit):
    def wait():
        while True:
            time.sleep(0.01)

    start = time.monotonic()
    with pytest.raises(TimeLimit) as over, limit(0.2, 2.0):
        wait()
    assert time.monotonic() - start >= 0.3
    assert over.value.waited or limit is limit_in_thread
