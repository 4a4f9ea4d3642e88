"""Which texts of a report can't be said again in another language: those that are neither made by `say` nor a whole
string of the source or of the words of a mistake."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from grader.exercises.registry import exercises
from grader.report import Report
from grader.sentences import Said, Several, Together

GRADER = Path(__file__).parents[2] / "grader"
FOLDERS = ("report", "spec", "exercises", "judge", "learner", "subject")


@cache
def whole() -> frozenset[str]:
    """Every string of the source, and the words of every mistake."""
    found: set[str] = set()
    for path in (path for folder in FOLDERS for path in (GRADER / folder).rglob("*.py")):
        nodes = ast.walk(ast.parse(path.read_text("utf-8")))
        found |= {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    mistakes = (mistake for exercise in exercises().values() for mistake in exercise.mistakes)
    words = {text for mistake in mistakes for text in (mistake.symptom, *mistake.hints)}
    return frozenset(found | {text.template if isinstance(text, Said) else text for text in words})


def unsaid(report: Report) -> list[str]:
    """The texts of a report that can't be said again."""
    texts = [text for part in report.parts for text in (part.name, part.message, *part.hints)]
    return [left for text in (*texts, report.symptom, *report.hints, report.remark) for left in _unsaid(text)]


def _unsaid(text: str) -> Iterator[str]:
    if isinstance(text, Together):
        yield from (left for one in text.sentences for left in _unsaid(one))
    elif isinstance(text, Said):
        if text.template not in whole():
            yield text.template
        parts = [name for value in text.values.values() for name in getattr(value, "names", (value,))]
        yield from (left for part in parts if isinstance(part, Said | Several | Together) for left in _unsaid(part))
    elif text and text not in whole():
        yield text
