"""A cell that calls what isn't written yet says so in one line: after "Run All" on a fresh notebook there is no
traceback at every "Try it"."""

from __future__ import annotations

import linecache
import sys
import traceback
from collections.abc import Callable
from typing import Any

from grader.kernel import shell
from grader.languages import shown
from grader.regions import STUB
from grader.sentences import say


def in_a_line(error: BaseException | None) -> str:
    """A sentence on an error that an unwritten cell raised; empty for any other, also for a part of torch that isn't
    implemented."""
    if type(error) is not NotImplementedError or error.args:
        return ""
    frame, line = list(traceback.walk_tb(error.__traceback__))[-1]
    if linecache.getline(frame.f_code.co_filename, line).strip() != STUB[1]:
        return ""
    name = frame.f_code.co_qualname.split(".")[0]
    if name.startswith("<"):
        return say("This cell is not written yet. Write it, then run it again.")
    return say("`{name}` is not written yet. Write it in its cell, then run this cell again.", name=name)


def say_so_in_a_line() -> None:
    """From now on, in this kernel, show a sentence in place of such an error's traceback. The cell has failed all the
    same."""
    running = shell()
    if running is not None and not hasattr(running.showtraceback, "shows"):
        running.showtraceback = _shortened(running.showtraceback)


def _shortened(show: Callable[..., None]) -> Callable[..., None]:
    def showtraceback(exc_tuple: Any = None, *args: Any, **kwargs: Any) -> None:
        error = (exc_tuple or sys.exc_info())[1]
        if said := in_a_line(error):
            vars(error)["_render_traceback_"] = lambda: [shown(said)]  # IPython shows what this returns
        show(exc_tuple, *args, **kwargs)

    showtraceback.shows = show  # type: ignore[attr-defined]
    return showtraceback
