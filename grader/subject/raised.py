"""An exception of a student's code as plain data: its message, and the student's line that it came from."""

from __future__ import annotations

import dis
import linecache
import os
import re
import sys
import sysconfig
from functools import lru_cache
from pathlib import Path
from types import FrameType, TracebackType
from typing import TextIO

import torch

from grader.subject.protocol import MAX_MESSAGE, MAX_NAME, MAX_TYPES, Place, Raised

RAISE = dis.opmap["RAISE_VARARGS"]  # also what an `assert` ends in
_PATHS = sysconfig.get_paths()
# Frames in these places are never the student's.
_FOREIGN = (
    *(str(Path(_PATHS[place])) for place in ("stdlib", "purelib", "platlib")),
    str(Path(torch.__file__).parents[1]),  # where packages are installed, whatever `sysconfig` says
    str(Path(__file__).parents[1]),
    "<frozen",
)


def describe_exception(error: BaseException) -> Raised:
    """`error` with the innermost line of the student's code that it passed through."""
    types = tuple(base.__name__[:MAX_NAME] for base in type(error).__mro__[:MAX_TYPES] if base is not object)
    try:
        message = str(error)[:MAX_MESSAGE]
    except BaseException:  # a student's own exception class may do anything in its __str__
        message = ""
    own = _student_entries(error.__traceback__)
    if not own:
        if isinstance(error, SyntaxError):
            message = f"{message} in Python {sys.version_info.major}.{sys.version_info.minor}"  # newer ones read more
            return Raised(types, message, str(error.text or "").strip()[:MAX_MESSAGE], error.lineno or 0)
        return Raised(types, message)
    last, code = own[-1], own[-1].tb_frame.f_code
    return Raised(
        types,
        message,
        linecache.getline(code.co_filename, last.tb_lineno).strip()[:MAX_MESSAGE],
        last.tb_lineno,
        function=code.co_qualname[:MAX_NAME],
        file=os.path.basename(code.co_filename)[:MAX_NAME] if os.path.isfile(code.co_filename) else "",
        called=own[0].tb_frame.f_code.co_qualname[:MAX_NAME],
        deliberate=last.tb_next is None and code.co_code[last.tb_lasti] == RAISE,
    )


def show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning with the student's line that led to it, as Python's `showwarning` does: none comes from the
    grader, which only watches the calls. Warnings meant for the authors of libraries are left out, as Python does."""
    if issubclass(category, DeprecationWarning | PendingDeprecationWarning):
        return
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_foreign(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is not None:
        filename, lineno = frame.f_code.co_filename, frame.f_lineno
    text = re.sub(r" ?\(Triggered internally at [^)]*\)", "", str(message))
    line = linecache.getline(filename, lineno).strip()
    print(f"{category.__name__} at line {lineno}{f', `{line}`' if line else ''}: {text}", file=sys.stderr)


def place_of(frame: FrameType | None) -> Place | None:
    """The student's line that led to `frame`; None if there is none below the executor, which calls the student's
    code."""
    while frame is not None and frame.f_globals.get("__name__") != "grader.subject.executor":
        code = frame.f_code
        if not is_foreign(code.co_filename) and not code.co_filename.startswith("<eval_with_key>"):
            line = linecache.getline(code.co_filename, frame.f_lineno).strip()  # of today: a file may have been edited
            return Place(code.co_qualname[:MAX_NAME], frame.f_lineno, line[:MAX_NAME], _file(code.co_filename))
        frame = frame.f_back
    return None


@lru_cache(maxsize=1000)
def _file(path: str) -> str:
    """The name of the file that code is from, empty for a cell."""
    return os.path.basename(path)[:MAX_NAME] if os.path.isfile(path) else ""


@lru_cache(maxsize=1000)
def is_foreign(filename: str) -> bool:
    """Whether a file is Python's, a package's or the grader's, so not the student's."""
    return filename.startswith(_FOREIGN)


def _student_entries(traceback: TracebackType | None) -> list[TracebackType]:
    """The entries of a traceback that are the student's, outermost first."""
    own = []
    while traceback is not None:
        if not is_foreign(traceback.tb_frame.f_code.co_filename):
            own.append(traceback)
        traceback = traceback.tb_next
    return own
