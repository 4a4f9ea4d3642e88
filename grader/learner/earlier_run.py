"""Tells when what is checked comes from an earlier run of its cell: the cell was run again since, and failed, or it
defines another name now. Python keeps the old function, and nothing else would say so.
"""

from __future__ import annotations

import linecache
import re
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from grader.kernel import shell
from grader.sentences import say

DEFINED = re.compile(r"(?m)^(?:async +def|def|class) +(\w+)")


@dataclass
class CellRuns:
    """The last run of every cell, in `last`: the text, as Python saw it, and whether it came to its end. `cell_of` has
    the cell of every text that did; `reset` the thing that an exercise's cell defined before it was put back. Where the
    front end doesn't say which cell is run, a cell is known by what it defines first."""

    last: dict[str, tuple[str, bool]] = field(default_factory=dict)
    cell_of: dict[str, str] = field(default_factory=dict)
    reset: dict[str, object] = field(default_factory=dict)  # what was there when a cell was put back, by exercise

    def note(self, cell: str | None, text: str, ended: bool) -> None:
        """Note a run of a cell: its id (None where the front end gives none), its text, whether it came to its end."""
        first = DEFINED.search(text)
        cell = cell or (f"the cell of {first[1]}" if first else None)
        if cell is None:
            return
        self.last[cell] = text.strip(), ended
        if ended:
            self.cell_of[text.strip()] = cell

    def sentence_on(self, name: str, thing: object) -> str:
        """A sentence for the learner before the report on `thing`, the answer `name`; empty if the thing comes from the
        last run of its cell."""
        if thing is not None and self.reset.get(name) is thing:
            return say(RESET, name=name)
        text = _text_of(thing)
        cell = self.cell_of.get(text)
        if cell is None or self.last[cell][0] == text:
            return ""
        if not self.last[cell][1]:
            return say(FAILED, name=name)
        return say(DEFINES_ANOTHER, name=name)


RESET = "You reset the cell of `{name}` and haven't run it since, so this check looks at what an earlier run defined."
FAILED = (
    "The cell of `{name}` was run again and failed (see the error below it), so this check looks at what an earlier "
    "run defined."
)
DEFINES_ANOTHER = (
    "The cell of `{name}` was run again but doesn't define `{name}` any more, so this check looks at what an earlier "
    "run defined."
)
RUNS = CellRuns()


def _text_of(thing: object) -> str:
    """The text of the cell that defined a function or class; empty for anything else."""
    members = vars(thing).values() if isinstance(thing, type) else (thing,)
    codes = (getattr(member, "__code__", None) for member in members)
    code = next((code for code in codes if isinstance(code, CodeType)), None)
    return "".join(linecache.getlines(code.co_filename)).strip() if code is not None else ""


def _note(result: Any) -> None:
    """Note the run of a cell. IPython calls it after each one."""
    info = result.info
    if isinstance(info.raw_cell, str):
        try:
            text = shell().transform_cell(info.raw_cell)
        except Exception:  # a cell that even IPython can't read
            text = info.raw_cell
        RUNS.note(getattr(info, "cell_id", None), text, result.success)


def watch_cells() -> None:
    """Note every cell that is run from now on. Once is enough for a kernel."""
    running = shell()
    if running is not None and _note not in running.events.callbacks["post_run_cell"]:
        running.events.register("post_run_cell", _note)
