"""What a lesson refers to: other lessons, terms of the glossary, views. All of it has to be there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from myst_parser.mdit_to_docutils.base import github_slugify

import grader.views
from grader.authoring.lesson import Lesson, LessonCell, Problem
from grader.authoring.links import ANCHOR, CODE, PART, blanked
from grader.errors import LessonError
from grader.languages import ENGLISH, shown, spoken
from grader.subject.cells import parse_cell
from website.course import GLOSSARY, Course, line_of

LINK = re.compile(r"(?<!!)\[(?P<words>[^\]]*)\]\((?P<to>[^)\s]+)\)")
TO_TERM = "#term-"
KEYS = ("lesson", "words", "meaning")  # of a term of the glossary


def check_references(course: Course) -> None:
    """Raise `LessonError` with every reference that leads nowhere, its file and line; nothing happens if all lead
    somewhere."""
    wrong = [problem for lesson in course.lessons.values() for problem in _problems(course, lesson)]
    wrong += _of_glossary(course)
    if wrong:
        raise LessonError(wrong)


def _problems(course: Course, lesson: Lesson) -> Iterator[Problem]:
    for cell in lesson.cells:
        if cell.is_code:
            yield from _views(lesson, cell)
            continue
        for match in LINK.finditer(blanked(cell.source, CODE)):
            to, line = match["to"], line_of(cell, match.start())
            if to.startswith(TO_TERM) and to not in map(address_of, course.terms):
                term = to.removeprefix(TO_TERM)
                yield lesson.problem(cell, f"there is no term {term!r} in website/glossary.toml", line)
            elif to.removesuffix(".ipynb") not in course.lessons and not to.startswith(
                (TO_TERM, "https://", "http://")
            ):
                what = "#term-…, to another lesson's notebook or to https://…"
                yield lesson.problem(cell, f"the link to {to!r} leads to no page; a lesson links to {what}", line)


def _views(lesson: Lesson, cell: LessonCell) -> Iterator[Problem]:
    for node in ast.walk(parse_cell(cell.source, "<cell>")):
        if isinstance(node, ast.ImportFrom) and node.module == "grader.views":
            for alias in node.names:
                if alias.name not in grader.views.__all__:
                    line = cell.first + node.lineno - 1
                    yield lesson.problem(cell, f"there is no view {alias.name} in grader.views", line)


def _of_glossary(course: Course) -> Iterator[Problem]:
    """The problems of the glossary: a term without a meaning, without a lesson that is there, or whose words that
    lesson doesn't have."""
    for term, entry in course.terms.items():
        wrong = _wrong_entry(course, term, entry)
        if wrong:
            yield Problem(GLOSSARY, course.line_in(GLOSSARY, term), "", f"{term}: {wrong}")


def _wrong_entry(course: Course, term: str, entry: object) -> str:
    """What is wrong with the `entry` of a term; empty if nothing is."""
    if not isinstance(entry, dict):
        return f"a term is a table, [{term}], with the keys {', '.join(KEYS)}"
    for key, value in entry.items():
        if key not in KEYS:
            return f"it has the key {key!r}; a term has only {', '.join(KEYS)}"
        if not isinstance(value, str):
            return f"its {key} is text in quotes, not {value!r}"
    if not entry.get("meaning"):
        return "it has no meaning"
    lesson = course.by_number.get(entry.get("lesson", ""))
    if lesson is None:
        return f"there is no lesson {entry['lesson']!r}" if entry.get("lesson") else "it has no lesson"
    if place_of(words_of(course, term), [one.source for one in lesson.cells if not one.is_code]) is None:
        return f"lesson {lesson.number} doesn't have the words {words_of(course, term)!r}"
    if any(other != term and other.lower() == term.lower() for other in course.terms):
        return "it is there twice, in capitals and small letters"
    return ""


def words_of(course: Course, term: str) -> str:
    """The words with which a term's lesson introduces it, in the language of the pages."""
    return shown(str(course.terms[term].get("words", term)))


def term_of(term: str) -> str:
    """A term as the glossary has it: in another language with the English one behind it, from which its anchor is made
    in every language."""
    said = shown(term)
    return term if said == term else f"{said} ({term})"


def place_of(words: str, sources: list[str]) -> tuple[int, int, int] | None:
    """The place where texts introduce words: the number of the text, and the begin and end in it; None if they don't.

    Words set off by asterisks count first, then the first time they appear at all.

    >>> place_of("mask", ["", "A mask. A *mask* hides."])
    (1, 11, 15)
    """
    said = r"\s+".join(re.escape(word) for word in words.split())
    for pattern in (rf"(?i)(?<=\*){said}(?=[\w:,.]{{0,2}}\*)", rf"(?i)(?<!\w){said}(?=\w{{0,2}}(?!\w))"):
        for number, source in enumerate(sources):
            found = re.search(pattern, blanked(source))
            if found:
                return number, found.start(), found.end()
    return None


def address_of(term: str) -> str:
    """The address of a term as a lesson writes it.

    >>> address_of("teacher forcing")
    '#term-teacher-forcing'
    """
    return TO_TERM + term.replace(" ", "-")


def slug(heading: str) -> str:
    """The name by which links lead to a heading: a numbered section has that of its anchor in the notebook, any other
    the one that GitHub gives it. In another language than English that is its English name, which it has already.

    >>> slug("4 · Softmax"), slug("The dates")
    ('section-4', 'the-dates')
    """
    section = PART.match(f"## {heading}")
    if section:
        return f"{ANCHOR}{section['number']}"
    return github_slugify(heading) if spoken() == ENGLISH else ""


def from_lesson(source: str, lesson: str) -> str:
    """A text of a lesson on a page of another folder: its links lead to the same pages as in the lesson.

    >>> from_lesson("[section 4](#section-4) of [lesson 02](02_b.ipynb)", "01_a")
    '[section 4](../lessons/01_a.ipynb#section-4) of [lesson 02](../lessons/02_b.ipynb)'
    """
    own = source.replace(f"](#{ANCHOR}", f"]({lesson}.ipynb#{ANCHOR}")
    return re.sub(r"\]\((?=\d\d_\w+\.ipynb)", "](../lessons/", own)


def to_terms(course: Course, source: str) -> str:
    """A markdown text with its links to terms as Sphinx reads them."""
    terms = {address_of(term): term_of(term) for term in course.terms}

    def link(match: re.Match[str]) -> str:
        return f"{{term}}`{match['words']} <{terms[match['to']]}>`" if match["to"] in terms else match[0]

    return LINK.sub(link, source)
