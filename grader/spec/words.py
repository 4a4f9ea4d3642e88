"""The words of mistakes: Markdown beside a specification, `NAME.md` beside `NAME.py`.

    # split_heads

    ## heads-last

    the symptom, one paragraph: what happens.

    1. The first hint says where to look.
    2. The last one says what to look at there.

A word in braces, such as `{line}`, is a placeholder, and the specification gives its value.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from grader.errors import CourseError
from grader.sentences import PLACEHOLDER, say
from grader.spec.exercise import Mistake
from grader.spec.session import Session

ROOT = Path(__file__).parents[2]
FEWEST_HINTS = 2

_HINT = re.compile(r"(\d+)\. +(?=\S)")


class Text(NamedTuple):
    """One symptom or hint, and the line of the file that it begins on."""

    line: int
    text: str


@dataclass
class MistakeWords:
    """The words of one mistake as they stand in the file; `line` is that of its heading."""

    id: str
    line: int
    symptom: list[Text] = field(default_factory=list)  # one paragraph; more are an error
    hints: list[Text] = field(default_factory=list)

    @property
    def texts(self) -> list[Text]:
        return [*self.symptom, *self.hints]


class Words:
    """The words in the Markdown beside a module. Called with an id, it makes the `Mistake`. A specification has them in
    its `Spec`; a module of what a lesson's exercises share reads them itself:

    mistake = Words(__file__)
    mistake("heads-last", (variant,))
    """

    def __init__(self, module: str) -> None:
        """Read the Markdown beside `module`, the path of a module. `CourseError` with each line that isn't as it should
        be."""
        self.path = Path(module).with_suffix(".md")
        self._entries = read_words(self.path)
        self._used: set[str] = set()

    def __contains__(self, id: str) -> bool:
        return id in self._entries

    def __call__(
        self,
        id: str,
        variants: tuple[Callable[..., Any], ...] = (),
        recognise: Callable[[Session], bool] | None = None,
        **values: object,
    ) -> Mistake:
        """The mistake `id` (see `Mistake`); `values` fill the placeholders of its words, by name. `CourseError` where
        it has no words, a placeholder has no value, or a value no placeholder."""
        if id not in self._entries:
            raise CourseError(
                f"{caller()} the mistake {id} has no words. Write them under `## {id}` in {self.path.name}"
            )
        self._used.add(id)
        entry = self._entries[id]
        names = {name: line for line, text in reversed(entry.texts) for name in PLACEHOLDER.findall(text)}
        for name in sorted(names.keys() - values.keys()):
            raise CourseError(
                f"{_shown(self.path, names[name])} {{{name}}} of the mistake {id} has no value. Give it one in the "
                f'specification: mistake("{id}", …, {name}=…)'
            )
        for name in sorted(values.keys() - names.keys()):
            raise CourseError(f"{caller()} {name} isn't used in the words of the mistake {id}; expected {{{name}}}")
        symptom, *hints = (_filled(text, values) for _line, text in entry.texts)
        return Mistake(id, symptom, tuple(hints), variants, recognise)

    def unused(self) -> list[str]:
        """The words of mistakes that no specification has, each with file and line. All specifications have to be
        imported before."""
        left = [entry for id, entry in self._entries.items() if id not in self._used]
        return [f"{_shown(self.path, entry.line)} no specification has the mistake {entry.id}" for entry in left]


def _filled(text: str, values: Mapping[str, object]) -> str:
    names = PLACEHOLDER.findall(text)
    return say(text, **{name: values[name] for name in names}) if names else text


def read_words(path: Path) -> dict[str, MistakeWords]:
    """The words in a file by the mistakes' ids; none where there is no file. `CourseError` with every line that is not
    as it should be."""
    entries: list[MistakeWords] = []
    problems: list[str] = []
    for line, block in _blocks(path.read_text("utf-8") if path.exists() else ""):
        if block.startswith("## "):
            entries.append(MistakeWords(block[3:].strip(), line))
        elif block.startswith("#") and not entries and line == 1:
            continue  # the title
        elif not entries:
            problems.append(f"{_shown(path, line)} these words have no id; expected `## ID` above them")
        elif _HINT.match(block):
            expected = len(entries[-1].hints) + 1
            if not block.startswith(f"{expected}. "):
                problems.append(f"{_shown(path, line)} got hint {block.partition('.')[0]}, expected hint {expected}")
            entries[-1].hints.append(Text(line, _HINT.sub("", block, count=1)))
        elif entries[-1].hints:
            problems.append(
                f"{_shown(path, line)} there is a paragraph after the hints; a hint begins with its number, `1. `"
            )
        else:
            entries[-1].symptom.append(Text(line, block))
    for entry in entries:
        problems += [f"{_shown(path, entry.line)} {problem}" for problem in _faults(entry, entries)]
    if problems:
        raise CourseError("\n".join(problems))
    return {entry.id: entry for entry in entries}


def _faults(entry: MistakeWords, entries: list[MistakeWords]) -> Iterator[str]:
    """A sentence on each thing that the words of one mistake lack, or have too much of; `entries` are those of all
    mistakes in the file."""
    first = next(other for other in entries if other.id == entry.id)
    if first is not entry:
        yield f"the mistake {entry.id} already has words on line {first.line}"
    if len(entry.symptom) != 1:
        yield f"the mistake {entry.id} has {len(entry.symptom)} paragraphs for its symptom; expected one"
    if len(entry.hints) < FEWEST_HINTS:
        yield (
            f"the mistake {entry.id} needs at least {FEWEST_HINTS} hints but has {len(entry.hints)}; write each as "
            "`1. HINT`"
        )


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    """Headings, paragraphs and items of lists, each in one line, with the number of its first line."""
    block, first = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        begins = line.startswith("#") or _HINT.match(line)
        if block and (begins or not line.strip() or block.startswith("#")):
            yield first, block
            block = ""
        if line.strip():
            block, first = (f"{block} {line.strip()}", first) if block else (line.strip(), number)
    if block:
        yield first, block


def _shown(path: Path, line: int) -> str:
    """The place of a line of a file, and the exercise whose words it has, as messages begin."""
    shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    return f"{shown.as_posix()}:{line} {path.stem}:"


def caller() -> str:
    """The place of the line in a specification that is making a mistake, as messages begin."""
    frame = sys._getframe(1)
    while frame.f_back is not None and Path(frame.f_code.co_filename).parent == Path(__file__).parent:
        frame = frame.f_back
    return _shown(Path(frame.f_code.co_filename), frame.f_lineno)
