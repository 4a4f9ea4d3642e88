"""Divides Markdown into units of translation, and puts translated units back where they were.

A unit is what a reader takes in at once: a paragraph, a heading, an item of a list (its own text; nested items are
units of their own), a row of a table, the line of a fold (`<summary>`). Code, formulas on lines of their own, comments
such as `<!-- time -->`, tags and the line under a table's heads are no units and stay as they are.

A unit's text is one line, so wrapping it anew in the English source changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token

from grader.sentences import Translate

MARKDOWN = MarkdownIt("commonmark").enable("table")
SUMMARY = re.compile(r"(<summary>)(.*?)(</summary>)", re.DOTALL)
FORMULA = re.compile(r"\s*\$\$.*\$\$[.,]?\s*", re.DOTALL)
COMMENT = re.compile(r"\s*<!--.*?-->\s*", re.DOTALL)
HEADING = re.compile(r"(\s*#+ +)(.*)")
MARK = re.compile(r"\s*(?:(?:[-*+]|\d+[.)])\s+|> ?)*")  # of an item, of a quotation
QUOTATION = re.compile(r"\s*> ?")


@dataclass(frozen=True)
class Unit:
    """A text to translate."""

    kind: str  # heading, paragraph, item, row or summary
    text: str
    first: int  # its first line, from 0
    after: int  # the line after its last
    mark: str = ""  # what stands before it on its first line, such as `## ` or `- `


def units_of(markdown: str) -> list[Unit]:
    """The units of a text in their order.

    >>> [(unit.kind, unit.text) for unit in units_of("# A title\\n\\nTwo\\nlines.\\n\\n- `x`")]
    [('heading', 'A title'), ('paragraph', 'Two lines.')]
    """
    lines = markdown.split("\n")
    return [unit for unit in _all(lines, MARKDOWN.parse(markdown)) if has_words(unit.text)]


def has_words(text: str) -> bool:
    """Whether a text has a word outside of code, formulas, comments and tags."""
    outside = re.sub(r"`[^`]*`|\$[^$]*\$|<[^>]*>|\]\([^)]*\)|\{\w+\}", " ", text)
    return re.search(r"[^\W\d_]{2}|\b[aI]\b", outside) is not None


def translated(markdown: str, translate: Translate) -> str:
    """The text with every unit replaced by what `translate` makes of it; None keeps a unit as it is."""
    lines = markdown.split("\n")
    for unit in reversed(units_of(markdown)):
        text = translate(unit.text)
        if text is None:
            continue
        if unit.kind == "summary":
            block = "\n".join(lines[unit.first : unit.after])
            lines[unit.first : unit.after] = block.replace(
                f"<summary>{unit.text}</summary>", f"<summary>{text}</summary>", 1
            ).split("\n")
        else:
            lines[unit.first : unit.after] = [unit.mark + text]
    return "\n".join(lines)


def _all(lines: list[str], tokens: list[Token]) -> Iterator[Unit]:
    in_table = False
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.type in ("table_open", "table_close"):
            in_table = token.type == "table_open"
        if token.map is None:
            continue
        first, after = token.map
        if in_table:
            if token.type == "tr_open":
                line = lines[first]
                yield Unit("row", line.strip(), first, first + 1, line[: len(line) - len(line.lstrip())])
        elif token.type == "inline" and before is not None:
            yield from _inline(lines[first:after], before, first)
        elif token.type == "html_block":
            for found in SUMMARY.finditer("\n".join(lines[first:after])):
                yield Unit("summary", found[2], first, after)


def _inline(block: list[str], opening: Token, first: int) -> Iterator[Unit]:
    whole, after = "\n".join(block), first + len(block)
    if FORMULA.fullmatch(whole) or COMMENT.fullmatch(whole):
        return
    heading = HEADING.match(block[0]) if opening.type == "heading_open" else None
    if heading is not None:
        yield Unit("heading", heading[2], first, after, heading[1])
        return
    found = MARK.match(block[0])
    mark = found[0] if found else ""
    rest = [QUOTATION.sub("", line) if ">" in mark else line for line in block[1:]]
    text = " ".join([block[0][len(mark) :], *(line.strip() for line in rest)]).strip()
    yield Unit("item" if mark.strip() else "paragraph", text, first, after, mark)
