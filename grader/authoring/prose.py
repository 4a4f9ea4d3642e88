"""What the build adds to a lesson's prose: where one is, how long it takes, folds; and what of it is plain text.

Minutes are for somebody who meets the subject for the first time (docs/build.md has the rule).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from io import StringIO
from tokenize import NEWLINE, generate_tokens
from typing import NamedTuple

from nbformat import NotebookNode

from grader.authoring.lesson import Lesson, LessonCell
from grader.authoring.links import ANCHOR, PART
from grader.authoring.states import is_view
from grader.authoring.translation.units import translated
from grader.regions import BEGIN, cut
from grader.sentences import Translate, in_language, say

WORDS_A_MINUTE = 180
A_LINE_READ = 0.1  # minutes for a logical line of open code
A_LEVEL, A_LINE, A_QUESTION = 3.9, 1.3, 2.6  # minutes: a level of difficulty, a line of the solution, a question
PNG = "image/png"
ENOUGH = 60  # characters of an alternative text
TEXT_BELOW = say("A plot, described in the text below it.")
TIME_MARK = "<!-- time -->"
MORE = "## For those who want more"  # what follows takes time of its own
SECTION = re.compile(r"(?m)^(?=## )")
DIFFICULTY = re.compile(r"(?m)^(### Exercise(?: \d+)?: `(\w+)`\s+)Difficulty (\d) of 5$")
IN_WORDS = re.compile(r"(?m)^\*The picture in words:\* ((?:.+(?:\n|\Z))+)")
PICTURE_IN_WORDS = "The picture in words"  # the line of its fold
FOLDED = re.compile(r"<details><summary>(.+?)</summary>\s+(.+?)\s+</details>", re.DOTALL)
SENTENCE = re.compile(r"(?<=[.!?:])\s")
FOLD = re.compile(r"(?s)<details>.*?</details>")
BLANK = re.compile(r'(?m)^\s+"\w+": \.\.\.,')
WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*")
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
# What is no prose: code, comments and tags, formulas, tables, headings, the address of a link, marks. The order counts.
NO_PROSE = (
    (re.compile(r"(?ms)^```.*?^```$"), ""),
    (re.compile(r"`[^`\n]+`"), ""),
    (re.compile(r"(?s)<!--.*?-->|<[^>]+>"), ""),
    (re.compile(r"(?s)\$\$.*?\$\$"), ""),
    (re.compile(r"\$[^$\n]+\$"), ""),
    (re.compile(r"(?m)^(?:\|.*|#+ .*)$"), ""),
    (LINK, r"\1"),
    (re.compile(r"[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}"), ""),
)


def plain(markdown: str) -> str:
    """The prose of a markdown cell, without code, formulas, tables and headings.

    >>> plain("# Title\\n\\n**Rows** of weights, `w`, sum to one.")
    'Rows of weights, , sum to one.'
    """
    for pattern, instead in NO_PROSE:
        markdown = pattern.sub(instead, markdown)
    return markdown.strip()


def unfolded(markdown: str) -> str:
    """What is seen of a markdown cell while all folds are closed."""
    return IN_WORDS.sub("", FOLD.sub("", markdown))


def words(text: str) -> list[str]:
    """The words of a plain text; numbers aren't counted."""
    return WORD.findall(text)


class Times(NamedTuple):
    """Minutes of a lesson: of its numbered parts in order, of each of its exercises by name, in all, of the exercises
    in that, and of what is for those who want more, which is in neither."""

    parts: list[float]
    exercises: dict[str, float]
    total: float
    solving: float
    more: float


def times(lesson: Lesson) -> Times:
    """The minutes that a lesson takes, by its parts and its exercises."""
    text = "\n".join(cell.source for cell in lesson.cells if not cell.is_code)
    levels = {name: int(level) for _, name, level in DIFFICULTY.findall(text)}
    exercises = {cell.exercise: _exercise(cell, levels) for cell in lesson.with_role("solution")}
    parts: list[float] = []
    total, solving, more, inside, for_more = 0.0, 0.0, 0.0, False, False
    for cell, collapsed in zip(lesson.cells, lesson.collapsed, strict=True):
        for section in [""] if cell.is_code else SECTION.split(cell.source):
            if section.startswith("## "):
                inside, for_more = PART.match(section) is not None, section.startswith(MORE)
                parts += [0.0] * inside
            if cell.is_code:
                minutes = _code(cell, exercises, collapsed)
            else:
                minutes = len(words(plain(unfolded(section)))) / WORDS_A_MINUTE
            if for_more:
                more += minutes
            else:
                total += minutes
                solving += minutes * (cell.role == "solution")
            if inside:
                parts[-1] += minutes
    return Times(parts, exercises, total, solving, more)


def _exercise(cell: LessonCell, levels: dict[str, int]) -> float:
    questions = len(BLANK.findall(cell.source))
    level = A_LEVEL * levels.get(cell.exercise, 1)
    if questions:  # of a quiz, or of an investigation as lesson 10's hunt
        return A_QUESTION * questions + (0 if cell.exercise.startswith("quiz") else level)
    stubs = cell.source.count(BEGIN)  # a line in place of each region
    written = _logical_lines(cell.source) - (_logical_lines(cut(cell.source)) - stubs)
    return level + A_LINE * written


def _logical_lines(source: str) -> int:
    """The number of lines as Python counts them: one that is wrapped is one, a comment is none."""
    return sum(token.type == NEWLINE for token in generate_tokens(StringIO(source).readline))


def _code(cell: LessonCell, exercises: dict[str, float], collapsed: bool) -> float:
    if cell.role in ("solution", "check"):
        return exercises.get(cell.exercise, 0.0) if cell.role == "solution" else 0.0
    return 0.0 if collapsed else A_LINE_READ * _logical_lines(cell.source)


def about(minutes: float) -> str:
    """Minutes as one would say them.

    >>> about(0.2), about(7.4), about(12.4), about(128)
    ('about 1 minute', 'about 7 minutes', 'about 10 minutes', 'about 130 minutes')
    """
    said = _rounded(minutes)
    return say("about 1 minute") if said == 1 else say("about {minutes} minutes", minutes=said)


def _rounded(minutes: float) -> int:
    """Minutes as a whole number: at least 1, and from ten on in steps of five."""
    return max(1, round(minutes)) if minutes < 10 else 5 * round(minutes / 5)


class Marked(NamedTuple):
    """The source of a cell, in the prose with a mark, a comment, in place of each text that the build makes. `added`
    are the pieces of those texts by their marks."""

    source: str
    added: Mapping[str, tuple[str, ...]]


def with_marks(lesson: Lesson) -> Iterator[Marked]:
    """The sources of a lesson's cells, in the prose with what the build adds, as `filled` has it, or a mark for it."""
    found = times(lesson)
    parts = iter(enumerate(found.parts, 1))
    time = _time(found)
    for cell in lesson.cells:
        if cell.is_code:
            yield Marked(cell.source, {})
            continue
        added: dict[str, tuple[str, ...]] = {TIME_MARK: (time,)}
        sections = [_with_place(section, parts, len(found.parts), added) for section in SECTION.split(cell.source)]

        def with_difficulty(match: re.Match[str], added: dict[str, tuple[str, ...]] = added) -> str:
            heading, name, level = match.groups()
            mark = f"<!-- difficulty of {name} -->"
            added[mark] = (difficulty(level, found.exercises.get(name, 0)),)
            return f"{heading}{mark}"

        source = DIFFICULTY.sub(with_difficulty, "".join(sections))
        yield Marked(lesson.linked(IN_WORDS.sub(_folded, source)), added)


def filled(lesson: Lesson, translate: Translate | None = None) -> Iterator[str]:
    """The sources of a lesson's cells, in the prose with what the build adds: under the heading of every numbered part
    a bar and its time, the time of the lesson and of each exercise, pictures in words folded away, links. The prose is
    in the language of `translate`; what has no translation stays English.
    """
    for cell, marked in zip(lesson.cells, with_marks(lesson), strict=True):
        source = marked.source
        if translate is not None and not cell.is_code:
            source = translated(source, translate)
        for mark, pieces in marked.added.items():
            source = source.replace(mark, "".join(in_language(piece, translate or _english) for piece in pieces))
        yield source


def _english(_text: str) -> None:
    """No translation."""


def _time(found: Times) -> str:
    """How long a lesson takes."""
    total, exercises = _rounded(found.total), _rounded(found.solving)
    if not found.more:
        return say("about {minutes} minutes, {exercises} of them for the exercises", minutes=total, exercises=exercises)
    return say(
        "about {minutes} minutes, {exercises} of them for the exercises, and about {more} minutes for those who want "
        "more",
        minutes=total,
        exercises=exercises,
        more=_rounded(found.more),
    )


def difficulty(level: int | str, minutes: float) -> str:
    """What stands under the heading of an exercise."""
    said = _rounded(minutes)
    if said == 1:
        return say("Difficulty {level} of 5 · about 1 minute", level=level)
    return say("Difficulty {level} of 5 · about {minutes} minutes", level=level, minutes=said)


def _with_place(section: str, parts: Iterator[tuple[int, float]], count: int, added: dict[str, tuple[str, ...]]) -> str:
    heading = PART.match(section)
    if heading is None:
        return section
    at, minutes = next(parts)
    mark, said = f"<!-- part {at} -->", _rounded(minutes)
    part = say("Part {at} of {count}", at=at, count=count)
    if said == 1:
        timed = say("Part {at} of {count} · about 1 minute", at=at, count=count)
    else:
        timed = say("Part {at} of {count} · about {minutes} minutes", at=at, count=count, minutes=said)
    added[mark] = (f'<progress value="{at}" max="{count}" title="', part, '"></progress> ', timed)
    anchor = f'<a id="{ANCHOR}{heading["number"]}"></a>'
    return f"{anchor}\n\n{heading[0]}\n\n{mark}{section[heading.end() :]}"


def _folded(match: re.Match[str]) -> str:
    """The fold with an empty paragraph behind it: JupyterLab leaves no room between a fold and the text after it."""
    text = match[1][0].upper() + match[1][1:].rstrip("\n")
    end = "\n" if match[1].endswith("\n") else ""
    if re.match(r"\s*(?!<a id)[^\s#]", match.string[match.end() :]):
        end = f"\n<p></p>{end}"
    return f"<details><summary>{PICTURE_IN_WORDS}</summary>\n\n{text}\n\n</details>{end}"


def in_words(markdown: str, line: str = PICTURE_IN_WORDS) -> str:
    """The first sentences of a picture in words, which is in a fold with this `line`, until they say enough; empty
    where the text has none."""
    folds, words = dict(FOLDED.findall(LINK.sub(r"\1", markdown))[::-1]), ""
    for sentence in SENTENCE.split(" ".join(folds.get(line, "").replace("`", "").replace("*", "").split())):
        words = f"{words} {sentence}".strip()
        if len(words) >= ENOUGH:
            break
    return words


def describe_pictures(notebook: NotebookNode, translate: Translate | None = None) -> None:
    """Give each stored picture its alternative text, if it has none of its own: the first sentences of the picture in
    words below it. The notebook's text is in the language of `translate`.

    nbconvert, and so the pages that are made with it, reads it there.
    """
    line, nothing = (in_language(text, translate or _english) for text in (PICTURE_IN_WORDS, TEXT_BELOW))
    below = nothing
    for cell in reversed(notebook.cells):
        if cell.cell_type == "markdown":
            below = in_words(cell.source, line) or nothing
        answers = [output.get("data", {}).get("text/markdown", "") for output in cell.get("outputs", [])]
        below = next(filter(None, (in_words(answer, line) for answer in answers)), below)
        for output in cell.get("outputs", []):
            if PNG in output.get("data", {}):
                described = output.metadata.setdefault(PNG, NotebookNode())
                if not _own_words(output, described.get("alt", "")):
                    described["alt"] = below


def _own_words(output: NotebookNode, alt: str) -> bool:
    """Whether `alt` describes a picture in words of its own: those of a view, or the text that is shown with the
    picture."""
    return bool(alt) and (is_view(alt) or alt == output.data.get("text/plain"))
