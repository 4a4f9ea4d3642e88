"""Files of comma-separated values: read as platforms export them, written so that spreadsheets run nothing."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from grader.course.code_pages import decoded
from grader.errors import CourseError

SIGNS = ",;\t|"
SEPARATOR = re.compile(r"sep=(.)\r?\n")  # by this first line Excel is told the sign
# A spreadsheet takes a text that begins so for a formula, and runs it.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", *"＝＋－＠")

NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
CONTROL = ("Cc", "Zl", "Zp")  # Unicode's categories of control characters and ends of lines


def rows_of(path: Path) -> list[list[str]]:
    """The rows of a file of values, as `rows_and_page` reads them."""
    return rows_and_page(path)[0]


def rows_and_page(path: Path, encoding: str = "") -> tuple[list[list[str]], str]:
    """The rows of a file of values, whatever the sign between them, and its code page where that was guessed, else "".
    `encoding` is the code page that somebody named. `CourseError` if it can't be read or told, or is no such file."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CourseError(f"{path}: {error.strerror}.") from None
    text, guessed = decoded(path, data, encoding)
    named = SEPARATOR.match(text)
    text = text[named.end() :] if named else text
    try:
        sign = named[1] if named else max(SIGNS, key=lambda sign: len(next(_reader(text, sign), [])))
        return list(_reader(text, sign, strict=True)), guessed
    except csv.Error as error:
        raise CourseError(f"{path}: this isn't a CSV file: {error}.") from None


def _reader(text: str, sign: str, strict: bool = False) -> Iterator[list[str]]:
    return csv.reader(io.StringIO(text, newline=""), delimiter=sign, strict=strict)


def as_csv(rows: Iterable[Sequence[object]]) -> str:
    """Rows as the text of a CSV file, in which each text is made `harmless`."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(
        [harmless(cell) if isinstance(cell, str) else cell for cell in row] for row in rows
    )
    return text.getvalue()


def harmless(text: str) -> str:
    r"""A text of one line that no spreadsheet takes for a formula. A control character is a space: a carriage return
    would end a row for whoever reads it.

    >>> harmless("=1+1"), harmless("Ann\rLee"), harmless("-0.5")
    ("'=1+1", 'Ann Lee', '-0.5')
    """
    shown = "".join(" " if unicodedata.category(sign) in CONTROL else sign for sign in text)
    return f"'{shown}" if text.startswith(FORMULA) and not NUMBER.fullmatch(text) else shown


def without_mark(text: str) -> str:
    """A text as it was before `harmless`.

    >>> without_mark("'=1+1"), without_mark("'t Hart")
    ('=1+1', "'t Hart")
    """
    return text[1:] if text.startswith("'") and text[1:].startswith(FORMULA) else text
