"""One student's feedback as a page that holds no script and loads nothing, in the student's language: what came out,
the notebook, what the teacher wrote. It is made from the notebook in `autograded/`, which has the judge's result, and
from the gradebook.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from itertools import takewhile
from typing import Any

import nbformat
from markupsafe import Markup
from nbgrader.preprocessors import ClearHiddenTests, ClearMarkScheme

from grader.book.rebuild import RESULT, dump
from grader.book.shown import CellMark, FeedbackMarks
from grader.course.release import CHECK, exercise_of
from grader.errors import CourseError
from grader.feedback.safe_html import page_code, page_markdown
from grader.judge.result import SubmissionResult, TestResult
from grader.judge.words import BROKEN, as_html, as_text, findings, footer, preface, said_of
from grader.languages import ENGLISH, known, language_of, shown, speaking
from grader.markup import inline, render, template
from grader.report import ExerciseResult
from grader.report.data import State, unwritten
from grader.report.words import named_with_points, reasons
from grader.sentences import say, together

TEMPLATE = "feedback/page.html"
VERSION = 2  # of the page's form: a page of another one is made anew
MOST = 200_000  # characters of cells on a page; those of the longest lesson are 110,000
LEFT_OUT = "A cell is left out here because the page would be too long. It is in the notebook that you handed in."
EMPTY = "This cell is empty."
NOTE = "**Note.** "
# HTML in a text cell of a notebook ends at a blank line, and its links within the page lead nowhere.
BLANK_LINES, INSIDE = re.compile(r"\n\s*\n"), re.compile(r'<a href="#[^"]*">(.*?)</a>')


@dataclass(frozen=True)
class MarkRow:
    """A line of the summary. `mark` is None for a cell with a teacher's comment alone; `said` is what came out, in
    sentences."""

    name: str
    mark: CellMark | None
    said: tuple[Markup, ...]
    comment: str = ""

    @property
    def state(self) -> str:
        """One of "open" (a mark is still to come), "full", "part" (less than all points)."""
        if self.mark is None or self.mark.waits:
            return "open"
        return "full" if self.mark.score >= self.mark.points else "part"


@dataclass(frozen=True)
class Block:
    """A cell as the page shows it, or several between the cells with marks."""

    html: Markup
    label: str = ""  # what it is; such a block has a box
    row: MarkRow | None = None  # of the summary, for a block with a label
    first: bool = False  # the summary links to it
    marked: bool = False  # it has the mark


@dataclass(frozen=True)
class ShownCell:
    """A cell of the notebook in `autograded/`. `kind` is "code" or "markdown"; `flags` is what nbgrader notes of it."""

    kind: str
    source: str
    flags: Mapping[str, Any] = field(default_factory=dict)
    outputs: Sequence[Mapping[str, Any]] = ()

    @classmethod
    def of(cls, cell: Mapping[str, Any]) -> ShownCell:
        """The cell as feedback shows it, made of a cell of the autograded notebook."""
        flags = cell["metadata"].get("nbgrader", {})
        return cls(cell["cell_type"], "".join(cell["source"]), flags, cell.get("outputs", ()))

    @property
    def is_marked(self) -> bool:
        """Whether it has a mark of its own."""
        return bool(self.flags.get("grade") or self.flags.get("task"))

    @cached_property
    def grade_id(self) -> str:
        """The grade_id of a cell that is marked or commented on; "" for all others."""
        return str(self.flags["grade_id"]) if self.is_marked or self.flags.get("solution") else ""

    @property
    def name(self) -> str:
        """The name of the exercise that it belongs to, or its own name; "" if it is neither marked nor commented on."""
        return exercise_of(self.grade_id)

    @property
    def label(self) -> str:
        """What kind of cell it is, in words for a reader."""
        if self.flags.get("task"):
            return say("Task")
        if self.flags.get("solution"):
            return say("Your answer")
        return say("Check") if self.grade_id.endswith(CHECK) else say("Tests")


def hide(cells: Sequence[ShownCell], config: Any) -> list[ShownCell]:
    """The cells without a teacher's hidden tests and marking schemes. nbgrader's own preprocessors cut these out, of
    the teacher's cells only: a student who writes such a mark into a cell holds up nothing."""
    tests, schemes = ClearHiddenTests(config=config), ClearMarkScheme(config=config)
    shown = []
    for cell in cells:
        task = bool(cell.flags.get("task"))
        begin = schemes.begin_mark_scheme_delimeter if task else tests.begin_test_delimeter
        if (task or (cell.flags.get("grade") and cell.flags.get("locked"))) and begin in cell.source:
            node = nbformat.from_dict(
                {"cell_type": cell.kind, "source": cell.source, "metadata": {"nbgrader": cell.flags}}
            )
            cut = (schemes if task else tests).preprocess_cell(node, {}, 0)[0]
            cell = replace(cell, source=cut.source)
        shown.append(cell)
    return shown


class Feedback:
    """What one student is told of one notebook, called `title`. `data` is the notebook in `autograded/`, `marks` what
    the gradebook says. It is in `language`, or else in the one in which they handed in. `CourseError` if the notebook
    isn't as `grader autograde` left it."""

    def __init__(
        self, data: bytes, marks: FeedbackMarks, title: str, student: str, config: Any = None, language: str = ""
    ) -> None:
        try:
            notebook = json.loads(data)
            self._metadata = notebook["metadata"]
            self._result = SubmissionResult.from_plain(self._metadata[RESULT])
            cells = [ShownCell.of(cell) for cell in notebook["cells"]]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise CourseError(
                f"autograded/{student}/{title}.ipynb has changed since `grader autograde` wrote it. Grade again with "
                "--force."
            ) from None
        self._exercises = {exercise.name: exercise for exercise in self._result.exercises}
        self._tests = {test.grade_id: test for test in self._result.tests}
        self._marks, self.title, self._student = marks, title, student
        self.language = known(language) or known(language_of(notebook)) or ENGLISH
        with speaking(self.language):
            self.notes = [_said(note) for note in preface(self._result)]
            notes = list(takewhile(lambda cell: cell.source.startswith(NOTE), cells[: len(self.notes)]))
            self._cells = hide([self._in_language(cell) for cell in cells[len(notes) :]], config)
            self.rows = list(self._rows())

    def page(self) -> str:
        """The feedback as one HTML page, without scripts."""
        with speaking(self.language):
            return render(TEMPLATE, **self._values(), blocks=list(self._blocks()))

    def _in_language(self, cell: ShownCell) -> ShownCell:
        """A cell with what the judge has put into it in the student's language."""
        if cell.source == f"*{footer(self._result)}*":
            return replace(cell, source=f"*{shown(footer(self._result))}*")
        if not cell.outputs or cell.grade_id.removesuffix(CHECK) not in self._exercises:
            return cell
        result = self._exercises[cell.name]
        data = {"text/html": as_html(result, self.language), "text/plain": as_text(result, self.language)}
        return replace(cell, outputs=[{**cell.outputs[0], "data": data}])

    def notebook(self) -> bytes:
        """The feedback as a notebook's bytes: the summary and the teacher's words are text cells, the judge's words
        outputs."""
        page, texts = template(TEMPLATE), []
        with speaking(self.language):
            values = self._values()
            for name in ("summary", "teacher"):
                html = "".join(page.blocks[name](page.new_context(values)))
                texts.append(BLANK_LINES.sub("\n", INSIDE.sub(r"\1", html)).strip())
        first, *last = [ShownCell("markdown", text) for text in texts if text]
        cells: list[dict[str, Any]] = []
        for i, cell in enumerate([first, *self._cells, *last]):
            outputs = [
                {**output, "data": {kind: "".join(lines) for kind, lines in output["data"].items()}}
                for output in cell.outputs
            ]
            more = {"outputs": outputs, "execution_count": None} if cell.kind == "code" else {}
            cells.append({"cell_type": cell.kind, "id": f"cell-{i}", "metadata": {}, "source": cell.source, **more})
        metadata = {"kernelspec": self._metadata.get("kernelspec", {})}
        return dump({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})

    def _values(self) -> dict[str, Any]:
        return {
            "number": _number,
            "points": _points,
            "say": lambda sentence, **values: _said(say(sentence, **values)),
            "language": self.language,
            "title": self.title,
            "student": self._student,
            "marks": self._marks,
            "late": shown(self._marks.late),
            "total": max(0.0, round(self._marks.score - self._marks.penalty, 2)),
            "rows": self.rows,
            "notes": self.notes,
            "waiting": [row.name for row in self.rows if row.mark and row.mark.waits],
            "comments": [(row.name, Markup(page_markdown(row.comment))) for row in self.rows if row.comment],
        }

    def _rows(self) -> Iterator[MarkRow]:
        """A line of the summary for each exercise and each cell that a teacher marks or comments on, in the order of
        the notebook."""
        commented = {name: words for name, (_judge, words) in self._marks.comments.items() if words}
        marked: dict[str, CellMark | None] = {}
        for cell in self._cells:
            mark = self._marks.marks.get(cell.grade_id)
            if cell.grade_id and (mark is not None or cell.name in commented):
                marked[cell.name] = mark or marked.get(cell.name)
        for name, mark in marked.items():
            yield MarkRow(name, mark, tuple(self._said(name, mark)), commented.get(name, ""))

    def _said(self, name: str, mark: CellMark | None) -> Iterator[Markup]:
        exercise, test = self._exercises.get(name), self._tests.get(name)
        if exercise is not None:
            yield from _of_exercise(exercise)
        elif test is not None:
            yield _said(said_of(test))
        elif self._marks.comments.get(name, ("", ""))[0]:
            yield _said("You wrote nothing here.")
        if mark is None:
            return
        alone = self._by_judge(exercise, test, mark)
        if mark.by_hand:
            beside = "" if alone is None else say("The checks alone give {points}.", points=f"{alone:g}")
            yield _said(together(say("Your teacher gave this mark."), beside))
        if mark.extra:
            yield _said(say("Extra points among these: {points}.", points=f"{mark.extra:g}"))
        if mark.waits and not (exercise and exercise.broken):
            yield _said(
                say("Your teacher will look at this again.")
                if mark.by_hand
                else say("Your teacher will look at this and give it a mark.")
            )

    @staticmethod
    def _by_judge(exercise: ExerciseResult | None, test: TestResult | None, mark: CellMark) -> float | None:
        if exercise is not None:
            return round(mark.points * exercise.score, 2)
        return None if test is None else test.mark(mark.points)

    def _blocks(self) -> Iterator[Block]:
        """The cells with a row of the summary, each by itself, and what is between them."""
        rows, seen, between = {row.name: row for row in self.rows}, set(), []
        left, to_render = MOST, MOST
        for cell in self._cells:
            row = rows.get(cell.name)
            html = _paragraph(LEFT_OUT)
            if len(cell.source) <= min(left, to_render):  # nothing is rendered that doesn't fit as it stands
                to_render -= len(cell.source)
                whole = _code(cell.source) if cell.kind == "code" else Markup(page_markdown(cell.source))
                if len(whole) <= left:
                    left, html = left - len(whole), whole
            if row is None:
                between.append(html)
                continue
            yield Block(Markup("\n").join(between))
            between = []
            html = (html or _paragraph(EMPTY)) + self._judged(cell)
            yield Block(html, shown(cell.label), row, row.name not in seen, cell.is_marked)
            seen.add(row.name)
        yield Block(Markup("\n").join(between))

    def _judged(self, cell: ShownCell) -> Markup:
        """What the judge says of a cell, as HTML; empty if it says nothing."""
        if cell.grade_id.endswith(CHECK) and cell.name in self._exercises:
            return Markup(findings(self._exercises[cell.name], self.language))
        test = self._tests.get(cell.grade_id)
        return Markup(f"<pre>{escape(test.message)}</pre>") if test is not None and test.message else Markup()


def _code(source: str) -> Markup:
    source = source.strip("\n").rstrip()
    return Markup(f"<pre><code>{page_code(source)}</code></pre>" if source else "")


def _of_exercise(result: ExerciseResult) -> Iterator[Markup]:
    """What came out of an exercise, in sentences: what passed, what comes first, the named mistake, the next hint."""
    if result.broken:
        yield _said(BROKEN)
    nothing = unwritten(result.parts)
    if nothing is not None:
        yield _said(nothing.message)
    elif result.parts:
        yield _said(_parts(result))
    for sentence in reasons(result, in_code=True, stops=False):
        yield _said(sentence)
    if result.hints:
        yield Markup(f"<strong>{shown('Hint.')}</strong> {_said(result.hints[0])}")


def _parts(result: ExerciseResult) -> str:
    """A sentence on how many parts passed, and which did not, with the points earned of those possible."""
    passed = sum(part.passed for part in result.parts)
    if passed == len(result.parts):
        return say("Everything passed.")
    named: dict[State, list[str]] = {state: [] for state in State}
    for part, (earned, possible) in zip(result.parts, result.part_points, strict=True):
        named[part.state].append(shown(named_with_points(part, earned, possible)))
    said = [say("{passed} of {total} parts passed.", passed=passed, total=len(result.parts))]
    for words, state in ((say("Failed: {parts}."), State.FAILED), (say("Not judged: {parts}."), State.NOT_JUDGED)):
        if named[state]:
            said.append(say(words, parts="; ".join(named[state])))
    return together(*said)


def _number(number: float) -> str:
    return f"{round(number, 2):g}"


def _points(mark: CellMark | None) -> Markup:
    said = Markup()
    if mark is not None:
        said = _said(say("{mark} of {points} points", mark=_number(mark.score), points=_number(mark.points)))
    return Markup(f'<span class="points">{said}</span>')


def _said(text: str) -> Markup:
    """A text in the language that is spoken, as HTML."""
    return Markup(inline(shown(text)))


def _paragraph(text: str) -> Markup:
    return Markup(f"<p>{_said(text)}</p>")
