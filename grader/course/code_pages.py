"""In which code page a list was written: told by its bytes, or asked for where they could be read in two ways.

Excel writes UTF-8 with a byte order mark, UTF-16, or the code page of its Windows: 1252 in the west of Europe, 949 in
Korea. The last two have the same bytes for other letters, so that a wrong guess would give people other names.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from pathlib import Path

from grader.errors import CourseError

MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
WORD = re.compile(r"[^\W\d_]+")
PUNCTUATION = "’–´\u00a0"  # of code page 1252, that names in it have beside letters
COMMON = 0.8  # at least so many of the syllables in names are among the 2,350 of Korea's older standard


def decoded(path: Path, data: bytes, encoding: str = "") -> tuple[str, str]:
    """The text of a list, and its code page where that was guessed, else ""; `encoding` is the one that somebody named.
    `CourseError` if it can't be told, with what to say, or if the text isn't in the one that was named."""
    if encoding:
        return _as_told(path, data, encoding), ""
    for mark, name in MARKS:
        if data.startswith(mark):
            return _as_told(path, data, name), ""
    if b"\0" in data[:2000]:
        return _as_told(path, data, "utf-16-be" if data[:1] == b"\0" else "utf-16-le"), ""
    if (text := _text(data, "utf-8")) is not None:
        return text, ""
    read = {name: text for name in LIKELY if (text := _text(data, name)) is not None}
    fitting = [name for name, text in read.items() if LIKELY[name](text)]
    if len(fitting) == 1:
        return read[fitting[0]], fitting[0]
    raise CourseError(
        f"{path}: it isn't known in which code page this list is written, since it isn't UTF-8 and "
        f"{'more than one fits' if fitting else 'neither cp1252 nor cp949 fits'}.\n{_choices(data, read)}"
        "Save it as UTF-8 (in Excel: CSV UTF-8), or name its code page: --encoding cp1252 (western Europe), cp949 "
        "(Korea), cp1250 (central Europe), cp932 (Japan), gb18030 (China) or mac_roman"
    )


def _as_told(path: Path, data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except LookupError:
        raise CourseError(f"--encoding {encoding}: Python knows no code page of that name.") from None
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise CourseError(f"{path}:{line}: this isn't text in {encoding}.") from None


def _text(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def _choices(data: bytes, read: dict[str, str]) -> str:
    """How the first line that isn't ASCII reads in each code page."""
    lines = data.splitlines()
    number = next((number for number, line in enumerate(lines) if not line.isascii()), 0)
    return "".join(f"  line {number + 1} in {name}: {text.splitlines()[number]}\n" for name, text in read.items())


def _western(text: str) -> bool:
    """Whether a text reads like one of code page 1252: its letters are Latin, at least half of each word is ASCII,
    capitals begin words, and it has no signs that names don't have."""
    signs = {c for c in text if not c.isascii()}
    if any(c not in PUNCTUATION and not unicodedata.name(c, "").startswith("LATIN") for c in signs):
        return False
    words = [word for word in WORD.findall(text) if len(word) > 1 and not word.isascii()]
    return all(
        sum(not c.isascii() for c in word) <= len(word) / 2
        and (word.isupper() or not any(c.isupper() and not c.isascii() for c in word[1:]))
        for word in words
    )


def _korean(text: str) -> bool:
    """Whether a text reads like one of code page 949: words are either of Hangul or of ASCII, and most syllables are
    common ones."""
    others = [c for c in text if not c.isascii()]
    if not all(unicodedata.name(c, "").startswith("HANGUL SYLLABLE") for c in others):
        return False
    common = sum(len(c.encode("euc_kr", "ignore")) == 2 for c in others)
    return common >= COMMON * len(others) and all(
        word.isascii() or not any(map(str.isascii, word)) for word in WORD.findall(text)
    )


LIKELY: dict[str, Callable[[str], bool]] = {"cp1252": _western, "cp949": _korean}
