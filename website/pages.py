"""A page's source is written by one function in every language. The anchors are those of the English page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Concatenate, ParamSpec

from docutils.nodes import make_id

from grader.authoring.translation.texts import FRONT_MATTER
from grader.authoring.translation.units import MARKDOWN
from website.course import Course
from website.references import slug

ID, SLUG = "id-", "slug-"  # begin the classes of a heading that has an English name
Given = ParamSpec("Given")


def write(
    course: Course,
    path: Path,
    make: Callable[Concatenate[Course, Given], str],
    *args: Given.args,
    **kwargs: Given.kwargs,
) -> None:
    """Write what `make` makes of the course, in the language of its pages, to `path`."""
    text = said(course, make, *args, **kwargs)
    if not course.is_english:
        text = with_anchors(text, said(course.english, make, *args, **kwargs))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def said(
    course: Course, make: Callable[Concatenate[Course, Given], str], *args: Given.args, **kwargs: Given.kwargs
) -> str:
    """What `make` makes of the course, in the language of its pages."""
    with course.speaking():
        return make(course, *args, **kwargs)


def with_anchors(text: str, english: str) -> str:
    r"""A page's markdown in another language, with the names of the `english` headings as classes of its own, from
    which `languages.py` makes anchors.

    >>> with_anchors("# 소프트맥스\n\n점수", "# The softmax\n\nScores")
    '{.id-the-softmax .slug-the-softmax}\n# 소프트맥스\n\n점수'
    """
    lines = text.split("\n")
    names = [f"{{.{ID}{make_id(heading)} .{SLUG}{slug(heading)}}}" for _line, heading in _headings(english)]
    for (line, _heading), name in reversed(list(zip(_headings(text), names, strict=True))):
        lines.insert(line, name)
    return "\n".join(lines)


def _headings(markdown: str) -> Iterator[tuple[int, str]]:
    """The lines of the headings of a text, from 0, and what they say, without marks."""
    text = FRONT_MATTER.sub("", markdown)
    before = markdown.removesuffix(text).count("\n")
    for opening, inline in pairwise(MARKDOWN.parse(text)):
        if opening.type == "heading_open" and opening.map:
            yield before + opening.map[0], "".join(token.content for token in inline.children or ())
