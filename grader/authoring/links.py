"""Links in a lesson's prose that nobody should have to type: to other lessons, to sections, to the papers it cites."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

# What isn't searched for words to link: code, formulas, comments, tags, links, headings, the summary of a fold.
CODE = re.compile(r"(?ms)^(?:```|~~~).*?^(?:```|~~~)[ ]*$|`+[^`\n]+`+")
CLOSED = re.compile(
    rf"{CODE.pattern}|\$\$.*?\$\$|\$[^$\n]+\$"
    r"|<!--.*?-->|<summary>.*?</summary>|<[^>\n]+>|!?\[[^\]]*\]\([^)]*\)|^#+ .*?$"
)
PART = re.compile(r"## (?P<number>\d+) · .*")
ANCHOR = "section-"  # and its number: JupyterLab doesn't find a heading that has more than ASCII
PAPERS = "papers.toml"
UNLINKED = "none: "  # how the entry of a paper without an address begins, before the reason

NUMBER = re.compile(r"\b\d+\b(?![^()]*\))")  # but not in a remark in brackets
MORE = r"(?:,|\s+and|\s+or|\s+to)\s+"
SECTIONS = (
    r"(?:\b[Ll]esson\s+(?P<owner>\d\d)(?:['’]s|,)?\s+\(?)?"
    rf"\b(?P<sections>[Ss]ection(?:\s+\d\d?|s\s+\d\d?(?:{MORE}\d\d?)*))(?!\.?\d)"
    r"(?:\s+(?:of|in)\s+lesson\s+(?P<of>\d\d)\b)?"
)
REMARK = r"(?:\s+\([^()]*\))?"  # "lessons 03 (attention), 04 (masks) and 05"
LESSONS = rf"\b(?P<lessons>[Ll]esson(?:(?::\*\*)?\s+\d\d|s\s+\d\d(?:{REMARK}{MORE}\d\d\b)*))(?!\d)"
NAME, YEAR = r"[A-ZÀ-Þ][\w'’-]+", r"(?:18|19|20)\d\d"
SEVERAL = rf"{NAME}(?:\s+et\s+al\.|(?:,\s+{NAME})*\s+and\s+{NAME})"
# Behind a paper, at once or after its title: a section of that paper.
OF_PAPER = r",(?:\s+\*[^*]+\*(?:\s+\(\w+\))?,)?\s+sections?\s+\d[\d.]*(?:\s+and\s+\d[\d.]*)?"


class Link(NamedTuple):
    """The piece of a text, `start` to `end`, that is to lead `to` an address, or what is wrong with it. Both are empty
    for what is to be no link."""

    start: int
    end: int
    to: str = ""
    wrong: str = ""


@dataclass(frozen=True)
class Places:
    """Where links can lead: the lessons' `names` by their numbers, the numbers of the `sections` that each lesson has,
    and the addresses of `papers` by the first author's name and the year, such as "Vaswani 2017"."""

    names: Mapping[str, str]
    sections: Mapping[str, frozenset[str]] = field(default_factory=dict)
    papers: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """What is looked for. One name alone is a paper only with brackets; one in small letters, if it is known."""
        one = "|".join([NAME, *(re.escape(paper.rpartition(" ")[0]) for paper in self.papers)])
        paper = (
            rf"(?:{SEVERAL}|{one})(?:\s+\({YEAR}\)|(?=\s+\({YEAR},))|{SEVERAL}\s+{YEAR}\b|(?<=\()(?:{one})\s+{YEAR}\b"
        )
        return re.compile(rf"(?<!\w)(?P<paper>{paper})(?:\s+\({YEAR})?(?:{OF_PAPER})?|{SECTIONS}|{LESSONS}")

    def links(self, source: str, lesson: str) -> Iterator[Link]:
        """What a text of the lesson with the number `lesson` names, in order, and where it is."""
        for match in self._pattern.finditer(blanked(source)):
            if match["paper"]:
                yield self._to_paper(match)
            elif match["sections"]:
                yield from self._to_sections(match, lesson)
            else:
                yield from self._to_lessons(match, lesson)

    def linked(self, source: str, lesson: str) -> str:
        """A text of the lesson with the number `lesson`, with its links.

        >>> places = Places({"01": "01_a", "02": "02_b"}, {"01": frozenset("4")})
        >>> places.linked("Lesson 02 and section 4.", "01")
        '[Lesson 02](02_b.ipynb) and [section 4](#section-4).'
        """
        for link in reversed([*self.links(source, lesson)]):
            if link.to:
                source = f"{source[: link.start]}[{source[link.start : link.end]}]({link.to}){source[link.end :]}"
        return source

    def _to_paper(self, match: re.Match[str]) -> Link:
        start, end = match.span("paper")
        year = re.findall(YEAR, match[0])[0]
        names = re.findall(r"[^\s,]+", match["paper"])
        # Not always the first word: "As Jain and Wallace (2019) say".
        author = next((name for name in names if f"{name} {year}" in self.papers), names[0])
        address = self.papers.get(f"{author} {year}", "")
        if address.startswith("https://"):
            return Link(start + match["paper"].index(author), end, to=address)
        if address.startswith(UNLINKED):
            return Link(start, end)
        what = f"has {address!r} as the address" if address else "has no address"
        said = " ".join(match["paper"].split())
        wrong = f"lessons/{PAPERS} {what} of {said}"
        expected = f'"{author} {year}" = "https://…", or "{UNLINKED}" and why there is no address'
        return Link(start, end, wrong=f"{wrong}; write there {expected}")

    def _to_sections(self, match: re.Match[str], lesson: str) -> Iterator[Link]:
        other = match["owner"] or match["of"] or lesson
        file = "" if other == lesson else f"{self.names.get(other)}.ipynb"
        whole = match.span("sections") if "(" in match[0] else match.span()
        for start, end, number in _pieces(match, "sections", whole):
            if other not in self.names:
                yield Link(start, end, wrong=f"there is no lesson {other}")
            elif number not in self.sections.get(other, ()):
                yield Link(start, end, wrong=f"lesson {other} has no section {number}")
            else:
                yield Link(start, end, to=f"{file}#{ANCHOR}{number}")

    def _to_lessons(self, match: re.Match[str], lesson: str) -> Iterator[Link]:
        for start, end, number in _pieces(match, "lessons", match.span()):
            if number not in self.names:
                yield Link(start, end, wrong=f"there is no lesson {number}")
            elif number != lesson:
                yield Link(start, end, to=f"{self.names[number]}.ipynb")


def _pieces(match: re.Match[str], group: str, whole: tuple[int, int]) -> Iterator[tuple[int, int, str]]:
    """The numbers of a group, each with the piece that is to be the link: itself, or `whole` behind a word in the
    singular."""
    numbers = [*NUMBER.finditer(match.string, *match.span(group))]
    is_whole = len(numbers) == 1 and match[group].split()[0].endswith("n")
    for number in numbers:
        start, end = whole if is_whole else number.span()
        yield start, end, number[0]


def sections(sources: Iterable[str]) -> frozenset[str]:
    """The numbers of the sections whose headings are in these texts."""
    lines = (line for source in sources for line in source.splitlines())
    return frozenset(found["number"] for line in lines if (found := PART.match(line)))


def blanked(source: str, closed: re.Pattern[str] = CLOSED) -> str:
    """A text as long as it was, with a NUL for each character where no links may stand (which `closed` matches)."""
    return closed.sub(lambda match: re.sub(r"[^\n]", "\0", match[0]), source)
