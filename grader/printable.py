"""How a terminal and a log are told anything that somebody else has named: control characters, which a terminal obeys,
are shown as escapes; and how wide it is there."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import IO, Any

import click
from wcwidth import wcswidth


def printable(text: str) -> str:
    r"""`text` on one line for a terminal or a log: what is no letter, sign or space of its own is shown as an escape.

    >>> print(printable("a\n\x1b[2J\udcff ü"))
    a\n\x1b[2J\udcff ü
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def echo(text: object, *, nl: bool = True, err: bool = False, file: IO[Any] | None = None) -> None:
    """Write a command's words to the terminal as `click.echo` does, with everything `printable` but ends of lines and
    tabs. Every command says what it says through this alone."""
    lines = (map(printable, line.split("\t")) for line in str(text).split("\n"))
    click.echo("\n".join(map("\t".join, lines)), nl=nl, err=err, file=file)


def columns_of(text: str) -> int:
    """How many columns of a terminal a text takes. A syllable of Hangul takes two.

    >>> columns_of("points"), columns_of("점수 3")
    (6, 6)
    """
    return len(text) if text.isascii() else max(wcswidth(text), 0)


def padded(text: str, width: int, right: bool = False) -> str:
    """A text with blanks behind it up to this many columns of a terminal; in front of it, if it stands to the `right`.

    >>> padded("통과", 6) + "|", padded("통과", 6, right=True) + "|"
    ('통과  |', '  통과|')
    """
    blanks = " " * (width - columns_of(text))
    return blanks + text if right else text + blanks


def joined(names: Iterable[str]) -> str:
    """Names in one line, each `printable`."""
    return ", ".join(map(printable, names))


def shortened(lines: Sequence[str], most: int, rest: str = "and {} more") -> list[str]:
    """The first `most` of these lines, and where there are others a last one that says how many.

    >>> shortened(["a", "b", "c", "d"], 2)
    ['a', 'b', 'and 2 more']
    """
    more = len(lines) - most
    return [*lines[:most], *([rest.format(more)] if more > 0 else [])]


def json_text(data: object, ascii: bool = True) -> str:
    r"""Plain data as a JSON document in which everything but ends of lines is printable. `ascii`: in characters that
    any terminal has.

    >>> json_text("\x1b\x7f\u202e"), json_text("é\x9b", ascii=False)
    ('"\\u001b\\u007f\\u202e"', '"é\\u009b"')
    """
    text = json.dumps(data, indent=1, ensure_ascii=ascii)
    return "".join(c if c.isprintable() or c == "\n" else _escaped(c) for c in text)


def _escaped(sign: str) -> str:
    return f"\\u{ord(sign):04x}" if ord(sign) < 0x10000 else json.dumps(sign)[1:-1]
