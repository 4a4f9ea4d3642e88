"""Walks through JSON text and builds only what is asked for.

`json.loads` would build everything: 100 MB of a notebook's outputs can become 2 GB of Python objects. Here a value that
nobody wants is stepped over by a regular expression, which needs no memory. Of its text only brackets and strings are
looked at, to find its end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

SPACE = re.compile(rb"[ \t\n\r]*+")
STRING = rb'"(?:[^"\\]++|\\.)*+"'
KEY = re.compile(rb"[ \t\n\r]*+(" + STRING + rb")[ \t\n\r]*+:", re.DOTALL)
WHOLE_STRING = re.compile(STRING, re.DOTALL)
LITERAL = re.compile(rb"-?[0-9][0-9.eE+-]*+|true|false|null|NaN|-?Infinity")
# Everything up to the next bracket that matters: lists and objects with no others inside are taken whole.
FLAT = rb'(?:[^"\[\]{}]++|' + STRING + rb")*+"
RUN = re.compile(rb'(?:[^"\[\]{}]++|' + STRING + rb"|\[" + FLAT + rb"\]|\{" + FLAT + rb"\})*+", re.DOTALL)
KEY_BYTES = 200
# A step takes some microseconds. A notebook with 100 MB of text, pictures and plots takes a few thousand of them.
MAX_STEPS = 1_000_000


class NotJson(ValueError):
    """The text is not JSON, or was cut off."""


class TooManyValues(ValueError):
    """The text has so many values inside others that reading it would take too long."""


class Skimmer:
    """A place in a JSON text. At the start of a value call `skip`, `value`, `members` or `items`; whoever loops over
    members or items does so for each of them."""

    def __init__(self, text: bytes, start: int = 0) -> None:
        self._text, self.at, self._steps = text, start, 0

    def next(self) -> bytes:
        """The next character that is no space; empty at the end."""
        match = SPACE.match(self._text, self.at)
        assert match is not None  # it matches nothing, too
        self.at = match.end()
        return self._text[self.at : self.at + 1]

    def members(self) -> Iterator[str]:
        """The keys of an object, one by one; a long one, which is none of ours, as an empty text."""
        for _ in self._parts(b"{", b"}"):
            key = KEY.match(self._text, self.at)
            if key is None:
                raise NotJson
            self.at = key.end()
            yield str(json.loads(key[1].decode())) if len(key[1]) <= KEY_BYTES else ""

    def items(self) -> Iterator[None]:
        """The items of a list, one by one."""
        return self._parts(b"[", b"]")

    def _parts(self, opening: bytes, closing: bytes) -> Iterator[None]:
        self._take(opening)
        if self.next() == closing:
            self._take(closing)
            return
        while True:
            self._step()
            yield
            if self.next() == closing:
                self._take(closing)
                return
            self._take(b",")

    def value(self, max_bytes: int) -> Any:
        """The value that begins here; None if its text is longer than `max_bytes`."""
        self.next()
        start = self.at
        self.skip()
        return json.loads(self._text[start : self.at].decode()) if self.at - start <= max_bytes else None

    def skip(self) -> None:
        """Step over the value that begins here."""
        opening = self.next()
        if opening in (b"{", b"["):
            self._skip_nested()
            return
        match = (WHOLE_STRING if opening == b'"' else LITERAL).match(self._text, self.at)
        if match is None:
            raise NotJson
        self.at = match.end()

    def _skip_nested(self) -> None:
        text, at, depth = self._text, self.at + 1, 1
        while depth:
            self._step()
            match = RUN.match(text, at)
            assert match is not None  # it matches nothing, too
            at = match.end() + 1
            bracket = text[at - 1 : at]
            if bracket in (b"[", b"{"):
                depth += 1
            elif bracket in (b"]", b"}"):
                depth -= 1
            else:
                raise NotJson
        self.at = at

    def end(self) -> None:
        """There has to be nothing more."""
        if self.next():
            raise NotJson

    def _take(self, character: bytes) -> None:
        if self.next() != character:
            raise NotJson
        self.at += 1

    def _step(self) -> None:
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise TooManyValues
