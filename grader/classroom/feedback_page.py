"""One student's feedback as a page that holds no script and loads nothing: what came out, the notebook, what the
teacher wrote. It is made from the notebook in `autograded/`, which has the judge's result, and from the gradebook.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib import resources
from typing import Any

import jinja2
import nbformat
from markupsafe import Markup
from nbgrader import utils

from grader.classroom.feedback import BROKEN, carried, findings, preface, said_of
from grader.classroom.gradebook import Given, Shown, exercise_of
from grader.classroom.preprocessors import HideFromStudents
from grader.classroom.rebuild import CHECK, RESULT, dump
from grader.classroom.safe_html import page_code, page_markdown
from grader.errors import CourseError
from grader.judge.result import ExerciseResult, SubmissionResult, TestResult
from grader.markup import inline
from grader.report.words import NOT_JUDGED, first_fix, unwritten

VERSION = 1  # of the page's form: a page of another one is made anew
MOST = 200_000  # characters of cells on a page; those of the longest lesson are 110,000
LEFT_OUT = Markup(
    "<p>A cell is left out here: the page would be too long. It is in the notebook that you handed in.</p>"
)
EMPTY = Markup("<p>This cell is empty.</p>")
NOTE = "**Note.** "
# HTML in a text cell of a notebook ends at a blank line, and its links within the page lead nowhere.
BLANK_LINES, INSIDE = re.compile(r"\n\s*\n"), re.compile(r'<a href="#[^"]*">(.*?)</a>')


@dataclass(frozen=True)
class Row:
    """A line of the summary. `said` is what came out, in sentences. Without a mark it has a teacher's comment alone."""

    name: str
    mark: Given | None
    said: tuple[Markup, ...]
    comment: str = ""

    @property
    def state(self) -> str:
        """One of "open", "full", "part"."""
        if self.mark is None or self.mark.waits:
            return "open"
        return "full" if self.mark.score >= self.mark.points else "part"


@dataclass(frozen=True)
class Block:
    """A cell as the page shows it. One with a `label` has a box: what it is, and of which `row`. `first`: the summary
    leads to it. `marked`: it has the mark."""

    html: Markup
    label: str = ""
    row: Row | None = None
    first: bool = False
    marked: bool = False


class Feedback:
    """What one student is told of one notebook. `data` is the notebook in `autograded/`."""

    def __init__(self, data: bytes, shown: Shown, title: str, student: str, config: Any = None) -> None:
        try:
            self._notebook = nbformat.from_dict(json.loads(data))
            for cell in self._notebook.cells:
                cell.source = "".join(cell.source)
            self._result = SubmissionResult.from_plain(self._notebook.metadata.pop(RESULT))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise CourseError(
                f"autograded/{student}/{title}.ipynb is not as `grader autograde` left it: grade again with --force."
            ) from None
        HideFromStudents(config=config).preprocess(self._notebook, {})
        self._exercises = {one.name: one for one in self._result.exercises}
        self._tests = {one.grade_id: one for one in self._result.tests}
        self._shown, self.title, self._student = shown, title, student
        self.notes = [Markup(inline(note)) for note in preface(self._result)]
        own = self._notebook.cells
        while own and len(self._notebook.cells) - len(own) < len(self.notes) and own[0].source.startswith(NOTE):
            own = own[1:]
        self._cells = own
        self.rows = list(self._rows())

    def page(self) -> str:
        """The page."""
        return _template().render(self._values(), blocks=list(self._blocks()))

    def notebook(self) -> bytes:
        """The same as a notebook: the summary and the teacher's words are text cells, the judge's words outputs."""
        template, values = _template(), self._values()
        texts = []
        for name in ("summary", "teacher"):
            html = "".join(template.blocks[name](template.new_context(values)))
            texts.append(BLANK_LINES.sub("\n", INSIDE.sub(r"\1", html)).strip())
        cells: list[dict[str, Any]] = []
        for i, cell in enumerate([texts[0], *self._cells, *filter(None, texts[1:])]):
            text = isinstance(cell, str)
            kind = "markdown" if text or cell.cell_type == "markdown" else "code"
            outputs = [] if text else [dict(output) for output in cell.get("outputs", ())]
            more = {"outputs": outputs, "execution_count": None} if kind == "code" else {}
            for output in outputs:
                output["data"] = {mime: "".join(lines) for mime, lines in output["data"].items()}
            source = cell if text else cell.source
            cells.append({"cell_type": kind, "id": f"cell-{i}", "metadata": {}, "source": source, **more})
        metadata = {"kernelspec": dict(self._notebook.metadata.get("kernelspec", {}))}
        return dump({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})

    def _values(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "student": self._student,
            "shown": self._shown,
            "total": max(0.0, round(self._shown.score - self._shown.penalty, 2)),
            "rows": self.rows,
            "notes": self.notes,
            "waiting": [row.name for row in self.rows if row.mark and row.mark.waits],
            "comments": [(row.name, Markup(page_markdown(row.comment))) for row in self.rows if row.comment],
        }

    def _rows(self) -> Iterator[Row]:
        """In the order of the notebook, each exercise and each cell that a teacher marks."""
        commented = {name: words for name, (_judge, words) in self._shown.comments.items() if words}
        marked: dict[str, Given | None] = {}
        for cell in self._cells:
            name = exercise_of(grade_id) if (grade_id := _grade_id(cell)) else ""
            mark = self._shown.marks.get(grade_id)
            if name and (mark is not None or name in commented):
                marked[name] = mark or marked.get(name)
        for name, mark in marked.items():
            yield Row(name, mark, tuple(self._said(name, mark)), commented.get(name, ""))

    def _said(self, name: str, mark: Given | None) -> Iterator[Markup]:
        exercise, test = self._exercises.get(name), self._tests.get(name)
        if exercise is not None:
            yield from _of_exercise(exercise)
        elif test is not None:
            yield Markup(f"{said_of(test)}.")
        elif self._shown.comments.get(name, ("", ""))[0]:
            yield Markup("Nothing was written here.")
        if mark is None:
            return
        alone = self._by_judge(exercise, test, mark)
        if mark.by_hand:
            beside = "" if alone is None else f" The checks alone give {alone:g}."
            yield Markup(f"Your teacher gave this mark.{beside}")
        if mark.extra:
            yield Markup(f"{mark.extra:g} of the points are extra.")
        if mark.waits and not (exercise and exercise.broken):
            yield Markup(f"Your teacher will look at this {'again' if mark.by_hand else 'and give the mark'}.")

    @staticmethod
    def _by_judge(exercise: ExerciseResult | None, test: TestResult | None, mark: Given) -> float | None:
        if exercise is not None:
            return round(mark.points * exercise.score, 2)
        return None if test is None else test.mark(mark.points)

    def _blocks(self) -> Iterator[Block]:
        rows, seen, left = {row.name: row for row in self.rows}, set(), MOST
        for cell in self._cells:
            row = rows.get(exercise_of(_grade_id(cell)))
            html = _code(cell.source) if cell.cell_type == "code" else Markup(page_markdown(cell.source))
            left -= len(html)
            if left < 0:
                left, html = left + len(html), LEFT_OUT
            if row is None:
                yield Block(html)
            else:
                yield Block(
                    (html or EMPTY) + self._judged(cell, row), _label(cell), row, row.name not in seen, _is_marked(cell)
                )
                seen.add(row.name)

    def _judged(self, cell: Any, row: Row) -> Markup:
        """What the judge says of a cell."""
        grade_id = _grade_id(cell)
        if grade_id.endswith(CHECK) and row.name in self._exercises:
            return Markup(findings(self._exercises[row.name]))
        test = self._tests.get(grade_id)
        return Markup(f"<pre>{escape(test.message)}</pre>") if test is not None and test.message else Markup()


def _label(cell: Any) -> str:
    if utils.is_task(cell):
        return "Task"
    if utils.is_solution(cell):
        return "Your answer"
    return "Check" if _grade_id(cell).endswith(CHECK) else "Tests"


def _is_marked(cell: Any) -> bool:
    return bool(utils.is_grade(cell) or utils.is_task(cell))


def _grade_id(cell: Any) -> str:
    """Of a cell that a teacher or the judge marks or comments on."""
    return str(cell.metadata.nbgrader.grade_id) if _is_marked(cell) or utils.is_solution(cell) else ""


def _code(source: str) -> Markup:
    source = source.strip("\n").rstrip()
    return Markup(f"<pre><code>{page_code(source)}</code></pre>" if source else "")


def _of_exercise(result: ExerciseResult) -> Iterator[Markup]:
    """What passed, what comes first, the named mistake, the next hint."""
    if result.broken:
        yield Markup(escape(BROKEN))
    nothing = unwritten(result.parts)
    if nothing is not None:
        yield Markup(inline(nothing.message))
    elif result.parts:
        yield Markup(_parts(result))
    if result.first_fix:
        yield Markup(inline(first_fix(result.name, result.first_fix, result.first_fix_why)))
    if result.carried:
        yield Markup(inline(carried(result)))
    if result.symptom:
        yield Markup(f"It looks like <code>{escape(result.diagnosis or '')}</code>: {inline(result.symptom)}")
    if result.hints:
        yield Markup(f"<strong>Hint.</strong> {inline(result.hints[0])}")


def _parts(result: ExerciseResult) -> str:
    """How many parts passed, and which did not."""
    passed = sum(part.passed for part in result.parts)
    if passed == len(result.parts):
        return "Everything passed."
    failed = [part.name for part in result.parts if part.state == "failed"]
    waiting = [part.name for part in result.parts if part.state == NOT_JUDGED]
    said = f"{passed} of {len(result.parts)} parts passed."
    for title, names in (("Failed", failed), ("Not judged yet", waiting)):
        said += f" {title}: {inline('; '.join(names))}." if names else ""
    return said


def _number(number: float) -> str:
    return f"{round(number, 2):g}"


def _points(mark: Given | None) -> Markup:
    shown = "" if mark is None else f"{_number(mark.score)} of {_number(mark.points)} points"
    return Markup(f'<span class="points">{shown}</span>')


@cache
def _template() -> jinja2.Template:
    source = resources.files("grader.classroom").joinpath("feedback.html").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["number"] = _number
    environment.globals["points"] = _points
    return environment.from_string(source)
