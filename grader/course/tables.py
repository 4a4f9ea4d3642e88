"""Files of comma-separated values: read as platforms export them, written so that spreadsheets run nothing."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

from grader.errors import CourseError

ENCODINGS = ("utf-8-sig", "cp1252")
SIGNS = ",;\t"
# A spreadsheet takes a text that begins so for a formula, and runs it.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", *"＝＋－＠")

NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
CONTROL = ("Cc", "Zl", "Zp")  # Unicode's categories of control characters and ends of lines


def rows_of(path: Path) -> list[list[str]]:
    """The rows of a file of values, whatever its encoding and the sign between them. `CourseError` if it can't be read
    or is no such file."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CourseError(f"{path}: {error.strerror}.") from None
    for encoding in ENCODINGS if data[:2] not in (b"\xff\xfe", b"\xfe\xff") else ("utf-16",):
        try:
            text = data.decode(encoding)
            break
        except UnicodeDecodeError:
            continue
    else:
        raise CourseError(f"{path}: this isn't text in UTF-8, UTF-16 or Windows-1252. Export it as CSV.")
    first = text.partition("\n")[0]
    sign = max(SIGNS, key=first.count)
    try:
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=sign, strict=True))
    except csv.Error as error:
        raise CourseError(f"{path}: this isn't a CSV file: {error}.") from None


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
