"""Keeps what a prediction's answer shows until a guess was made: its figures, its picture, its text, as one output.

The cell with the answer may be run before the guess, by "Run All" at least. What it displays is then put aside, and a
sentence stands in its place until `release`.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from IPython.display import DisplayHandle, display

from grader.languages import shown
from grader.sentences import say

ANSWER = re.compile(r'\bcompare_guess\(\s*"(?P<name>\w+)"')
WAITS = """\
The result appears here once you have guessed above.
If it doesn't, run this cell again. Where no buttons appear, add your guess:
predict(..., guess={example}), or guess="show" to look without one."""

Bundle = tuple[dict[str, Any], dict[str, Any]]  # data and metadata of an output
Later = Callable[[], Bundle]


@dataclass
class Held:
    """The outputs of one answer, by its prediction's `name`, and the handles of where they are shown once the guess was
    made."""

    name: str
    outputs: list[Bundle | Later] = field(default_factory=list)
    handles: list[DisplayHandle] = field(default_factory=list)

    def text(self, text: str) -> None:
        """Add printed text to the outputs."""
        last = self.outputs[-1] if self.outputs else None
        if isinstance(last, tuple) and last[1].get("printed"):
            last[0]["text/plain"] += text
        elif text:
            self.outputs.append(({"text/plain": text}, {"printed": True}))


class _Printed(io.TextIOBase):
    """The standard output while an answer is held: what is printed goes to `Held`."""

    def __init__(self, held: Held) -> None:
        self._held = held

    def write(self, text: str) -> int:
        self._held.text(text)
        return len(text)


class _Displayed(DisplayPublisher):
    """The publisher of outputs while an answer is held: what is displayed goes to `Held`."""

    def __init__(self, held: Held) -> None:
        super().__init__()
        self._held = held

    def publish(  # IPython's own
        self,
        data: Any,
        metadata: Any = None,
        source: Any = None,
        *,
        transient: Any = None,
        update: Any = False,
        **more: Any,
    ) -> None:
        if not update:
            self._held.outputs.append((data, dict(metadata or {})))

    def clear_output(self, wait: bool = False) -> None:
        self._held.outputs.clear()


class Holder:
    """Holds the answers of one IPython shell. `is_open` says, by a prediction's name, whether its answer may be seen;
    `example` gives, by its name, a guess that would be possible, as it stands in a call."""

    def __init__(self, shell: InteractiveShell, is_open: Callable[[str], bool], example: Callable[[str], str]) -> None:
        self._shell, self._is_open, self._example = shell, is_open, example
        self._now: Held | None = None  # of the cell that is running
        self._before: tuple[Any, Any] = (None, None)
        self._waiting: dict[str, Held] = {}
        shell.events.register("pre_run_cell", self._begin)
        shell.events.register("post_run_cell", self._end)

    def _begin(self, info: Any) -> None:
        found = ANSWER.search(info.raw_cell or "")
        if found is None or self._is_open(found["name"]):
            return
        self._now = Held(found["name"])
        self._before = sys.stdout, self._shell.display_pub
        sys.stdout, self._shell.display_pub = _Printed(self._now), _Displayed(self._now)

    def _end(self, result: Any) -> None:
        held, self._now = self._now, None
        if held is None:
            return
        sys.stdout, self._shell.display_pub = self._before
        if not result.success:  # its traceback is shown; there is no answer
            return
        self._waiting[held.name] = held
        waits: dict[str, Any] = {"text/plain": shown(say(WAITS, example=self._example(held.name)))}
        for data in [waits, *({"text/html": ""} for _ in held.outputs[1:])]:
            held.handles.append(display(data, raw=True, display_id=True))

    def later(self, output: Later) -> bool:
        """Put an output aside, if an answer is held now; it is made when it is shown. Whether it was put aside."""
        if self._now is not None:
            self._now.outputs.append(output)
        return self._now is not None

    def release(self, name: str) -> None:
        """Show what was put aside for the prediction `name`; nothing if nothing was."""
        held = self._waiting.pop(name, None)
        for handle, (data, metadata) in zip(held.handles, _made(held), strict=True) if held else ():
            handle.update(data, raw=True, metadata=metadata)


def _made(held: Held) -> Iterator[Bundle]:
    for output in held.outputs:
        data, metadata = output if isinstance(output, tuple) else output()
        yield data, {name: value for name, value in metadata.items() if name != "printed"}


def holder(is_open: Callable[[str], bool], example: Callable[[str], str]) -> Holder | None:
    """The `Holder` of this notebook; None outside of one."""
    shell = InteractiveShell._instance
    return None if shell is None else Holder(shell, is_open, example)
