"""What a student's code prints, warns and asks for while it runs is kept from the process it runs in."""

from __future__ import annotations

import builtins
import io
import sys
import warnings
from typing import Any

from grader.subject.protocol import OUTPUT_CHARACTERS
from grader.subject.raised import show_warning


class Guarded:
    """Gives every request the same conditions: printed text goes into `output`, and nobody answers `input()`.

    A class, because it is faster than nested generators: most of a submission's seventy or so requests take less time
    than those would.
    """

    def __init__(self, output: io.TextIOBase) -> None:
        self.output = output

    def __enter__(self) -> None:
        self.warn, warnings.showwarning = warnings.showwarning, show_warning
        self.streams, sys.stdout, sys.stderr = (sys.stdout, sys.stderr), self.output, self.output
        self.input, builtins.input = builtins.input, _nobody_answers

    def __exit__(self, *error: Any) -> None:
        builtins.input = self.input
        sys.stdout, sys.stderr = self.streams
        warnings.showwarning = self.warn


def _nobody_answers(_prompt: object = "") -> str:
    raise EOFError("nobody can answer `input()` while a function is checked, so use the function's arguments instead")


class CappedText(io.StringIO):
    """Keeps the first `OUTPUT_CHARACTERS` characters of printed text, so that a print in a loop takes no memory."""

    def write(self, text: str) -> int:
        room = OUTPUT_CHARACTERS - self.tell()
        if room > 0:
            super().write(str(text)[:room])
        return len(text)
