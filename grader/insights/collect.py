"""Reads what a course directory knows of its lessons: the log of results, and the submissions for likenesses."""

from __future__ import annotations

from pathlib import Path

from grader.classroom.files import read_regular
from grader.classroom.results_log import latest, path_of
from grader.errors import CourseError
from grader.insights.page import LessonInsights
from grader.insights.similarity import own_code, similar_pairs
from grader.insights.summary import summarise
from grader.judge.limits import Limits
from grader.judge.outline import Outline
from grader.judge.reader import Unreadable, read


def graded_lessons(course: Path) -> list[str]:
    """The lessons that `grader autograde` has graded, in the course's order."""
    return sorted(path.stem for path in path_of(course, "any").parent.glob("*.jsonl"))


def lesson_insights(course: Path, name: str) -> LessonInsights:
    """The insights into one lesson; submissions that can't be read are nobody's likeness."""
    records = latest(course, name)
    if not records:
        raise CourseError(f"{course}: {name} has not been graded yet. First: grader autograde {course} {name}")
    outline = Outline.of((course / "source" / name / f"{name}.ipynb").read_bytes())
    limits, prints = Limits(), {}
    for student in records:
        path = course / "submitted" / student / name / f"{name}.ipynb"
        try:
            cells = read(read_regular(path, limits.notebook_bytes), limits.notebook_bytes, limits.cells)
        except Unreadable:
            continue
        prints[student] = own_code(cells, outline)
    return LessonInsights(name, summarise([record.result for record in records.values()]), tuple(similar_pairs(prints)))
