"""A time limit on code in this process: by a signal where possible, else by an asynchronous exception."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import ctypes
import signal
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType


class TimeLimit(BaseException):
    """The code took too long. Not an `Exception`, so that a student's `except Exception` doesn't swallow it."""


def time_limit(seconds: float) -> AbstractContextManager[None]:
    """Raise `TimeLimit` inside the block after `seconds`.

    It is raised only after a running torch operation has returned. Without signals (on Windows, in a thread other than
    the main one) only Python code can be interrupted.
    """
    if threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer"):
        return _BySignal(seconds)
    return limit_in_thread(seconds)


class _BySignal:
    """Uses `_signal`: converting the enums of `signal` takes longer than many of the limited calls."""

    def __init__(self, seconds: float) -> None:
        self.seconds = max(seconds, 1e-3)

    def __enter__(self) -> None:
        self.previous = _signal.signal(_signal.SIGALRM, _raise)
        # Repeats: an `except:` inside a loop swallows the first exception.
        _signal.setitimer(_signal.ITIMER_REAL, self.seconds, 0.2)

    def __exit__(self, *_error: object) -> None:
        _signal.setitimer(_signal.ITIMER_REAL, 0)
        _signal.signal(_signal.SIGALRM, self.previous)


def _raise(_number: int, frame: FrameType | None) -> None:
    """Not while the limit is being taken off: its timer would go on, and strike at some later code."""
    while frame is not None:
        if frame.f_code is _BySignal.__exit__.__code__:
            return
        frame = frame.f_back
    raise TimeLimit


@contextmanager
def limit_in_thread(seconds: float) -> Iterator[None]:
    """The same without signals, for any thread. Only Python code can be interrupted."""
    target, lock, done = threading.get_ident(), threading.Lock(), False

    def raise_in_target() -> None:
        with lock:
            if not done:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(target), ctypes.py_object(TimeLimit))

    timer = threading.Timer(seconds, raise_in_target)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        with lock:
            done = True
        timer.cancel()
