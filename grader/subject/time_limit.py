"""A time limit on code in this process: by a signal where possible, else by an asynchronous exception.

The seconds are those of the processor, since others may keep the machine busy: code that an idle machine runs in a
second may need a minute by the clock. Code that sleeps or waits uses none, so the clock has a limit too, `patience`
times as long. Without patience the clock alone counts.

An import is not interrupted: a module that is half loaded fails from then on. torch loads a large part of itself with
the first optimizer, which takes seconds of a limit of a few. So once an import is over, the code has its time again.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import ctypes
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import CodeType, FrameType

# How long imports are waited for, and how often after the limit it is looked whether one is over.
IMPORT_SECONDS = 60.0
AGAIN_SECONDS = 0.2
IMPORT_SYSTEM = "<frozen importlib._bootstrap>"
# The clocks of process and machine don't tick together: so near to its end time is over.
NEAR = 0.01


class TimeLimit(BaseException):
    """The code took too long. Not an `Exception`, so that a student's `except Exception` doesn't swallow it. `waited`:
    it took too long by the clock only, and used less of the processor than it may."""

    def __init__(self, waited: bool = False) -> None:
        super().__init__()
        self.waited = waited


def time_limit(seconds: float, patience: float = 1.0) -> AbstractContextManager[None]:
    """Raise `TimeLimit` inside the block after `seconds` of the processor, or `patience` times as long by the clock.

    It is raised only after a running torch operation has returned. Without signals (on Windows, in a thread other than
    the main one) only Python code can be interrupted.
    """
    if threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer"):
        return _BySignal(seconds, patience)
    return limit_in_thread(seconds, patience)


class _Time:
    """How much longer code may run that had `seconds` of the processor, and `patience` times as many by the clock."""

    def __init__(self, seconds: float, patience: float) -> None:
        self.seconds, self._by_clock = seconds, seconds * max(patience, 1.0)
        self._start()
        self._importing = False
        self._last_import = self._started + self._by_clock + IMPORT_SECONDS

    def _start(self) -> None:
        self._started, self._used_before = time.monotonic(), time.process_time()

    def left(self, frame: FrameType | None) -> float:
        """Seconds until the code at `frame` has to be looked at again; 0 if its time is over. More than 0 if it may
        still use the processor, or if it imports something, after which it has its time anew."""
        now, used = time.monotonic(), time.process_time() - self._used_before
        if used < self.seconds - NEAR and not self.waited():
            until = self._started + self._by_clock - now
            return max(min(self.seconds - used, until), NEAR)
        if now < self._last_import and any(code.co_filename == IMPORT_SYSTEM for code in _running(frame)):
            self._importing = True
            return AGAIN_SECONDS
        self._importing, imported = False, self._importing
        if imported:
            self._start()
        return self.seconds if imported else 0.0

    def waited(self) -> bool:
        """Whether the clock's limit is over and the processor's isn't."""
        used = time.process_time() - self._used_before
        late = time.monotonic() - self._started >= self._by_clock - NEAR
        return late and used < self.seconds - NEAR


class _BySignal:
    """The time limit by a signal. It uses `_signal`, since converting the enums of `signal` takes longer than many of
    the limited calls."""

    def __init__(self, seconds: float, patience: float = 1.0) -> None:
        self.seconds = max(seconds, 1e-3)
        self.time = _Time(self.seconds, patience)

    def __enter__(self) -> None:
        self.previous = _signal.signal(_signal.SIGALRM, self._raise)
        # Repeats: an `except:` inside a loop swallows the first exception.
        _signal.setitimer(_signal.ITIMER_REAL, self.seconds, AGAIN_SECONDS)

    def __exit__(self, *_error: object) -> None:
        _signal.setitimer(_signal.ITIMER_REAL, 0)
        _signal.signal(_signal.SIGALRM, self.previous)

    def _raise(self, _number: int, frame: FrameType | None) -> None:
        """Raise `TimeLimit` if the time is over. Not while the limit is being taken off: its timer would go on, and
        strike at some later code."""
        if _BySignal.__exit__.__code__ in _running(frame):
            return
        if longer := self.time.left(frame):
            _signal.setitimer(_signal.ITIMER_REAL, longer, AGAIN_SECONDS)
            return
        raise TimeLimit(self.time.waited())


@contextmanager
def limit_in_thread(seconds: float, patience: float = 1.0) -> Iterator[None]:
    """Raise `TimeLimit` inside the block like `time_limit`, but without signals, in any thread. Only Python code can be
    interrupted, and the error doesn't say whether it only waited."""
    target, lock, done = threading.get_ident(), threading.Lock(), threading.Event()
    left = _Time(seconds, patience)

    def raise_in_target() -> None:
        longer = seconds
        while longer and not done.wait(longer):
            longer = left.left(sys._current_frames().get(target))
        with lock:
            if not done.is_set():
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(target), ctypes.py_object(TimeLimit))

    threading.Thread(target=raise_in_target, daemon=True).start()
    try:
        yield
    finally:
        with lock:
            done.set()


def _running(frame: FrameType | None) -> Iterator[CodeType]:
    """The code that is run at `frame`, and that of all its callers."""
    while frame is not None:
        yield frame.f_code
        frame = frame.f_back
