"""Text that came from a student's process, made fit to store and to show."""

from __future__ import annotations

import re

from grader.sentences import changed

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]")


def clean(text: str, limit: int) -> str:
    r"""`text` without terminal sequences and control characters, valid Unicode, cut to `limit` bytes with a mark. A
    sentence that isn't cut can still be said again.

    >>> clean("\x1b[32mall passed\x1b[0m", 100)
    'all passed'
    """
    said = changed(text, lambda value: _printable(value[: 4 * limit]))
    data = said.encode()
    return said if len(data) <= limit else data[:limit].decode("utf-8", "ignore") + "\n[cut]"


def _printable(text: str) -> str:
    text = _ESCAPES.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("", text).encode("utf-8", "replace").decode()
