"""The cells of a large notebook, one at a time. What makes it large, outputs and attachments, is stepped over.

In memory is the file itself and what is wanted of one cell, whatever the file holds.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import Any

from grader.judge.skim import Skimmer

MIB = 2**20
# In bytes of JSON, where one character may take twelve: of a cell's text, and of any mark.
SOURCE_BYTES, MARK_BYTES = 8 * MIB, 10_000
MARKS = ("nbgrader", "course")


class NoCells(ValueError):
    """The file is no notebook: it has no cells."""


def raw_cells(data: bytes) -> Iterator[Any]:
    """The cells as JSON has them, with nothing but what is read of a cell; None for what is no object, and in place of
    a text that is too long."""
    _check_encoding(data)
    text = Skimmer(data, len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0)
    if text.next() != b"{":
        text.skip()
        raise NoCells
    has_cells = False
    for key in text.members():
        if has_cells or text.next() != b"[" or key not in ("cells", "worksheets"):
            text.skip()
            continue
        has_cells = True
        yield from _cells(text) if key == "cells" else _worksheets(text)
    text.end()
    if not has_cells:
        raise NoCells


def _check_encoding(data: bytes) -> None:
    """A piece at a time: as text it may take four times the memory."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(data), MIB):
        decoder.decode(data[start : start + MIB])
    decoder.decode(b"", final=True)


def _worksheets(text: Skimmer) -> Iterator[Any]:
    """Of format 3, from before 2015."""
    for _ in text.items():
        if text.next() != b"{":
            text.skip()
            continue
        for key in text.members():
            if key == "cells" and text.next() == b"[":
                yield from _cells(text)
            else:
                text.skip()


def _cells(text: Skimmer) -> Iterator[Any]:
    for _ in text.items():
        if text.next() == b"{":
            yield _cell(text)
        else:
            text.skip()
            yield None


def _cell(text: Skimmer) -> dict[str, Any]:
    raw: dict[str, Any] = {}
    for key in text.members():
        if key in ("cell_type", "id"):
            raw[key] = text.value(MARK_BYTES)
        elif key in ("source", "input"):
            raw[key] = _source(text)
        elif key == "metadata" and text.next() == b"{":
            raw[key] = _marks(text)
        else:
            text.skip()
    return raw


def _source(text: Skimmer) -> Any:
    """A text, or its lines; None if it is something else or too long."""
    if text.next() != b"[":
        return _text(text)
    lines, start = [], text.at
    for _ in text.items():
        line = _text(text)
        if line is not None and text.at - start <= SOURCE_BYTES:
            lines.append(line)
    return lines if text.at - start <= SOURCE_BYTES else None


def _text(text: Skimmer) -> str | None:
    if text.next() == b'"':
        return text.value(SOURCE_BYTES)
    text.skip()
    return None


def _marks(text: Skimmer) -> dict[str, Any]:
    """The members of a cell's metadata by which it is known again."""
    raw: dict[str, Any] = {}
    for key in text.members():
        if key in MARKS:
            raw[key] = text.value(MARK_BYTES)
        else:
            text.skip()
    return raw
