"""Links in a lesson's prose that nobody should have to type: to the other lessons that it names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

# What isn't searched for words to link: code, formulas, comments, tags, links, headings, the summary of a fold.
CODE = re.compile(r"(?ms)^(?:```|~~~).*?^(?:```|~~~)[ ]*$|`+[^`\n]+`+")
CLOSED = re.compile(
    rf"{CODE.pattern}|\$\$.*?\$\$|\$[^$\n]+\$"
    r"|<!--.*?-->|<summary>.*?</summary>|<[^>\n]+>|!?\[[^\]]*\]\([^)]*\)|^#+ .*?$"
)
LESSONS = re.compile(r"\b[Ll]essons?(?::\*\*)?\s+(\d\d)((?:(?:,| and| or| to| and of)\s+(?:lesson\s+)?\d\d\b)*)(?!\d)")
NUMBER = re.compile(r"\b\d\d\b")


def to_lessons(source: str, lesson: str, names: Mapping[str, str]) -> str:
    """The text `source` of the lesson with the number `lesson`, in which "lesson 03" is a link to the notebook beside
    it. `names`: the lessons' names by their numbers.

    >>> to_lessons("Lessons 01 and 02; **Next lesson:** 03.", "01", {"02": "02_b", "03": "03_c"})
    'Lessons 01 and [02](02_b.ipynb); **Next lesson:** [03](03_c.ipynb).'
    """

    def link(number: re.Match[str]) -> str:
        name = "" if number[0] == lesson else names.get(number[0], "")
        return f"[{number[0]}]({name}.ipynb)" if name else number[0]

    return open_text(source, lambda text: LESSONS.sub(lambda match: NUMBER.sub(link, match[0]), text))


def open_text(source: str, change: Callable[[str], str]) -> str:
    """A markdown text in which `change` was made wherever links may stand: not in code, formulas, HTML, links or
    headings."""
    pieces, at = [], 0
    for closed in CLOSED.finditer(source):
        pieces += [change(source[at : closed.start()]), closed[0]]
        at = closed.end()
    return "".join([*pieces, change(source[at:])])


def blanked(source: str, closed: re.Pattern[str] = CLOSED) -> str:
    """A text as long as it was, with a NUL for each character where no links may stand (which `closed` matches)."""
    return closed.sub(lambda match: re.sub(r"[^\n]", "\0", match[0]), source)
