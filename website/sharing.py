"""A Sphinx extension: a page's title, first sentences and picture, for whoever shares its address."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, Any

from grader.languages import ENGLISH, spoken
from grader.printable import columns_of

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PARAGRAPH = re.compile(r'<p(?: id="[^"]*")?>(.*?)</p>', re.DOTALL)
LEAST, MOST = 50, 200  # columns of a description: a syllable of Hangul takes two
PICTURE = "pictures/shared/01.png"


def setup(app: Sphinx) -> dict[str, Any]:
    """Have Sphinx put title, sentences and picture into each page's head."""
    app.connect("html-page-context", _describe)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _describe(app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    context["description"] = description(context.get("body", ""))
    lesson = re.match(r"lessons/(\d\d)_", page)
    picture = f"pictures/shared/{lesson[1]}.png" if lesson and lesson[1] != "00" else PICTURE
    up = "" if spoken() == ENGLISH else "../"
    site = app.config.html_context["addresses"].get("site", "")
    context["picture"] = f"{site}{picture}" if site else f"{up}{picture}"


def description(body: str) -> str:
    """The first sentences of a page, without marks; empty where it has none.

    >>> description("<p>Short.</p><p>A <em>mask</em> hides what must not be seen, and the rows that see nothing.</p>")
    'A mask hides what must not be seen, and the rows that see nothing.'
    """
    for paragraph in PARAGRAPH.finditer(body):
        text = " ".join(unescape(re.sub(r"<[^>]+>", "", paragraph[1])).split())
        if columns_of(text) >= LEAST:
            return text if len(text) <= MOST else f"{text[: text.rfind(' ', 0, MOST)]} …"
    return ""
