"""What the course itself shows among a lesson's outputs, in the language of the pages. The stored ones are in English,
as all outputs are; what a lesson's own code prints stays so, and says so to who reads it aloud."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from nbformat import NotebookNode

from grader.authoring.predictions import ANSWERS
from grader.languages import ENGLISH, shown, spoken
from grader.learner.predict import RESULT, Comparison
from grader.report.html import as_html
from grader.sentences import PLACEHOLDER
from grader.spec.evaluate import evaluate
from grader.spec.exercise import Exercise
from grader.subject.local import LocalSubject
from grader.views.step_map import StepMap

CHECKED = 'check({name}, "{exercise}", practice=True)'  # a cell that shows what the check of a wrong answer says
STEPS = re.compile(r"show_steps\((\d+), (\d+)\)")
DEFINE = (ast.Import, ast.ImportFrom, ast.FunctionDef)
WRONG, OF = "wrong_on_purpose", "first_steps"


def html_of(cells: Sequence[NotebookNode], at: int, output: NotebookNode, exercises: dict[str, Exercise]) -> str:
    """The HTML of an output of the cell at this place among a notebook's `cells`."""
    html, source = str(output.data["text/html"]), str(cells[at].source)
    if spoken() == ENGLISH:
        return html
    if source == CHECKED.format(name=WRONG, exercise=OF):
        return report_on(str(cells[at - 1].source), exercises[OF])
    if f"{ANSWERS}(" in source and (outcome := outcome_of(str(output.data["text/plain"]))):
        return Comparison("", shown(outcome), "")._repr_html_()
    return f'<div lang="{ENGLISH}">{html}</div>'


def alt_of(source: str, alt: str) -> str:
    """The alternative text of a plot that the `source` of a cell draws; `alt` is the stored one."""
    steps = STEPS.fullmatch(source)
    return repr(StepMap(int(steps[1]), int(steps[2]))) if steps and spoken() != ENGLISH else alt


def report_on(source: str, exercise: Exercise) -> str:
    """What the check shows of the wrong answer to an exercise that a cell defines."""
    defined: dict[str, object] = {}
    needed = [node for node in ast.parse(source).body if isinstance(node, DEFINE)]
    exec(compile(ast.Module(needed, []), "<cell>", "exec"), defined)
    return as_html(evaluate(exercise, LocalSubject({exercise.name: defined[WRONG]})))


def outcome_of(text: str) -> str:
    """The outcome in the text of a comparison, in English; empty in any other text."""
    before = PLACEHOLDER.split(RESULT)[0]
    return text.removeprefix(before) if text.startswith(before) else ""
