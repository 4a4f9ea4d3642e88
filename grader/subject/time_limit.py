"""A time limit on code that runs in this process, by a signal where that works and by an asynchronous exception
elsewhere.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import ctypes
import signal
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType


class TimeLimit(BaseException):
    """The code took longer than it may. No Exception, so that a student's `except Exception` doesn't swallow it."""


def time_limit(seconds: float) -> AbstractContextManager[None]:
    """Raise `TimeLimit` inside the block after `seconds`.

    A long operation inside torch ends first. Where there are no signals (Windows, a thread other than the main one) the
    limit reaches Python code only.
    """
    if threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer"):
        return _BySignal(seconds)
    return _by_thread(seconds)


class _BySignal:
    """`_signal` and not `signal`, whose enums take longer than many a call that is limited here."""

    def __init__(self, seconds: float) -> None:
        self.seconds = max(seconds, 1e-3)

    def __enter__(self) -> None:
        self.previous = _signal.signal(_signal.SIGALRM, _ring)
        # Rings again: an `except:` around a loop's body swallows the first one.
        _signal.setitimer(_signal.ITIMER_REAL, self.seconds, 0.2)

    def __exit__(self, *_error: object) -> None:
        _signal.setitimer(_signal.ITIMER_REAL, 0)
        _signal.signal(_signal.SIGALRM, self.previous)


def _ring(_number: int, _frame: FrameType | None) -> None:
    raise TimeLimit


@contextmanager
def _by_thread(seconds: float) -> Iterator[None]:
    target, lock, done = threading.get_ident(), threading.Lock(), False

    def ring() -> None:
        with lock:
            if not done:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(target), ctypes.py_object(TimeLimit))

    timer = threading.Timer(seconds, ring)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        with lock:
            done = True
        timer.cancel()
