"""How a terminal and a log are told anything that somebody else has named: control characters, which a terminal obeys,
are shown as escapes."""

from __future__ import annotations

from typing import IO, Any

import click


def printable(text: str) -> str:
    r"""`text` on one line for a terminal or a log: what is no letter, sign or space of its own is shown as an escape.

    >>> print(printable("a\n\x1b[2J\udcff ü"))
    a\n\x1b[2J\udcff ü
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def say(text: object, *, nl: bool = True, err: bool = False, file: IO[Any] | None = None) -> None:
    """Write a command's words to the terminal as `click.echo` does, each line of them `printable`."""
    lines = str(text).split("\n")
    click.echo("\n".join(map(printable, lines)), nl=nl, err=err, file=file)
