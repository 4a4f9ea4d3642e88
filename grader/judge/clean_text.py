"""Text that came from a student's process, made fit to store and to show."""

from __future__ import annotations

import re

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]")


def clean(text: str, limit: int) -> str:
    r"""`text` without terminal sequences and control characters, valid Unicode, cut to `limit` bytes with a mark.

    >>> clean("\x1b[32mall passed\x1b[0m", 100)
    'all passed'
    """
    text = text[: 4 * limit]
    text = _ESCAPES.sub("", text)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    data = _CONTROL.sub("", text).encode("utf-8", "replace")
    if len(data) <= limit:
        return data.decode()
    return data[:limit].decode("utf-8", "ignore") + "\n[cut]"
