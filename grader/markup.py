"""Text with `code` in backquotes, as hints and messages are written, for a page of HTML."""

from __future__ import annotations

from html import escape


def inline(text: str) -> str:
    """Escape text and turn its `code` into code.

    >>> inline("`a < b` holds")
    '<code>a &lt; b</code> holds'
    """
    pieces = escape(text).split("`")
    return "".join(f"<code>{piece}</code>" if i % 2 else piece for i, piece in enumerate(pieces))
