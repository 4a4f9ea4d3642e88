"""A time limit on code in this process: by a signal where possible, else by an asynchronous exception.

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


class _Imports:
    """Whether an import excuses the code at the end of its time."""

    def __init__(self, seconds: float) -> None:
        self._last = time.monotonic() + seconds + IMPORT_SECONDS
        self._seen = False

    def wait(self, seconds: float, frame: FrameType | None) -> float:
        """How much longer the code at `frame` may go on: until an import is over, then its `seconds`, or 0."""
        if time.monotonic() < self._last and any(code.co_filename == IMPORT_SYSTEM for code in _running(frame)):
            self._seen = True
            return AGAIN_SECONDS
        self._seen, imported = False, self._seen
        return seconds if imported else 0.0


class _BySignal:
    """Uses `_signal`: converting the enums of `signal` takes longer than many of the limited calls."""

    def __init__(self, seconds: float) -> None:
        self.seconds = max(seconds, 1e-3)
        self.imports = _Imports(self.seconds)

    def __enter__(self) -> None:
        self.previous = _signal.signal(_signal.SIGALRM, self._raise)
        # Repeats: an `except:` inside a loop swallows the first exception.
        _signal.setitimer(_signal.ITIMER_REAL, self.seconds, AGAIN_SECONDS)

    def __exit__(self, *_error: object) -> None:
        _signal.setitimer(_signal.ITIMER_REAL, 0)
        _signal.signal(_signal.SIGALRM, self.previous)

    def _raise(self, _number: int, frame: FrameType | None) -> None:
        """Not while the limit is being taken off: its timer would go on, and strike at some later code."""
        if _BySignal.__exit__.__code__ in _running(frame):
            return
        if longer := self.imports.wait(self.seconds, frame):
            _signal.setitimer(_signal.ITIMER_REAL, longer, AGAIN_SECONDS)
            return
        raise TimeLimit


@contextmanager
def limit_in_thread(seconds: float) -> Iterator[None]:
    """The same without signals, for any thread. Only Python code can be interrupted."""
    target, lock, done = threading.get_ident(), threading.Lock(), threading.Event()
    imports = _Imports(seconds)

    def raise_in_target() -> None:
        longer = seconds
        while longer and not done.wait(longer):
            longer = imports.wait(seconds, sys._current_frames().get(target))
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
    """The code that is run at `frame`, and that of all who called it."""
    while frame is not None:
        yield frame.f_code
        frame = frame.f_back
