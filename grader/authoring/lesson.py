"""Reads a lesson: jupytext's py:percent cells with the short metadata of this course, and the line of each.

Its header may say what the lesson is about, for the tables of lessons:

    # jupyter:
    #   course:
    #     about: causal and padding masks, both conventions, rows that see nothing
    #     picture: a mask to paint on, scores and weights beside it

`picture` says in words what docs/pictures/NN.png shows. A line `<!-- lessons -->` in a markdown cell is replaced by the
table of all other lessons, a line `<!-- letters -->` by that of the course's notation.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from grader.authoring.links import PAPERS, Places, sections
from grader.regions import without_marks
from grader.spec.exercise import NOTATION

MARKER = "# %%"
FROM_LESSON = re.compile(r"lesson_\d\d")
TITLE = re.compile(r"^# # \d\d · (.+)$", re.MULTILINE)
LESSONS_MARK = "<!-- lessons -->"
LETTERS_MARK = "<!-- letters -->"
FIELD = re.compile(r"(\w+)=\"?([\w-]+)\"?")


@dataclass(frozen=True, order=True)
class Problem:
    """An author's error: its file, the line (from 1), the exercise ("" if it is of none) and what is wrong."""

    path: str
    line: int
    exercise: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}{f' {self.exercise}' if self.exercise else ''}: {self.message}"


# What git leaves in a file that it can't merge.
HALF_MERGED = re.compile(r"^(<<<<<<<|>>>>>>>) ", re.MULTILINE)
CONFLICT = "Git has left the marks of a merge conflict in this file; keep one of the two versions, and remove the marks"


@dataclass(frozen=True)
class LessonCell:
    """One cell as its author wrote it."""

    kind: str  # "code" or "markdown"
    source: str
    line: int  # of its marker
    first: int  # line of its source
    role: str = ""  # "" for a worked example
    exercise: str = ""  # that it belongs to
    timed: object = False  # whether its output differs from run to run
    claim: str = ""  # what its outcome shows (benchmarks/claims.py)
    long: str = ""  # why it has so many lines
    extra: dict[str, Any] = field(default_factory=dict)  # metadata that no role knows

    @property
    def is_code(self) -> bool:
        """Whether it is code, which the build executes, and no prose."""
        return self.kind == "code"

    @property
    def explains(self) -> bool:
        """Whether it is the text of an answer, which the build puts into the code cell above it."""
        return self.kind == "markdown" and self.role == "answer"


@dataclass(frozen=True)
class Lesson:
    """A lesson."""

    name: str  # such as "01_self_attention"
    path: str  # in the repository
    text: str  # as the author wrote it
    cells: tuple[LessonCell, ...]
    problems: tuple[Problem, ...] = ()  # errors in the headers of its cells
    about: str = ""  # from the lesson's own header, as is `picture`
    picture: str = ""
    places: Places | None = None  # where its links can lead, if it was read with all other lessons

    def problem(self, cell: LessonCell, message: str, line: int | None = None) -> Problem:
        """An error in a cell; without `line`, at its marker."""
        return Problem(self.path, line or cell.line, cell.exercise, message)

    @property
    def number(self) -> str:
        """Two digits, such as "01"."""
        return self.name[:2]

    @property
    def title(self) -> str:
        """What stands behind the number in its first heading, or its name."""
        heading = TITLE.search(self.text)
        return heading[1] if heading else self.name

    @property
    def whole(self) -> str:
        """Its text and what the build puts into it: definitions of earlier lessons, the table of lessons, links."""
        filled = [self.linked(cell.source) for cell in self.cells if cell.role == "given" or not cell.is_code]
        return "\n".join([self.text, *filled])

    def linked(self, source: str) -> str:
        """A text of the lesson with its links."""
        return self.places.linked(source, self.number) if self.places else source

    @property
    def solved(self) -> dict[str, str]:
        """The source of each function and class of its solutions, by name, as a later lesson gives them."""
        return {name: text for cell in self.with_role("solution") for name, text in _definitions(cell.source).items()}

    @property
    def in_notebook(self) -> list[LessonCell]:
        """The cells that are cells of the notebook too, in its order: the texts of answers aren't."""
        return [cell for cell in self.cells if not cell.explains]

    @property
    def collapsed(self) -> list[bool]:
        """Of each cell, whether the notebook shows its code collapsed: a drawing's, and that of an answer."""
        answers = [*(cell.explains for cell in self.cells[1:]), False]
        return [
            cell.is_code and (cell.role == "draw" or answer) for cell, answer in zip(self.cells, answers, strict=True)
        ]

    def with_role(self, *roles: str) -> list[LessonCell]:
        """Its code cells that have one of the roles."""
        return [cell for cell in self.cells if cell.is_code and cell.role in roles]


def read_folder(folder: Path) -> dict[str, Lesson]:
    """All lessons of a folder by name, in order: a later one may take over what an earlier one solves. The addresses of
    papers are in a file beside them."""
    lessons: dict[str, Lesson] = {}
    for path in sorted(folder.glob("*.py")):
        lessons[path.stem] = read_lesson(path.stem, path.read_text("utf-8"), list(lessons.values()))
    places = _places(lessons.values(), folder / PAPERS)
    return {
        name: replace(_with_tables(lesson, list(lessons.values())), places=places) for name, lesson in lessons.items()
    }


def _places(lessons: Collection[Lesson], papers: Path) -> Places:
    return Places(
        names={lesson.number: lesson.name for lesson in lessons},
        sections={
            lesson.number: sections(cell.source for cell in lesson.cells if not cell.is_code) for lesson in lessons
        },
        papers=tomllib.loads(papers.read_text("utf-8")) if papers.exists() else {},
    )


def _with_tables(lesson: Lesson, lessons: Sequence[Lesson]) -> Lesson:
    """A lesson with the table of all other lessons and that of the letters in place of their marks."""
    others = [
        f"| [{other.number} {other.title}]({other.name}.ipynb) | {other.about} |"
        for other in lessons
        if other is not lesson
    ]
    tables = {
        LESSONS_MARK: ["| lesson | about |", "| --- | --- |", *others],
        LETTERS_MARK: letters_table(),
    }
    cells = [cell if cell.is_code else replace(cell, source=_filled(cell.source, tables)) for cell in lesson.cells]
    return replace(lesson, cells=tuple(cells))


def letters_table() -> list[str]:
    """The lines of the table of the course's letters (its notation), in Markdown."""
    return ["| letter | name in code | meaning |", "| --- | --- | --- |", *map(_letter, NOTATION)]


def _letter(letter: str) -> str:
    """The row of one letter in the table of letters. Axes are shown as code, Greek letters aren't."""
    name, meaning = NOTATION[letter]
    return f"| {f'`{letter}`' if letter.isascii() else letter} | {f'`{name}`' if name else ''} | {meaning} |"


def _filled(source: str, tables: Mapping[str, Sequence[str]]) -> str:
    return "\n".join("\n".join(tables.get(line, [line])) for line in source.split("\n"))


def read_lesson(name: str, text: str, earlier: Sequence[Lesson] = ()) -> Lesson:
    """Parse the text of `lessons/<name>.py`. `earlier` are the lessons from which a given cell may take definitions
    over. What is wrong with the cells' headers is in the lesson's `problems`; nothing is raised."""
    path = f"lessons/{name}.py"
    conflict = HALF_MERGED.search(text)
    if conflict:
        return Lesson(name, path, text, (), (Problem(path, text.count("\n", 0, conflict.start()) + 1, "", CONFLICT),))
    lines = text.splitlines()
    cells: list[LessonCell] = []
    problems: list[Problem] = []
    header = _header_end(lines)
    about, picture, unreadable = _course(lines[:header])
    problems += [Problem(path, 1, "", message) for message in unreadable]
    position = next((i for i in range(header, len(lines)) if lines[i].strip()), len(lines))
    if position == len(lines) or not lines[position].startswith(MARKER):
        return Lesson(name, path, text, (), (Problem(path, position + 1, "", f'a lesson must begin with "{MARKER}"'),))
    import jupytext  # of the `dev` extra: a teacher's own exercises need the rest of this module

    # Without the header: the build gives every notebook the same metadata.
    for found in jupytext.reads("\n".join(lines[position:]), fmt="py:percent").cells:
        marker = next(i for i in range(position, len(lines)) if lines[i].startswith(MARKER))
        cell, wrong = _cell(found.cell_type, found.source, dict(found.metadata), marker, lines)
        if cell.role == "given":
            cell, unknown = _taken_over(cell, {f"lesson_{lesson.name[:2]}": lesson.solved for lesson in earlier})
            wrong += unknown
        cells.append(cell)
        problems += [Problem(path, cell.line, cell.exercise, message) for message in wrong]
        # A "# %%" inside a string belongs to the cell's source: go on behind the source.
        position = marker + 1 + len(found.source.splitlines())
    return Lesson(name, path, text, tuple(cells), tuple(problems), about, picture)


def _header_end(lines: list[str]) -> int:
    """The number of lines of jupytext's YAML header; 0 if there is none."""
    if not lines or lines[0].strip() != "# ---":
        return 0
    return next((i + 1 for i in range(1, len(lines)) if lines[i].strip() == "# ---"), 0)


def _course(header: list[str]) -> tuple[str, str, list[str]]:
    """What the header says for the tables of lessons: about and picture, and what is wrong with it."""
    try:
        read = yaml.safe_load("\n".join(line[2:] for line in header[1:-1])) or {}
        course = read.get("jupyter", {}).get("course", {})
        about, picture = course.get("about", ""), course.get("picture", "")
    except (yaml.YAMLError, AttributeError):
        return "", "", ["can't read the header; it is YAML, so text with a colon needs quotes"]
    if not isinstance(about, str) or not isinstance(picture, str):
        return "", "", ["`about` and `picture` in the header must be text"]
    return about, picture, []


def _cell(
    kind: str, source: str, metadata: dict[str, Any], marker: int, lines: list[str]
) -> tuple[LessonCell, list[str]]:
    wrong: list[str] = []
    metadata.pop("lines_to_next_cell", None)  # jupytext's note about blank lines
    unread = metadata.pop("incorrectly_encoded_metadata", None)
    if unread is not None:
        wrong.append(
            f'cannot read the metadata `{unread}`: values are JSON, so strings need quotes, as in role="check"'
        )
        metadata |= dict(FIELD.findall(unread))  # so that this error doesn't draw others after it
        metadata.pop("timed", None)
    title = metadata.pop("title", None)
    if title is not None:
        wrong.append(f'"{title}" follows "{MARKER}", but a cell cannot have a title')
    first = marker + 1
    while source.strip() and source.splitlines()[0].strip() and first < len(lines) and not lines[first].strip():
        first += 1  # jupytext drops blank lines between the marker and the source
    fields = {key: metadata.pop(key) for key in ("role", "exercise", "timed", "claim", "long") if key in metadata}
    for key in ("role", "exercise", "claim", "long"):
        if not isinstance(fields.get(key, ""), str):
            wrong.append(f"{key} must be a string, not {fields.pop(key)!r}")
    return LessonCell(kind, source, marker + 1, first + 1, **fields, extra=metadata), wrong


def _taken_over(cell: LessonCell, solved: Mapping[str, Mapping[str, str]]) -> tuple[LessonCell, list[str]]:
    """A given cell with the definitions in place of `from lesson_03 import split_heads, merge_heads`, in the order in
    which the earlier lesson has them, and what is wrong with its imports. A cell that holds anything else stays as it
    is."""
    try:
        body = ast.parse(cell.source).body
    except SyntaxError:
        return cell, []
    taken: list[str] = []
    wrong: list[str] = []
    for node in body:
        if not isinstance(node, ast.ImportFrom) or not FROM_LESSON.fullmatch(node.module or ""):
            return cell, []
        there, names = solved.get(node.module or "", {}), [alias.name for alias in node.names]
        wrong += [
            f"{node.module} isn't an earlier lesson with a solution that defines {name}"
            for name in names
            if name not in there
        ]
        taken += [text for name, text in there.items() if name in names]
    return replace(cell, source="\n\n\n".join(taken) or cell.source), wrong


def _definitions(source: str) -> dict[str, str]:
    """The source of each function and class of a solution cell, by name, without the marks of its regions; empty if the
    cell isn't Python."""
    plain = without_marks(source)
    try:
        body = ast.parse(plain).body
    except SyntaxError:
        return {}
    found = [node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    first = {node.name: min([node.lineno, *(d.lineno for d in node.decorator_list)]) for node in found}
    lines = plain.split("\n")
    return {node.name: "\n".join(lines[first[node.name] - 1 : node.end_lineno]) for node in found}
