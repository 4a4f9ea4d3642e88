"""An exception of a student's code as plain data: its message, and the student's line that it came from."""

from __future__ import annotations

import linecache
import sysconfig
from pathlib import Path
from types import TracebackType

import torch

from grader.subject.protocol import MAX_MESSAGE, MAX_NAME, MAX_TYPES, Raised

_PATHS = sysconfig.get_paths()
# Frames in these places are never the student's.
_FOREIGN = (
    *(str(Path(_PATHS[place])) for place in ("stdlib", "purelib", "platlib")),
    str(Path(torch.__file__).parents[1]),  # where packages are installed, whatever `sysconfig` says
    str(Path(__file__).parents[1]),
    "<frozen",
)


def describe_exception(error: BaseException) -> Raised:
    """`error` with the last line of the student's code that it passed through."""
    types = tuple(base.__name__[:MAX_NAME] for base in type(error).__mro__[:MAX_TYPES] if base is not object)
    try:
        message = str(error)[:MAX_MESSAGE]
    except BaseException:  # a student's own exception class may do anything in its __str__
        message = ""
    line, number = _student_line(error.__traceback__)
    if isinstance(error, SyntaxError) and not line:
        line, number = str(error.text or "").strip(), error.lineno or 0
    return Raised(types, message, line[:MAX_MESSAGE], number)


def _student_line(traceback: TracebackType | None) -> tuple[str, int]:
    last = ("", 0)
    while traceback is not None:
        name = traceback.tb_frame.f_code.co_filename
        if not name.startswith(_FOREIGN):
            last = (linecache.getline(name, traceback.tb_lineno).strip(), traceback.tb_lineno)
        traceback = traceback.tb_next
    return last
